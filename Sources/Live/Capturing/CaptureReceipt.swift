// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDModel
internal import HWDSystem

/// What was recorded, as the line at the end and `--json` state it.
package struct CaptureReceipt: Encodable {
    package struct Encoder: Encodable {
        package var name: String
        package var isHardware: Bool
        package var reason: String?
        /// x265's preset that a trial has chosen, and what the trial measured.
        package var preset: String?
        package var trial: [CaptureTrial.Speed] = []

        enum CodingKeys: String, CodingKey {
            case name, reason, preset, trial
            case isHardware = "hardware"
        }
    }

    package struct Halving: Encodable {
        /// Seconds of the recording.
        package var time: Double
        /// One of how many frames is recorded from then on.
        package var divisor: Int

        enum CodingKeys: String, CodingKey {
            case time = "time_s"
            case divisor = "one_of"
        }
    }

    package var schema = 1
    package var source: String
    package var width: Int
    package var height: Int
    package var files: [CaptureFiles.Report] = []
    /// Frames that the source sent or is known to have lost; frames in the files; and those that are not.
    package var captured = 0
    package var coded = 0
    package var dropped = 0
    package var droppedByCause: [String: Int] = [:]
    package var drops: [DropLog.Drop] = []
    /// Whether `drops` lacks entries, of which there are too many.
    package var dropsCut = false
    /// Frames that were recorded once more, because the source sends only what changes; they are in `coded`.
    package var repeated = 0
    package var halvings: [Halving] = []
    package var longestGap = 0.0
    package var duration = 0.0
    /// How often the session continued in another process.
    package var restarts = 0
    /// Why the recording ended: `duration`, `signal`, `max-size`, `source` or `failure`, and the reason of the last two.
    package var endedBy = "signal"
    package var reason: String?
    package var encoder: Encoder?

    enum CodingKeys: String, CodingKey {
        case schema, source, width, height, files, captured, coded, dropped, drops, repeated, halvings, restarts
        case reason, encoder
        case droppedByCause = "dropped_by_cause"
        case dropsCut = "drops_cut"
        case longestGap = "longest_gap_s"
        case duration = "duration_s"
        case endedBy = "ended_by"
    }

    package init(source: String, _ format: CaptureFormat) {
        (self.source, width, height) = (source, format.width, format.height)
    }

    package mutating func add(_ counts: CaptureQueue.Counts, _ written: CaptureWriter.Result) {
        captured = counts.captured
        (dropped, drops, dropsCut) = (counts.log.total, counts.log.drops, counts.log.isCut)
        droppedByCause = Dictionary(uniqueKeysWithValues: counts.log.counts.map { ($0.key.rawValue, $0.value) })
        halvings = counts.halvings.map { Halving(time: $0.time, divisor: $0.divisor) }
        repeated = counts.repeated
        (files, coded, longestGap) = (written.reports, written.frames, written.longestGap)
        duration = files.reduce(0) { $0 + $1.duration }
    }

    /// Prints it: one document, or lines.
    package func print(json: Bool) throws {
        if json { return try Console.json(self) }
        let name = files.count == 1 ? FileName.printable(files[0].file) : Console.count(files.count, "file")
        let losses = dropped == 0 ? "none dropped" : "\(dropped) dropped"
        try Console.result(
            "\(name): \(DecimalText.text(duration, 1)) s, \(Console.count(captured, "frame")) captured, \(coded) coded, "
                + "\(losses), longest gap \(DecimalText.text(longestGap * 1000, 0)) ms")
        for cause in DropCause.allCases {
            let entries = drops.filter { $0.cause == cause }
            guard !entries.isEmpty else { continue }
            let times = entries.prefix(8).map { "\($0.frames) at \(DecimalText.text($0.time, 1)) s" }
            let rest = entries.count > 8 ? ", …" : ""
            try Console.result(
                "dropped (\(cause.rawValue)): \(droppedByCause[cause.rawValue] ?? 0): "
                    + "\(times.joined(separator: ", "))\(rest)")
        }
    }
}
