// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDEdits
internal import HWDExport
internal import HWDLibAVReading
internal import HWDModel

extension EncodeCommand {
    /// The most segments that one machine encodes at a time.
    private static let maxParallel = 256

    /// Checks `--segment` and `--parallel` against the other options.
    func validateSegments() throws {
        if let parallel, !(1...Self.maxParallel).contains(parallel) {
            throw ValidationError("--parallel takes a number from 1 to \(Self.maxParallel), not \(parallel).")
        }
        guard segment != nil || parallel != nil else { return }
        let name = segment == nil ? "--parallel" : "--segment"
        if segment != nil, parallel != nil {
            throw ValidationError("--segment and --parallel contradict each other.")
        }
        if let other = excluded.first(where: { $0.1 })?.0 {
            throw ValidationError("\(name) cannot be combined with \(other).")
        }
        guard outputs.outputDir == nil else { return }
        if files.contains("-") { throw ValidationError("\(name) takes files, not standard input or output.") }
        guard segment != nil else { return }
        guard let format = try? OutputFormat(path: output), format.isMovie else {
            throw ValidationError("--segment writes a .mov or .mp4, which hwctl join reads, not \(output).")
        }
    }

    /// Options that have no meaning for segments, and whether they are given.
    private var excluded: [(String, Bool)] {
        let ofBoth = [
            ("--copy", copy), ("--check", check), ("--start, --duration and --end", time.range != nil),
            ("--output-frame-rate", picture.outputFrameRate != nil), ("--frame-rate", frameRate != nil),
            ("--max-level", maxLevel != nil), ("--keep-partial", keepPartial), ("--two-pass", twoPass),
            (PropertyKey.multiPassStorage.rawValue, hasTwoPasses),
        ]
        guard segment != nil else { return ofBoth }
        return ofBoth + [
            ("--output-dir", outputs.outputDir != nil), ("--skip-existing", outputs.replacing.skipExisting),
            ("--no-overwrite", outputs.replacing.noOverwrite),
            ("--verify: hwctl verify compares the joined file", verify),
            ("options of sound and subtitles, which are those of hwctl join", !sound.isDefault),
        ]
    }

    /// Encodes one segment, unless OUTPUT holds it already.
    ///
    /// A failure that another try may not have exits with 75.
    func runSegment(
        _ number: SegmentNumber, _ request: EncodeJob.Request, _ interruption: Interruption,
        _ encode: (EncodeJob.Request) throws -> Void
    ) throws {
        do {
            let reader = try MediaReader(path: request.file.input, options: SegmentScan.options)
            interruption.onSignal { reader.cancel() }
            let scan = try SegmentScan(reader)
            let plan = scan.plan(count: number.count)
            guard number.number <= plan.segments.count else {
                return try request.report(
                    EmptySegment(input: request.file.input, segment: number.number, count: plan.segments.count))
            }
            let segment = plan.segments[number.number - 1]
            let record = PartRecord(
                segment, of: plan, scan, options: partOptions, sound: exportPreset?.audio?.rawValue,
                preset: try presetDigest())
            if let kept = KeptPart(request.file, record) { return try request.report(kept) }
            guard try outputs.replacing.writes(request.file) else { return }
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
    private var partOptions: [String] { codingWords.filter { $0.name != "--device" }.map(\.description) }

    /// A digest of what the preset sets, without its names; nil without a preset.
    private func presetDigest() throws(SessionError) -> String? {
        guard var preset = exportPreset else { return nil }
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
        "\(output): holds segment \(segment.number) of \(segment.count) already (\(frames) frames), kept"
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
