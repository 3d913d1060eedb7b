// SPDX-License-Identifier: GPL-2.0-or-later
internal import ControlCommands
internal import HWClient
internal import MediaFile
internal import Model
internal import Transport
internal import Wire

/// Decoded by a decompression session of the daemon.
final class SessionSource: VideoSource {
    let session: DecompressionSession
    /// How decoding went so far, what the file's reader told of among it.
    var report: SourceReport {
        var report = told
        report.errors += reader.report.errors
        report.firstError = reader.report.firstError ?? report.firstError
        return report
    }
    /// Frames that were decoded in hardware.
    private(set) var hardwareFrames = 0

    /// The layout of its frames, as long as the stream's depth stays.
    var pixelFormat: PixelFormat? { PixelFormat(rawValue: session.created.pixelFormat) }

    private let reader: MediaReader
    private var told = SourceReport()
    private let isInterrupted: () -> Bool
    private var clock: PresentationClock
    private var isInputDone = false
    private var isFinished = false
    /// Why the input ended before its end; told when the decoder has given what it had.
    private var breakOff: (any Error)?

    /// Packets sent ahead: enough that the decoder never waits for us.
    private static let packetsAhead = 16
    /// How long nothing may come back; the daemon ends a stalled session long before.
    private static let patience = Duration.seconds(180)

    /// Opens a session for the file's video, which `reader` must hand out as packets.
    init(
        _ reader: MediaReader, _ daemon: Daemon, specification: [PropertyKey: PropertyValue],
        pixelFormat: PixelFormat?, properties: [PropertyKey: PropertyValue] = [:],
        isInterrupted: @escaping () -> Bool
    ) throws(ClientError) {
        self.reader = reader
        self.isInterrupted = isInterrupted
        clock = reader.presentationClock
        session = try DecompressionSession(
            daemon,
            CreateDecompressionSession.Parameters(
                formatDescription: reader.video.codecConfiguration, timeBase: reader.video.timeBase,
                pixelFormat: pixelFormat, decoderSpecification: specification, properties: properties))
    }

    /// The decoder an HEVC file is given to: a session's, or nil where only this process can read its kind.
    static func open(
        _ reader: MediaReader, _ daemon: Daemon, specification: [PropertyKey: PropertyValue],
        pixelFormat: PixelFormat?, properties: [PropertyKey: PropertyValue] = [:],
        isInterrupted: @escaping () -> Bool
    ) throws -> SessionSource? {
        guard reader.handsOutPackets else { return nil }
        do throws(ClientError) {
            return try SessionSource(
                reader, daemon, specification: specification, pixelFormat: pixelFormat, properties: properties,
                isInterrupted: isInterrupted)
        } catch  where error.code == .session(.videoDecoderUnsupportedDataFormat) {
            return nil
        }
    }

    func next() throws -> SourceItem? {
        let deadline = MonotonicTime.now + Self.patience
        while !isFinished {
            if isInterrupted() { throw CommandFailure.interrupted }
            while !isInputDone, session.packetsInFlight < Self.packetsAhead {
                if let other = try feed() { return .packet(other) }
                if let event = try session.nextEvent(timeout: .zero), let frame = try take(event) {
                    return .frame(frame)
                }
            }
            if let event = try session.nextEvent(timeout: .milliseconds(100)) {
                if let frame = try take(event) { return .frame(frame) }
            } else if MonotonicTime.now > deadline {
                throw CommandFailure(
                    .software, "the session gave nothing for \(Self.patience.components.seconds) s; giving up")
            }
        }
        if let breakOff { throw breakOff }
        guard told.frames > 0 else {
            let why = report.firstError.map { ": \($0)" } ?? ""
            throw MediaError(.badInput, "\(reader.path): not one frame of its hevc video can be decoded\(why)")
        }
        return nil
    }

    /// Reads and sends a packet; hands back one of another stream.
    private func feed() throws -> MediaPacket? {
        let item: MediaReader.Item?
        do throws(MediaError) {
            item = try reader.next()
        } catch {
            if error.kind == .interrupted { throw error }
            breakOff = error
            item = nil
        }
        switch item {
        case .packet(let packet)? where packet.streamIndex == reader.video.streamIndex:
            try packet.withBytes { bytes in
                _ = try session.decode(
                    bytes, pts: reader.isUntimed ? nil : Self.possible(packet.pts),
                    duration: (0..<(1 << 40)).contains(packet.duration) ? packet.duration : 0,
                    isOutput: !packet.isDiscarded)
            }
        case .packet(let packet)?: return packet
        case .frame?: throw CommandFailure(.software, "the reader decodes what the session should")
        case nil:
            isInputDone = true
            try session.finishDelayedFrames()
        }
        return nil
    }

    /// A timestamp that a session takes; nil for one that no file means.
    private static func possible(_ pts: Int64?) -> Int64? { pts.flatMap { $0.magnitude < 1 << 60 ? $0 : nil } }

    private func take(_ event: DecompressionSession.Event) throws -> SourceFrame? {
        switch event {
        case .finished:
            isFinished = true
            return nil
        case .report(let message):
            if message.flags.contains(.dropped) { told.droppedFrames += 1 }
            guard message.status != .ok else { return nil }
            told.errors += 1
            if told.firstError == nil {
                told.firstError = "packet \(message.frameID - 1): \(message.reason)"
            }
            return nil
        case .frame(let frame): return stamp(frame)
        }
    }

    private func stamp(_ frame: DecompressionSession.ReceivedFrame) -> SourceFrame {
        let picture = frame.description
        let (pts, duration, isRepaired) = clock.stamp(
            picture.pts == DecodeFrame.noPTS ? nil : picture.pts, duration: picture.duration, index: told.frames)
        if isRepaired { told.repairedTimestamps += 1 }
        if picture.flags.contains(.damaged) { told.damagedFrames += 1 }
        if picture.flags.contains(.hardware) { hardwareFrames += 1 }
        defer { told.frames += 1 }
        let session = session
        return SourceFrame(
            index: told.frames, pts: pts, duration: duration, width: Int(picture.width),
            height: Int(picture.height), format: picture.format, color: picture.color,
            place: .session(frame.memory, arenaID: picture.arenaID, picture.layout),
            release: { try session.release(frame) })
    }
}
