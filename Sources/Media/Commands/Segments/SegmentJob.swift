// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDEdits
internal import HWDExport
internal import HWDLibAVReading
internal import HWDModel

/// One run of `hwctl encode --segment`: one segment of a video, unless OUTPUT holds it already.
struct SegmentJob {
    private let number: SegmentNumber
    private let request: EncodeJob.Request
    private let words: [OptionWord]
    private let replacing: ReplaceArguments

    /// - Parameter words: the given options that determine how pictures are coded.
    init(
        _ number: SegmentNumber, _ request: EncodeJob.Request, _ words: [OptionWord], _ replacing: ReplaceArguments
    ) {
        (self.number, self.request, self.words, self.replacing) = (number, request, words, replacing)
    }

    /// Encodes the segment.
    ///
    /// - Throws: a failure that exits with 75 if another try may not have it.
    func run(_ interruption: Interruption, _ encode: (EncodeJob.Request) throws -> Void) throws {
        do {
            let reader = try MediaReader(path: request.file.input, options: SegmentScan.options)
            interruption.onSignal { reader.cancel() }
            let scan = try SegmentScan(reader)
            let plan = scan.plan(count: number.count)
            guard number.number <= plan.segments.count else {
                return try request.report(
                    EmptySegment(input: request.file.input, segment: number.number, count: plan.segments.count))
            }
            let (segment, preset) = (plan.segments[number.number - 1], request.parameters.preset)
            let record = PartRecord(
                segment, of: plan, scan, options: partOptions, sound: preset?.audio?.rawValue,
                preset: try presetDigest())
            if let kept = KeptPart(request.file, record) { return try request.report(kept) }
            guard try replacing.writes(request.file) else { return }
            var request = request
            request.edits.isVideoOnly = true
            request.segment = try SegmentWork(segment, scan.timeBase, record)
            try encode(request)
        } catch {
            throw CommandFailure(error).retriable
        }
    }

    /// The options that all parts of a video have in common.
    ///
    /// The GPU is not one of them: each machine has its own.
    private var partOptions: [String] { words.filter { $0.name != "--device" }.map(\.description) }

    /// A digest of what the preset sets, without its names; nil without a preset.
    private func presetDigest() throws(SessionError) -> String? {
        guard var preset = request.parameters.preset else { return nil }
        (preset.name, preset.short, preset.summary) = ("", nil, "")
        var digest = FNV1a(try JSON.encode(preset, sorted: true))
        if preset.usesRate { digest.add(try JSON.encode(PresetFiles.catalogue.rates, sorted: true)) }
        return digest.text
    }
}

/// A part that was there already.
private struct KeptPart: FileSummary {
    private var schema = 2
    private let input: String
    private let output: String
    private let kept = true
    private let frames: Int
    private let segment: SegmentSummary

    /// Nil where the output is not a whole part of the same source, segment and options.
    init?(_ file: FilePair, _ wanted: PartRecord) {
        guard let part = try? PartFile(file.output), part.record.isSameWork(as: wanted),
            (try? part.times()) != nil
        else { return nil }
        (input, output) = (file.input, file.output)
        (frames, segment) = (part.record.frames, SegmentSummary(part.record))
    }

    var result: String {
        "\(output): holds segment \(segment.number) of \(segment.count) already (\(Console.count(frames, "frame"))), kept"
    }
    var lines: [String] { [result] }
}

/// A segment that a video does not have, because it has fewer key frames.
private struct EmptySegment: FileSummary {
    var schema = 2
    var input: String
    var segment: Int
    var count: Int
    var empty = true

    var result: String {
        "\(input) has \(count == 1 ? "1 segment" : "\(count) segments"): segment \(segment) is empty, nothing is written"
    }
    var lines: [String] { [result] }
}
