// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// A video that a decompression session of the daemon decodes.
final class SessionSource: VideoSource {
    let session: DecompressionSession
    /// The progress of decoding, including errors of the file's reader.
    var report: SourceReport {
        var report = decoding
        report.errors += reader.report.errors
        report.firstError = reader.report.firstError ?? report.firstError
        report.discontinuities = reader.report.discontinuities
        return report
    }
    /// Frames that were decoded in hardware.
    private(set) var hardwareFrames = 0

    /// How the session went on in other processes; nil where it did not, and where it cannot answer.
    var restartNote: String? {
        guard session.restartCount > 0,
            case .string(let notices)? = (try? session.copyProperties([.notices]))?[.notices]
        else { return nil }
        return "note: decoder: \(notices)"
    }

    /// The pixel format of its frames until the stream's bit depth changes.
    var pixelFormat: PixelFormat? { PixelFormat(rawValue: session.created.pixelFormat) }

    private let reader: MediaReader
    private var decoding = SourceReport()
    private let isInterrupted: () -> Bool
    private var captionReader: CaptionReader
    /// Captions of the packets whose pictures have not come, by the packets' numbers.
    private var captions: [UInt64: FrameSideData] = [:]
    /// More than any decoder holds: packets of a damaged stream may give no picture.
    private static let maxCaptions = 1024
    private var clock: PresentationClock
    private var isInputDone = false
    /// Whether the demuxer splits an access unit between its layers, as it does in byte streams.
    private let joinsLayers: Bool
    /// The last packet of such a stream, which the next one may complete.
    private var held: (bytes: [UInt8], packet: MediaPacket)?
    private var isFinished = false
    /// Why the input ended early; thrown after the decoder's last frame.
    private var earlyEnd: (any Error)?

    /// Packets sent ahead: enough that the decoder never waits for this process.
    private static let packetsAhead = 16

    /// The parameters of the session.
    struct Request {
        var specification: [PropertyKey: PropertyValue] = [:]
        /// The pixel format of the frames; nil for the stream's own.
        var pixelFormat: PixelFormat?
        var properties: [PropertyKey: PropertyValue] = [:]
        /// The number of frames; nil where it is unknown.
        var frames: Int?
    }

    /// Creates a session for the file's video; `reader` must return its packets, not frames.
    init(
        _ reader: MediaReader, _ daemon: Daemon, _ request: Request, isInterrupted: @escaping () -> Bool
    ) throws(ClientError) {
        self.reader = reader
        self.isInterrupted = isInterrupted
        clock = reader.presentationClock
        captionReader = CaptionReader(reader.video.codecConfiguration)
        joinsLayers = reader.video.codecConfiguration.first != 1 && reader.video.alphaLayerMode != nil
        var parameters = CreateDecompressionSession.Parameters(
            formatDescription: reader.video.codecConfiguration, timeBase: reader.video.timeBase,
            pixelFormat: request.pixelFormat, decoderSpecification: request.specification,
            properties: SessionRequest.properties.merging(request.properties) { _, set in set })
        parameters.frames = request.frames
        session = try DecompressionSession(daemon, parameters)
        if let levels = reader.levels, levels.isLeftToSession { try session.setMaxTemporalLevel(levels.limit) }
    }

    func next() throws -> MediaReader.Item? {
        var deadline = MonotonicTime.now + SessionTimeout.limit
        while !isFinished {
            if isInterrupted() { throw CommandFailure.interrupted }
            while !isInputDone, session.packetsInFlight < Self.packetsAhead {
                if let other = try feed() { return .packet(other) }
                deadline = MonotonicTime.now + SessionTimeout.limit
                if let event = try session.nextEvent(timeout: .zero), let frame = try take(event) {
                    return .frame(frame)
                }
            }
            if let event = try session.nextEvent(timeout: .milliseconds(100)), let frame = try take(event) {
                return .frame(frame)
            }
            // Reports alone are no progress.
            if !isFinished, MonotonicTime.now > deadline { throw SessionTimeout.failure }
        }
        if let earlyEnd { throw earlyEnd }
        guard decoding.frames > 0 else {
            let why = report.firstError.map { ": \($0)" } ?? ""
            throw MediaError(.badInput, "\(reader.path): no frame of its hevc video can be decoded\(why)")
        }
        return nil
    }

