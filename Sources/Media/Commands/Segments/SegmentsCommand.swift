// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDModel

/// `hwctl segments`.
struct SegmentsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "segments",
        abstract: "List the segments of a video, which several machines can encode.",
        discussion: """
            EXAMPLES
              hwctl segments film.mov --count 32
              hwctl segments film.mov --count 32 --json
              hwctl encode film.mov part-2.mov --segment 2/32

            A segment begins with a key frame of INPUT and has each picture whose presentation time is before the next \
            segment: pictures that follow a key frame in decoding order and are shown before it (leading pictures of an open \
            GOP) belong to the segment before. The segments are as equal in time as the key frames allow, and the same on \
            every machine. A video with fewer key frames than --count has as many segments as key frames; hwctl encode then \
            writes nothing for a segment with a higher number, and succeeds.

            The JSON document has the fields schema (1), input, digest (of the video's packets), time_base (seconds per tick), \
            frames, key_frames, requested (--count), count (how many segments there are) and segments: a list of number, \
            start_ticks, end_ticks, start, end (in seconds) and frames. The end of a segment is the start of the next.
            """)

    @Argument(help: "A file that stores times: not a raw stream, pictures or a pipe.")
    var input: String

    @Option(help: ArgumentHelp("The most segments.", valueName: "n"))
    var count: Int

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    func validate() throws {
        guard (1...SegmentNumber.maxCount).contains(count) else {
            throw ValidationError("--count takes a number from 1 to \(SegmentNumber.maxCount), not \(count).")
        }
        if input == "-" { throw ValidationError("Segments are those of a file, not of standard input.") }
    }

    func run() throws {
        try report {
            // Before any other thread starts: threads inherit the blocked signals.
            let interruption = try Interruption()
            let reader = try MediaReader(path: input, options: SegmentScan.options)
            interruption.onSignal { reader.cancel() }
            let list = SegmentList(input, try SegmentScan(reader), count: count)
            if json { try Console.json(list) } else { try Console.result(list.text) }
        }
    }
}

/// The segments of a video, as they are printed.
struct SegmentList: Encodable {
    struct Entry: Encodable {
        var number: Int
        var startTicks: Int64
        var endTicks: Int64
        var start: Double
        var end: Double
        var frames: Int

        enum CodingKeys: String, CodingKey {
            case number, start, end, frames
            case startTicks = "start_ticks"
            case endTicks = "end_ticks"
        }
    }

    private var schema = 1
    private var input: String
    private var digest: String
    private var timeBase: String
    private var frames: Int
    private var keyFrames: Int
    private var requested: Int
    private var count: Int
    private var segments: [Entry]

    enum CodingKeys: String, CodingKey {
        case schema, input, digest, frames, requested, count, segments
        case timeBase = "time_base"
        case keyFrames = "key_frames"
    }

    init(_ input: String, _ scan: SegmentScan, count requested: Int) {
        let plan = scan.plan(count: requested)
        let base = scan.timeBase
        (self.input, digest, timeBase) = (input, scan.digest, scan.timeBase.description)
        (frames, keyFrames) = (scan.times.count, scan.keys.count)
        (self.requested, count) = (requested, plan.segments.count)
        segments = plan.segments.map {
            Entry(
                number: $0.number, startTicks: $0.start, endTicks: $0.end, start: base.seconds($0.start),
                end: base.seconds($0.end), frames: $0.pictures)
        }
    }

    /// One line for each segment, and one about all.
    var text: String {
        let rows = segments.map { entry in
            [
                "\(entry.number)/\(count)", "\(Progress.decimal(entry.start, 3)) s",
                "\(Progress.decimal(entry.end, 3)) s", Console.count(entry.frames, "frame"),
            ]
        }
        let all = [
            Console.count(count, "segment"), Console.count(frames, "frame"), Console.count(keyFrames, "key frame"),
        ].joined(separator: ", ")
        let why = count < requested ? ": not \(requested), because there are no more key frames" : ""
        return Console.table(rows) + "\n" + all + why
    }
}
