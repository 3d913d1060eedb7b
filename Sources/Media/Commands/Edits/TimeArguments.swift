// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDEdits

/// The options of `hwctl encode` about the part of the input that is kept.
struct TimeArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Begin with the first picture at this time or later, in seconds or h:m:s, such as 12.5 or 1:02:03.5. With --copy: \
            with the key frame before.
            """, valueName: "time"))
    var start: String?

    @Option(help: ArgumentHelp("Duration of the part, from its first picture.", valueName: "time"))
    var duration: String?

    @Option(help: ArgumentHelp("End before pictures at this time of the input.", valueName: "time"))
    var end: String?

    @Flag(help: "With --copy and --start: begin exactly there, by an edit list that hides the pictures before.")
    var exact = false

    func validate() throws {
        for (option, text) in [("--start", start), ("--duration", duration), ("--end", end)] {
            guard let text, TimeRange.microseconds(text) == nil else { continue }
            throw ValidationError("\(option) takes seconds or h:m:s, such as 12.5 or 1:02:03.5, not '\(text)'.")
        }
        if duration != nil, end != nil {
            throw ValidationError("--duration and --end contradict each other: use one of them.")
        }
        let begin = start.flatMap(TimeRange.microseconds) ?? 0
        if duration.flatMap(TimeRange.microseconds) == 0 {
            throw ValidationError("--duration 0 keeps nothing.")
        }
        if let stop = end.flatMap(TimeRange.microseconds), stop <= begin {
            throw ValidationError("--end must be after --start.")
        }
    }

    /// The part that is kept; nil keeps all.
    var range: TimeRange? {
        guard start != nil || duration != nil || end != nil else { return nil }
        var range = TimeRange(start: start.flatMap(TimeRange.microseconds) ?? 0)
        if let length = duration.flatMap(TimeRange.microseconds) { range.end = .duration(length) }
        if let time = end.flatMap(TimeRange.microseconds) { range.end = .time(time) }
        return range
    }
}