    /// Reads and sends a packet; returns one of another stream.
    private func feed() throws -> MediaPacket? {
        let item: MediaReader.Item?
        do throws(MediaError) {
            item = try reader.next()
        } catch {
            if error.kind == .interrupted { throw error }
            earlyEnd = error
            item = nil
        }
        switch item {
        case .packet(let packet)? where packet.streamIndex == reader.video.streamIndex:
            if let configuration = packet.newConfiguration {
                try sendHeld()
                try session.changeFormat(configuration)
                captionReader.change(to: configuration)
            }
            if joinsLayers { try join(packet) } else { try packet.withBytes { try send($0, packet) } }
        case .packet(let packet)?: return packet
        case .frame?: throw CommandFailure(.software, "the reader decodes a video that the session should decode")
        case nil:
            isInputDone = true
            try sendHeld()
            try session.finishDelayedFrames()
        }
        return nil
    }

    private func send(_ bytes: UnsafeRawBufferPointer, _ packet: MediaPacket) throws {
        // A session refuses an empty packet; a damaged file may have one.
        guard !bytes.isEmpty else {
            decoding.droppedFrames += 1
            decoding.errors += 1
            decoding.firstError = decoding.firstError ?? "a packet is empty"
            return
        }
        let number = try session.decode(
            bytes, pts: reader.isUntimed ? nil : Self.plausible(packet.pts),
            duration: (0..<(1 << 40)).contains(packet.duration) ? packet.duration : 0, isOutput: !packet.isDiscarded
        )
        // A discarded packet gives no picture that could take them.
        guard !packet.isDiscarded, let found = captionReader.captions(in: bytes) else { return }
        if captions.count >= Self.maxCaptions {
            decoding.incompleteMetadata += captions.count
            captions = [:]
        }
        captions[number] = found
    }

    /// Sends the packets of one access unit as one.
    private func join(_ packet: MediaPacket) throws {
        let bytes = packet.withBytes { Array($0) }
        if packet.beginsInUpperLayer, held != nil {
            held?.bytes += bytes
        } else {
            try sendHeld()
            held = (bytes, packet)
        }
    }

    private func sendHeld() throws {
        guard let (bytes, packet) = held else { return }
        held = nil
        try bytes.withUnsafeBytes { try send($0, packet) }
    }

    /// A timestamp that a session accepts; nil for an implausible one.
    private static func plausible(_ pts: Int64?) -> Int64? { pts.flatMap { Ticks.isPossible($0) ? $0 : nil } }

    private func take(_ event: DecompressionSession.Event) throws -> SourceFrame? {
        switch event {
        case .finished:
            isFinished = true
            return nil
        case .report(let message):
            if message.flags.contains(.dropped) { captions[message.frameID] = nil }
            if message.flags.contains(.aboveLevel) {
                decoding.leftOut += 1
            } else if message.flags.contains(.dropped) {
                decoding.droppedFrames += 1
            }
            if message.flags.contains(.metadataNotApplied) {
                decoding.refusedRPUs += 1
                decoding.firstRPURefusal = decoding.firstRPURefusal ?? message.reason
                return nil
            }
            guard message.status != .ok else { return nil }
            let sentence = "packet \(message.frameID - 1): \(message.reason)"
            guard !message.flags.contains(.alpha) else {
                decoding.firstAlphaError = decoding.firstAlphaError ?? sentence
                return nil
            }
            decoding.errors += 1
            decoding.firstError = decoding.firstError ?? sentence
            return nil
        case .frame(let frame): return stamp(frame)
        }
    }

    private func stamp(_ frame: DecompressionSession.ReceivedFrame) -> SourceFrame {
        let picture = frame.description
        var info = picture.info
        let isRepaired: Bool
        (info.pts, info.duration, isRepaired) = clock.stamp(
            info.pts == DecodeFrame.noPTS ? nil : info.pts, duration: info.duration, index: decoding.frames)
        if let own = captions.removeValue(forKey: picture.frameID) { info.sideData.append(own) }
        if isRepaired { decoding.repairedTimestamps += 1 }
        if picture.flags.contains(.damaged) { decoding.damagedFrames += 1 }
        if picture.flags.contains(.hardware) { hardwareFrames += 1 }
        if picture.flags.contains(.alphaMissing) { decoding.alphaMissingFrames += 1 }
        if picture.flags.contains(.sideDataLost) { decoding.incompleteMetadata += 1 }
        let mode: AlphaChannelMode = picture.flags.contains(.premultiplied) ? .premultiplied : .straight
        defer { decoding.frames += 1 }
        let session = session
        var stamped = SourceFrame(
            index: decoding.frames, info, alphaMode: picture.flags.contains(.alpha) ? mode : nil,
            place: .shared(frame.memory, number: picture.arenaID, picture.layout),
            release: { try session.release(frame) })
        stamped.isMapped = picture.flags.contains(.metadataApplied)
        if stamped.isMapped { decoding.mappedFrames += 1 }
        return stamped
    }
}
