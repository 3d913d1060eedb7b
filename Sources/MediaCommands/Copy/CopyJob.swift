// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDMediaFile
internal import HWDModel

/// One run of `hwctl encode --copy`: file → packets → file, without a daemon.
final class CopyJob {
    private let input: String
    private let output: String
    private let maxLevel: Int?
    private let keepsPartial: Bool
    private let json: Bool

    private var packets = 0
    private var videoBytes = 0
    private var lastDTS: Int64?
    /// Whether pictures get decoding times and durations of their own.
    private var timesAnew = false

    init(input: String, output: String, maxLevel: Int?, keepsPartial: Bool, json: Bool) {
        self.input = input
        self.output = output
        self.maxLevel = maxLevel
        self.keepsPartial = keepsPartial
        self.json = json
    }

    func run(_ interruption: Interruption) throws {
        do {
            try copy(interruption)
        } catch is TimesDoNotFit {
            // Nothing of the first attempt is left: its output never got its name.
            (packets, videoBytes, lastDTS, timesAnew) = (0, 0, nil, true)
            try copy(interruption)
        }
    }

    /// A picture is decoded after it is shown, as negative composition offsets without an edit list have it.
    private struct TimesDoNotFit: Error {}

    private func copy(_ interruption: Interruption) throws {
        let isSecond = timesAnew
        var options = MediaReader.Options()
        options.decodesVideo = false
        options.includesOtherStreams = true
        options.maxLevel = maxLevel
        let reader = try MediaReader(path: input, options: options)
        interruption.onSignal { reader.cancel() }
        let copy = try VideoCopy(reader)
        let writer = try MediaWriter(path: output, source: reader)
        var track = VideoTrack(reader.video, hvcC: copy.hvcC)
        track.isCopy = true
        try writer.start(track)
        let early = reader.levels?.warning
        if !isSecond {
            LevelSummary.announce(reader)
            for line in reader.warnings + writer.notes { Console.note(line) }
        }

        var progress = Progress(total: reader.video.frameCount)
        defer { progress.clear() }
        // What went to standard output cannot be taken back; it has no times that could be wrong.
        timesAnew = isSecond || output == "-" || reader.levels?.dropsSome ?? false
        var durations = DisplayDurations<MediaPacket>(reorderDepth: copy.reorderDepth)
        var breakOff: MediaError?
        do {
            while let item = try reader.next() {
                if interruption.isSet { throw CommandFailure.interrupted }
                guard case .packet(let packet) = item else { continue }
                guard packet.streamIndex == reader.video.streamIndex else {
                    try writer.write(copied: packet)
                    continue
                }
                guard let pts = packet.pts else {
                    throw MediaError(.badInput, "\(input): a packet of the video has no timestamp")
                }
                guard Ticks.isPossible(pts), packet.dts.map(Ticks.isPossible) ?? true else {
                    throw MediaError(
                        .badInput, "\(input): a packet of the video has an impossible timestamp, \(pts)")
                }
                // Of a byte stream decoders find the next start code; what a wrong length leads to they cannot know.
                guard !packet.isTorn || reader.video.codecConfiguration.first != 1 else {
                    throw MediaError(
                        .badInput,
                        "\(input): the file ends, or is damaged, within packet \(packets + 1) of the video")
                }
                let duration = packet.duration
                // A Matroska file does not tell decoding times, which then are made from the others.
                if packets == 0, packet.dts == nil { timesAnew = true }
                if !timesAnew, let dts = packet.dts, dts > pts, reader.canReopen { throw TimesDoNotFit() }
                if timesAnew {
                    for timed in durations.add(packet, pts: pts, dts: packet.dts, duration: duration) {
                        try write(timed, copy, writer)
                    }
                } else {
                    try write(
                        .init(packet: packet, pts: pts, dts: packet.dts ?? pts, duration: duration), copy, writer)
                }
                progress.update(done: packets)
            }
        } catch let error as MediaError where keepsPartial && packets > 0 && error.kind != .interrupted {
            breakOff = error
        }
        if let end = reader.levels?.end { durations.pass(pts: end, duration: 0) }
        for timed in durations.finish() { try write(timed, copy, writer) }
        guard packets > 0 else { throw breakOff ?? MediaError(.badInput, "\(input) has no frames") }
        try writer.finish()
        let seconds = progress.seconds
        progress.clear()
        let levels = LevelSummary(reader)
        if let late = levels?.lateWarning(early) { Console.note(late) }
        try tell(
            CopySummary(
                input: input, output: output, packets: packets, videoBytes: videoBytes, seconds: seconds,
                levels: levels, notCopied: writer.notes, brokenOff: breakOff?.reason))
        if let breakOff {
            throw CommandFailure(
                breakOff.exitStatus, "the input broke off, what came before is in \(output): \(breakOff.reason)")
        }
    }

    private func write(
        _ timed: DisplayDurations<MediaPacket>.Timed, _ copy: VideoCopy, _ writer: MediaWriter
    ) throws(MediaError) {
        let isSync = timed.packet.isSync
        guard timed.dts <= timed.pts, lastDTS.map({ $0 < timed.dts }) ?? true else {
            throw MediaError(
                .badInput, "\(input): packet \(packets + 1) of the video has no timestamps that can be kept")
        }
        lastDTS = timed.dts
        try timed.packet.withBytes { (bytes) throws(MediaError) in
            func write(_ sample: UnsafeRawBufferPointer) throws(MediaError) {
                videoBytes += sample.count
                try writer.write(
                    sample, pts: timed.pts, dts: timed.dts, duration: timed.duration, isSync: isSync)
            }
            guard let sample = try copy.sample(bytes) else { return try write(bytes) }
            var failure: MediaError?
            sample.withUnsafeBytes { bytes in
                do throws(MediaError) { try write(bytes) } catch { failure = error }
            }
            if let failure { throw failure }
        }
        packets += 1
    }

    private func tell(_ summary: CopySummary) throws {
        if json { try Console.json(summary) } else { summary.lines.forEach(Console.note) }
    }
}

/// What `hwctl encode --copy` says at the end, to people and to programs.
private struct CopySummary: Encodable {
    var schema = 1
    var input: String
    var output: String
    var copied = true
    var frames: Int
    var videoBytes: Int
    var seconds: Double
    var levels: LevelSummary?
    var notCopied: [String]
    var brokenOff: String?

    enum CodingKeys: String, CodingKey {
        case schema, input, output, copied, frames, seconds
        case videoBytes = "video_bytes"
        case levels = "temporal_levels"
        case notCopied = "not_copied"
        case brokenOff = "broken_off"
    }

    init(
        input: String, output: String, packets: Int, videoBytes: Int, seconds: Double, levels: LevelSummary?,
        notCopied: [String], brokenOff: String?
    ) {
        self.input = input
        self.output = output
        frames = packets
        self.videoBytes = videoBytes
        self.seconds = seconds
        self.levels = levels
        self.notCopied = notCopied
        self.brokenOff = brokenOff
    }

    /// The lines for people.
    var lines: [String] {
        var lines: [String] = []
        if let levels { lines.append(levels.line) }
        lines.append("\(output): \(frames) frames copied in \(Progress.decimal(seconds, 2)) s")
        return lines
    }
}
