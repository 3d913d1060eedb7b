// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Whether a file's video can be decoded on this machine, and in real time: measured by decoding it.
struct Playback: Encodable {
    /// The stream that was decoded.
    private(set) var stream: Int
    /// Whether hardware decodes it; nil when not known.
    private(set) var decodableInHardware: Bool?
    /// Whether software decodes it; nil when not known.
    private(set) var decodableInSoftware: Bool?
    /// The decoder that was used; nil when this process decoded.
    private(set) var decoderID: String?
    /// Why not in hardware, or why not at all.
    private(set) var reason: String?
    /// Whether the first seconds were decoded in real time or faster; nil when not known.
    private(set) var playableInRealTime: Bool?
    /// Seconds of video decoded per second; nil when not known.
    private(set) var speed: Double?
    /// Frames that were decoded to measure `speed`.
    private(set) var measuredFrames = 0
    /// How it can be played at that speed; nil when the speed, the frame rate or the key frames are not known.
    private var playability: PlayabilityInfo?
    /// Decoded pictures a second; nil when not known.
    private var framesPerSecond: Double?
    private let video: VideoDescription

    enum CodingKeys: String, CodingKey {
        case stream, reason, speed, playability
        case decodableInHardware = "decodable_in_hardware"
        case decodableInSoftware = "decodable_in_software"
        case decoderID = "decoder_id"
        case playableInRealTime = "playable_in_real_time"
        case measuredFrames = "measured_frames"
    }

    /// Seconds of video that are decoded at most.
    private static let mediaSeconds = 3.0
    /// Frames of fewer of which a speed is no statement: opening a decoder takes as long.
    private static let leastFrames = 10
    /// Seconds that decoding may take.
    private static let wallSeconds = 4.0

    /// Decodes the first seconds of the file's best video stream.
    init(_ file: InputFile, daemon: () throws -> Daemon, isInterrupted: @escaping () -> Bool) throws {
        var options = MediaReader.Options()
        options.decoding = .daemonIfPossible
        let reader = try MediaReader(file, options: options)
        video = reader.video
        stream = video.streamIndex
        let isForDaemon = !reader.decodesInProcess
        let input = try DecodedInput(
            reader, SessionSource.Request(), daemon: daemon,
            fallsBack: { if case .session = $0 { true } else { false } }, isInterrupted: isInterrupted)
        if let created = input.session?.session.created {
            decoderID = created.decoderID
            reason = created.fallbackReason
        } else {
            reason =
                isForDaemon
                ? input.refusal?.reason : "\(reader.video.codec) is decoded by the program that reads the file"
        }
        (decodableInHardware, decodableInSoftware) = (false, true)
        try measure(input.source, reader.video)
        if let session = input.session {
            // Only a picture from a hardware surface proves it.
            decodableInHardware = session.hardwareFrames > 0
            session.session.invalidate()
        }
    }

    private mutating func measure(_ source: any VideoSource, _ video: VideoDescription) throws {
        let start = MonotonicTime.now
        var first: Int64?
        var end: Int64 = 0
        func elapsed() -> Double { Double(MonotonicTime.now.nanoseconds(since: start)) / 1e9 }
        do {
            while elapsed() < Self.wallSeconds, let item = try source.next() {
                guard case .frame(let frame) = item else { continue }
                try frame.release()
                measuredFrames += 1
                first = first ?? frame.pts
                end = frame.pts + max(0, frame.duration)
                if Double(end - (first ?? 0)) * video.timeBase.value >= Self.mediaSeconds { break }
            }
        } catch let error as MediaError where error.kind != .interrupted {
            if measuredFrames == 0 { decodableInSoftware = false }
            reason = error.reason
        }
        guard let first, measuredFrames > 1, end > first else { return }
        let shown = Double(end - first) * video.timeBase.value
        let seconds = max(elapsed(), 1e-6)
        speed = shown / seconds
        framesPerSecond = Double(measuredFrames) / seconds
        playableInRealTime = speed.map { $0 >= 1 }
    }

    /// Computes how the video can be played; nothing where too little was measured, or its packets cannot be read for it.
    /// - Throws: `interrupted`.
    mutating func addPlayability(
        _ file: InputFile, levels: [TemporalLevelInfo], isInterrupted: () -> Bool
    ) throws(MediaError) {
        guard measuredFrames >= Self.leastFrames, let framesPerSecond else { return }
        do throws(MediaError) {
            playability = try PlayabilityInfo(
                file, video, levels: levels, framesPerSecond: framesPerSecond, isInterrupted: isInterrupted)
        } catch {
            guard error.kind != .interrupted else { throw error }
            Console.note("warning: how the video plays is not known: \(error.reason)")
        }
    }

    /// The human-readable lines.
    var rows: [[String]] {
        var places: [String] = []
        if decodableInHardware == true { places.append("in hardware") }
        if decodableInSoftware == true { places.append("in software") }
        var rows = [["  decodable here", places.isEmpty ? "no" : places.joined(separator: " and ")]]
        if let decoderID { rows.append(["  decoder", decoderID]) }
        if let reason { rows.append([decodableInSoftware == true ? "  why not hardware" : "  why not", reason]) }
        if let playableInRealTime, let speed {
            let text =
                measuredFrames < Self.leastFrames
                ? "too short to say (\(measuredFrames) frames)"
                : "\(playableInRealTime ? "yes" : "no"), \(Progress.decimal(speed, 1)) times real time over "
                    + "\(measuredFrames) frames"
            rows.append(["  playable here", text])
        }
        rows += playability?.rows ?? []
        return rows
    }
}
