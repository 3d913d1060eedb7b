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

    package struct Pause: Encodable {
        /// Seconds of the recording, and those that were left out.
        package var time: Double
        package var duration: Double

        init(_ pause: CaptureSession.Pause) {
            (time, duration) = (
                (pause.time * 1000).rounded() / 1000, (pause.duration * 1000).rounded() / 1000
            )
        }

        enum CodingKeys: String, CodingKey {
            case time = "time_s"
            case duration = "duration_s"
        }
    }

    /// The beginning of a chapter.
    package struct Mark: Encodable {
        /// Seconds of the recording.
        package var time: Double
        package var title: String

        init(_ mark: CaptureSession.Mark) { (time, title) = (mark.time, mark.title) }

        enum CodingKeys: String, CodingKey {
            case title
            case time = "time_s"
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

    /// Pictures of a size.
    package struct Size: Encodable {
        /// Seconds of the recording from which on they come.
        package var time: Double
        package var width: Int
        package var height: Int

        init(_ size: CaptureSession.Size) { (time, width, height) = (size.time, size.width, size.height) }

        enum CodingKeys: String, CodingKey {
            case width, height
            case time = "time_s"
        }
    }

    /// Time without a source, which came back.
    package struct Interruption: Encodable {
        /// Seconds of the recording.
        package var time: Double
        package var seconds: Double

        enum CodingKeys: String, CodingKey {
            case time = "time_s"
            case seconds = "duration_s"
        }
    }

    /// Silence in the place of sound.
    package struct Gap: Encodable {
        /// Seconds of the recording.
        package var time: Double
        package var seconds: Double
        /// `start`, `lost`, `stalled` or `ended`.
        package var cause: String

        enum CodingKeys: String, CodingKey {
            case cause
            case time = "time_s"
            case seconds = "duration_s"
        }
    }

    package struct Sound: Encodable {
        /// As `--audio` names it.
        package var source: String
        /// Seconds of silence in the place of sound, and where the first thousand of them are.
        package var silence: Double
        package var gaps: [Gap]
        /// The drift of the source's clock that was resampled away, on average and at most, in millionths.
        package var drift: Double
        package var greatestCorrection: Double
        /// Buffers whose times cannot be true.
        package var impossibleTimes: Int

        enum CodingKeys: String, CodingKey {
            case source, gaps
            case silence = "silence_s"
            case drift = "drift_ppm"
            case greatestCorrection = "greatest_correction_ppm"
            case impossibleTimes = "impossible_times"
        }
    }

    package var schema = 1
    package var source: String
    /// Of the first pictures.
    package var width: Int
    package var height: Int
    /// The sizes that followed.
    package var newSizes: [Size] = []
    package var files: [CaptureFiles.Report] = []
    /// Frames that the source sent or is known to have lost; frames in the files, or kept by `--last`; and those that are not.
    package var captured = 0
    package var coded = 0
    package var dropped = 0
    package var droppedByCause: [String: Int] = [:]
    package var drops: [DropLog.Drop] = []
    /// Whether `drops` lacks entries, of which there are too many.
    package var dropsCut = false
    /// Frames that were recorded once more, because the source sends only what changes, or less than the constant rate; they are
    /// in `coded`.
    package var repeated = 0
    package var interruptions: [Interruption] = []
    package var halvings: [Halving] = []
    package var pauses: [Pause] = []
    package var marks: [Mark] = []
    /// Saves of `--last` that failed.
    package var unsaved: [CaptureSaver.Fault] = []
    package var longestGap = 0.0
    package var duration = 0.0
    /// How often the session continued in another process.
    package var restarts = 0
    /// Why the recording ended: `duration`, `signal`, `max-size`, `source` or `failure`, and the reason of the last two.
    package var endedBy = "signal"
    package var reason: String?
    package var encoder: Encoder?
    /// What the source has coded itself, and was copied: `hevc` or `h264`.
    package var copied: String?
    package var sound: Sound?
    /// nil where none are asked for.
    package var stills: [CaptureStills.Report]?
    /// Whether `stills` lacks entries, of which there are too many.
    package var stillsCut = false

    enum CodingKeys: String, CodingKey {
        case schema, source, width, height, files, captured, coded, dropped, drops, repeated, halvings, restarts
        case pauses, marks, unsaved, reason, encoder, copied, interruptions, sound, stills
        case newSizes = "new_sizes"
        case droppedByCause = "dropped_by_cause"
        case dropsCut = "drops_cut"
        case stillsCut = "stills_cut"
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
        interruptions = counts.interruptions.map { Interruption(time: $0.time, seconds: $0.duration) }
        (files, coded, longestGap) = (written.reports, written.frames, written.longestGap)
        duration = files.reduce(0) { $0 + $1.duration }
    }

    /// Prints it: one document, or lines.
    package func print(json: Bool) throws {
        if json { return try Console.json(self) }
        let repeats = repeated == 0 ? "" : " (\(repeated) repeated)"
        let name =
            files.isEmpty
            ? "no file" : files.count == 1 ? FileName.printable(files[0].file) : Console.count(files.count, "file")
        let losses = dropped == 0 ? "none dropped" : "\(dropped) dropped"
        try Console.result(
            "\(name): \(DecimalText.text(duration, 1)) s, \(Console.count(captured, "frame")) captured, \(coded) coded\(repeats), "
                + "\(losses), longest gap \(DecimalText.text(longestGap * 1000, 0)) ms")
        if !pauses.isEmpty {
            let times = pauses.prefix(8).map {
                "\(DecimalText.text($0.duration, 1)) s at \(DecimalText.text($0.time, 1)) s"
            }
            let rest = pauses.count > 8 ? ", …" : ""
            try Console.result("paused: \(times.joined(separator: ", "))\(rest)")
        }
        if let sound {
            let silence =
                sound.silence < 0.0005 ? "none lost" : "\(DecimalText.text(sound.silence, 3)) s of silence"
            let first = sound.gaps.prefix(8).map {
                "\(DecimalText.text($0.seconds, 3)) s at \(DecimalText.text($0.time, 1)) s (\($0.cause))"
            }
            let rest = sound.gaps.count > 8 ? ", …" : ""
            let gaps = sound.silence < 0.0005 ? "" : ": \(first.joined(separator: ", "))\(rest)"
            try Console.result(
                "sound: \(FileName.printable(sound.source)), drift \(DecimalText.text(sound.drift, 0)) ppm, \(silence)\(gaps)"
            )
        }
        for size in newSizes {
            try Console.result("\(size.width)x\(size.height) from \(DecimalText.text(size.time, 1)) s on")
        }
        for interruption in interruptions {
            try Console.result(
                "without the source: \(DecimalText.text(interruption.seconds, 1)) s at "
                    + "\(DecimalText.text(interruption.time, 1)) s")
        }
        try printStills()
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

    private func printStills() throws(CommandFailure) {
        guard let stills else { return }
        if stills.isEmpty { try Console.result("stills: none") }
        // Those of one format for one reason, in the order of the first of each.
        var groups: [[CaptureStills.Report]] = []
        for still in stills {
            if let index = groups.firstIndex(where: { ($0[0].format, $0[0].reason) == (still.format, still.reason) }
            ) {
                groups[index].append(still)
            } else {
                groups.append([still])
            }
        }
        for group in groups.prefix(16) {
            let name = group[0].format.map { "as \($0 == "heic" ? "HEIC" : "JPEG")" } ?? "not written"
            let entries = group.prefix(8).map { still in
                let time = still.time.map { "at \(DecimalText.text($0, 1)) s" } ?? "before the first frame"
                return still.file.map { "\(FileName.printable($0)) \(time)" } ?? time
            }
            let rest = group.count > 8 ? ", …" : ""
            let reason = group[0].reason.map { ": \($0)" } ?? ""
            try Console.result(
                "stills \(name): \(group.count): \(entries.joined(separator: ", "))\(rest)\(reason)")
        }
    }
}
