// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDComparison
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel

/// One run of `hwctl encode --copy`: file → packets → file, without a daemon.
final class CopyJob {
    /// What to copy.
    struct Request {
        var file: FilePair
        /// The format on standard output; nil is a byte stream.
        var stream: OutputFormat?
        /// Whether the output may replace a file.
        var replaces = true
        /// The rate of raw streams.
        var frameRate: Rational?
        var maxLevel: Int?
        var edits = FileEdits()
        var keepsPartial = false
        /// Prints the result, or keeps it.
        var report: (any FileSummary) throws -> Void
        /// What the options change, where the output is verified; nil where it is not.
        var asked: AskedChanges?
    }

    private let request: Request
    private var input: String { request.file.input }
    private var output: String { request.file.output }

    init(_ request: Request) { self.request = request }

    func run(_ interruption: Interruption) throws {
        let file = try InputFile(input)
        do {
            try copy(file, restamps: false, interruption)
        } catch is CopyPipeline.TimesDoNotFit {
            // Nothing of the first attempt is left: its output was never linked to a name.
            try copy(file, restamps: true, interruption)
        }
    }

    /// - Parameter restamps: whether this is a second attempt, which computes decode times and durations.
    private func copy(_ file: InputFile, restamps: Bool, _ interruption: Interruption) throws {
        let reader = try MediaReader(file, options: readerOptions)
        interruption.onSignal { reader.cancel() }
        try checkRange(reader)
        let copy = try VideoCopy(reader)
        let writer = try MediaWriter(
            path: output, stream: request.stream, source: reader, edits: request.edits,
            replaces: request.replaces)
        var track = VideoTrack(reader.video, hvcC: copy.hvcC)
        track.isCopy = true
        try writer.start(track)
        let early = reader.levels?.warning
        if !restamps {
            reader.announce(
                reader.warnings
                    + [rateNote(reader, writer), writer.format.isMovie ? reader.dolbyVisionWarning : nil]
                    .compactMap { $0 }
                    + writer.conversions + writer.notes)
        }

        var progress = Progress(total: request.edits.range.map { $0.frames(of: reader) } ?? reader.video.frameCount)
        defer { progress.clear() }
        let pipeline = try CopyPipeline(
            reader, copy, writer, request.edits,
            // What was read from or written to a pipe cannot be done again.
            restamps: restamps || output == "-" || !reader.file.isSeekable
                || reader.levels?.dropsSome ?? false,
            keepsPartial: request.keepsPartial)
        try pipeline.run(&progress, interruption)
        let sampleEntries = writer.sampleEntryCount
        try writer.finish()
        let seconds = progress.seconds
        progress.clear()
        writer.conversionWarnings.forEach(Console.note)
        pipeline.startNote.map(Console.note)
        let levels = LevelSummary(reader.levels)
        if let late = levels?.lateWarning(early) { Console.note(late) }
        pipeline.undecodableWarning.map(Console.note)
        let (receipt, failure) = try VerifyJob.receipt(
            request.asked, input, output, earlyEnd: pipeline.earlyEnd, interruption)
        let summary = CopySummary(
            input: input, output: output, frames: pipeline.packets,
            videoBytes: pipeline.videoBytes, seconds: seconds, levels: levels, sampleEntries: sampleEntries,
            notCopied: writer.notes, convertedAudio: writer.conversions,
            discontinuities: reader.report.discontinuities, earlyEndReason: pipeline.earlyEnd?.error.reason,
            receipt: receipt)
        try request.report(summary)
        if let earlyEnd = pipeline.earlyEnd { throw earlyEnd.failure(output: output) }
        if let failure { throw failure }
    }

    private var readerOptions: MediaReader.Options {
        var options = MediaReader.Options()
        options.decoding = .disabled
        options.includesOtherStreams = true
        options.maxLevel = request.maxLevel
        options.frameRate = request.frameRate
        options.start = request.edits.range?.start
        return options
    }

    private func checkRange(_ reader: MediaReader) throws(MediaError) {
        guard let range = request.edits.range else { return }
        guard !reader.isUntimed else {
            throw MediaError(
                .unsupported,
                "\(reader.path) stores no times, by which a copy could be cut: encode it, without --copy")
        }
        try range.check(reader)
    }

    /// A note about the frame rate of a stream that stores no times; nil where it is given, or not needed.
    private func rateNote(_ reader: MediaReader, _ writer: MediaWriter) -> String? {
        guard reader.isUntimed, request.frameRate == nil, !writer.format.isByteStream,
            let rate = reader.video.averageFrameRate ?? reader.video.baseFrameRate
        else { return nil }
        return
            "\(input) has no timestamps: its pictures are shown at \(rate) per second; --frame-rate changes that"
    }
}

/// What `hwctl encode --copy` reports at its end.
private struct CopySummary: FileSummary {
    var schema = 2
    var input: String
    var output: String
    var copied = true
    var frames: Int
    var videoBytes: Int
    var seconds: Double
    var levels: LevelSummary?
    /// The number of the output's sample entries; nil for a byte stream.
    var sampleEntries: Int?
    var notCopied: [String]
    var convertedAudio: [String]
    var discontinuities: Int
    var earlyEndReason: String?
    var receipt: Receipt?

    enum CodingKeys: String, CodingKey {
        case schema, input, output, copied, frames, seconds, discontinuities, receipt
        case videoBytes = "video_bytes"
        case levels = "temporal_levels"
        case sampleEntries = "sample_entries"
        case notCopied = "not_copied"
        case convertedAudio = "converted_audio"
        case earlyEndReason = "broken_off"
    }

    var result: String {
        "\(output): \(Console.count(frames, "frame")) copied in \(Progress.decimal(seconds, 2)) s"
    }

    var lines: [String] {
        [
            Self.warning(discontinuities: discontinuities), levels?.line,
            sampleEntries.flatMap { $0 > 1 ? "sample entries: \($0)" : nil }, result,
        ].compactMap { $0 } + (receipt.map { ReceiptReport(receipt: $0).lines } ?? [])
    }
}
