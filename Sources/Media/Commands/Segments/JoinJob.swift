// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDComparison
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWDTransport

/// One run of `hwctl join`: parts and their source → file, without a daemon.
final class JoinJob {
    /// What to join.
    struct Request {
        /// The source and the output.
        var file: FilePair
        var parts: [String]
        var edits = FileEdits()
        var replaces = true
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
        // Every part stays open.
        _ = try? ProcessControl.raiseLimit(.openFiles)
        let parts = try request.parts.map { (path) throws(MediaError) in try PartFile(path) }
        try checkOutput()
        let scanned = try MediaReader(path: input, options: SegmentScan.options)
        interruption.onSignal { scanned.cancel() }
        let scan = try SegmentScan(scanned)
        let ordered = try PartCheck.ordered(
            parts.map { PartCheck.Part(path: $0.path, record: $0.record) }, source: (scan.digest, input))
        let files = Dictionary(parts.map { ($0.record.segment, $0) }) { first, _ in first }
        let packets = try JoinedPackets(ordered.compactMap { files[$0.record.segment] }, scan) { reader in
            interruption.onSignal { reader.cancel() }
        }
        if packets.count != scan.times.count {
            Console.note("warning: the segments have \(packets.count) frames, and \(input) \(scan.times.count)")
        }
        try join(packets, ordered[0].record, interruption)
    }

    private func join(_ packets: JoinedPackets, _ record: PartRecord, _ interruption: Interruption) throws {
        let reader = try MediaReader(path: input, options: SegmentScan.options)
        interruption.onSignal { reader.cancel() }
        var edits = request.edits
        if edits.sound.form == nil { edits.sound.form = record.sound.flatMap { SoundOptions.Form(rawValue: $0) } }
        let writer = try MediaWriter(path: output, source: reader, edits: edits, replaces: request.replaces)
        var track = try packets.track()
        track.timeBase = reader.video.timeBase
        track.frameRate = reader.video.averageFrameRate ?? reader.video.baseFrameRate
        try writer.start(track)
        reader.announce(writer.conversions + writer.notes)

        var progress = Progress(total: packets.count)
        defer { progress.clear() }
        // The video's packets of the source set the pace, so that sound and pictures are written side by side.
        while let item = try reader.next() {
            if interruption.isSet { throw CommandFailure.interrupted }
            guard case .packet(let packet) = item else { continue }
            if packet.streamIndex == reader.video.streamIndex {
                try packets.write(to: writer)
            } else {
                try writer.write(copied: packet)
            }
            progress.update(done: packets.written)
        }
        while try packets.write(to: writer) {
            if interruption.isSet { throw CommandFailure.interrupted }
        }
        let (entries, seconds) = (writer.sampleEntryCount, progress.seconds)
        try writer.finish()
        progress.clear()
        writer.conversionWarnings.forEach(Console.note)
        let (receipt, failure) = try VerifyJob.receipt(request.asked, input, output, earlyEnd: nil, interruption)
        try request.report(
            JoinSummary(
                input: input, output: output, parts: request.parts.count, frames: packets.written,
                videoBytes: packets.byteCount, seconds: seconds, sampleEntries: entries, notCopied: writer.notes,
                convertedAudio: writer.conversions, receipt: receipt))
        if let failure { throw failure }
    }

    /// Refuses an output that is one of the parts, which it would replace.
    private func checkOutput() throws(MediaError) {
        for part in request.parts where PartFile.isSame(part, output) {
            throw MediaError(.usage, "\(output) is one of the parts: name another output")
        }
    }
}

/// What `hwctl join` reports at its end.
private struct JoinSummary: FileSummary {
    var schema = 1
    var input: String
    var output: String
    var parts: Int
    var frames: Int
    var videoBytes: Int
    var seconds: Double
    var sampleEntries: Int?
    var notCopied: [String]
    var convertedAudio: [String]
    var receipt: Receipt?

    enum CodingKeys: String, CodingKey {
        case schema, input, output, parts, frames, seconds, receipt
        case videoBytes = "video_bytes"
        case sampleEntries = "sample_entries"
        case notCopied = "not_copied"
        case convertedAudio = "converted_audio"
    }

    var result: String {
        let names = parts == 1 ? "1 part" : "\(parts) parts"
        return
            "\(output): \(Console.count(frames, "frame")) of \(names) joined in \(Progress.decimal(seconds, 2)) s"
    }

    var lines: [String] {
        [sampleEntries.flatMap { $0 > 1 ? "sample entries: \($0)" : nil }, result].compactMap { $0 }
            + (receipt.map { ReceiptReport(receipt: $0).lines } ?? [])
    }
}
