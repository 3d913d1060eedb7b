// SPDX-License-Identifier: MIT
public import HWDModel
public import HWDTransport
public import HWDWire

/// A decompression session with the daemon: packets in, pictures out.
///
/// Use it from one thread. `decode` blocks only while the session holds as many packets as it accepts; results are
/// fetched with `nextEvent`. A program with its own event loop waits for `fileDescriptor` to become readable, then
/// calls `nextEvent(timeout: .zero)` until it returns nil. It also does so after a call that waits for a reply,
/// because events may have come with it.
public final class DecompressionSession {
    /// A result.
    public enum Event {
        /// A picture, in presentation order; its samples are valid until `release`.
        case frame(ReceivedFrame)
        /// A packet is damaged, or yields no picture.
        case report(PacketReport)
        /// Every picture of the packets sent before `finishDelayedFrames` has been returned.
        case finished
    }

    /// A picture: its description and its memory.
    public struct ReceivedFrame: Sendable {
        /// Times, size, format, color, metadata; `layout` counts from the start of `memory`.
        public let description: FrameDecoded
        /// The arena that holds the samples; `CompressionSession.addPool` lets another session read it.
        public let memory: SharedMemory
    }

    private let client: SessionClient<DecompressionReceiver>
    private var lastFrameID: UInt64 = 0

    /// Events that a client that sends packets may leave unfetched; each packet in flight adds two at most.
    private static let maxWaitingEvents = 2000
    /// Bytes of one packet.
    private static let maxPacketSize = 64 << 20

    /// Creates a session; returns when the daemon has chosen its decoder.
    ///
    /// - Throws: the session's error (`CouldNotFindVideoDecoder`, `VideoDecoderNotAvailableNow`,
    ///   `VideoDecoderUnsupportedDataFormat`, `Parameter`, …), or why the daemon cannot be asked.
    public init(
        _ daemon: Daemon, _ parameters: CreateDecompressionSession.Parameters, timeout: Duration = .seconds(30)
    ) throws(ClientError) {
        client = try SessionClient(daemon, parameters, timeout: timeout)
    }

    /// The reply to Create: the decoder, whether it is hardware, why not, and the credits.
    public var created: CreateDecompressionSession.Reply { client.created }

    /// Readable when `nextEvent` has something to do.
    public var fileDescriptor: Int32 { client.fileDescriptor }

    /// Packets sent whose memory the worker has not read yet.
    public var packetsInFlight: Int { client.receiver.packets.count }

    /// Pictures fetched and not released; the session returns no more than `created.maxFramesInFlight`.
    public var framesHeld: Int { client.receiver.heldFrames }

    // MARK: - Properties and formats

    /// Sets properties, all or none.
    ///
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly`, `Parameter`; the session continues.
    public func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        try client.setProperties(properties)
    }

    /// The values of properties; those of all properties that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        try client.copyProperties(keys)
    }

    /// Limits decoding of the packets that follow to a temporal level, 0 to 6; nil removes the limit.
    ///
    /// A lower limit applies from the next packet on, a higher one from the next picture at which the stream allows
    /// it (a key frame, TSA or STSA picture, H.265 7.4.2.2). Each packet that is skipped is reported with
    /// `PacketReport.Flags.aboveLevel`.
    /// - Throws: `Parameter` for a level that does not exist; the session continues.
    public func setMaxTemporalLevel(_ level: Int?) throws(ClientError) {
        try setProperties([.maxTemporalLevel: level.map { .int(Int64($0)) } ?? .null])
    }

    /// Checks that packets of another format can follow in this session.
    ///
    /// - Throws: `FormatDescriptionChangeNotSupported`, `VideoDecoderUnsupportedDataFormat` or
    ///   `VideoDecoderBadData` with the reason when they cannot; the session continues.
    public func checkFormat(_ description: [UInt8]) throws(ClientError) {
        try client.request(.canAcceptFormat, description)
    }

    /// Whether packets of another format can follow in this session.
    public func canAcceptFormatDescription(_ description: [UInt8]) throws(ClientError) -> Bool {
        do throws(ClientError) {
            try checkFormat(description)
            return true
        } catch {
            guard case .session(let status) = error.code,
                [
                    .formatDescriptionChangeNotSupported, .videoDecoderUnsupportedDataFormat, .videoDecoderBadData,
                ].contains(status)
            else { throw error }
            return false
        }
    }

    /// Announces that the packets that follow are of another format.
    ///
    /// - Throws: as `checkFormat`.
    public func changeFormat(_ description: [UInt8]) throws(ClientError) {
        try client.request(.changeFormat, description)
    }

    // MARK: - Packets and pictures

    /// Sends a packet: one access unit, in decoding order, framed as the format description says.
    ///
    /// While the session holds as many packets as it accepts, this blocks until the worker has read one; events that
    /// arrive meanwhile are kept. A client that holds all its pictures must release one first.
    /// - Parameters:
    ///   - packet: its bytes, which are copied.
    ///   - pts: the presentation time, in units of the session's time base; nil when it is not known.
    ///   - duration: in the same units; 0 if unknown.
    ///   - isOutput: whether the picture is returned, or decoded only as a reference of others.
    ///   - isAsynchronous: whether to return before the decoder has taken the packet.
    ///   - timeout: the limit of this call.
    /// - Returns: the number that its picture and its reports carry.
    /// - Throws: `Parameter` for a packet that is empty or too large, or when more than 2000 events were not fetched, or
    ///   why the session ended.
    @discardableResult
    public func decode(
        _ packet: UnsafeRawBufferPointer, pts: Int64?, duration: Int64 = 0, isOutput: Bool = true,
        isAsynchronous: Bool = true, timeout: Duration = .seconds(60)
    ) throws(ClientError) -> UInt64 {
        guard client.waitingEventCount <= Self.maxWaitingEvents else {
            throw ClientError(
                SessionError(.parameter, "\(client.waitingEventCount) events were not fetched; fetch events first"))
        }
        let deadline = MonotonicTime.now + timeout
        lastFrameID += 1
        let location = try store(packet, deadline)
        var flags: DecodeFrame.Flags = isAsynchronous ? .asynchronous : []
        if !isOutput { flags.insert(.doNotOutput) }
        let message = DecodeFrame(
            frameID: lastFrameID, pts: pts ?? DecodeFrame.noPTS, duration: duration, poolID: location.poolID,
            flags: flags, offset: UInt64(location.offset), size: UInt32(packet.count))
        let sequence = try client.send(message)
        if !isAsynchronous { _ = try client.reply(to: sequence, timeout: timeout) }
        return lastFrameID
    }

    /// Whether `decode` takes a packet without waiting for the worker to read an earlier one.
    public func hasRoom() -> Bool { packetsInFlight < created.maxPacketsInFlight }

    /// Whether `decode` takes a packet of this size, in bytes, without waiting for the worker to read an earlier one.
    public func hasRoom(for size: Int) -> Bool {
        packetsInFlight == 0 || (hasRoom() && client.receiver.packets.hasRoom(for: size))
    }

    /// Requests every picture; `finished` follows the last one.
    ///
    /// The packet that follows must be a key frame.
    public func finishDelayedFrames() throws(ClientError) {
        client.finish(by: try client.send(.finishDelayedFrames))
    }

    /// Returns a picture's memory to the worker.
    public func release(_ frame: ReceivedFrame) throws(ClientError) {
        client.receiver.heldFrames -= 1
        try client.send(ReleaseFrame(pictureID: frame.description.pictureID))
    }

    /// The next event; nil when none came within `timeout`.
    ///
    /// - Throws: what ended the session. If its worker died, the daemon supplies the reason.
    public func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        try client.nextEvent(timeout: timeout)
    }

    /// Ends the session at once; pictures that were not fetched are lost.
    public func invalidate() { client.invalidate() }

    // MARK: - Memory for packets

    private func store(
        _ packet: UnsafeRawBufferPointer, _ deadline: MonotonicTime
    ) throws(ClientError) -> PacketPool.Location {
        guard !packet.isEmpty else {
            throw ClientError(SessionError(.parameter, "an empty packet cannot be decoded"))
        }
        guard packet.count <= Self.maxPacketSize else {
            throw ClientError(SessionError(.parameter, "a packet of \(packet.count) bytes is too large"))
        }
        while true {
            if hasRoom(), let location = client.receiver.packets.store(packet, frameID: lastFrameID) {
                return location
            }
            let before = packetsInFlight
            if before == 0, client.receiver.packets.size < packet.count {
                try grow(toHold: packet.count)
                continue
            }
            try client.pump(until: deadline) { $0.packets.count < before }
            guard packetsInFlight < before else {
                throw ClientError(.connectionFailed, "the session read no packet in time")
            }
        }
    }

    private func grow(toHold size: Int) throws(ClientError) {
        let (oldMemory, oldID) = (client.receiver.packets.memory, client.receiver.packets.poolID)
        do throws(SystemError) { try client.receiver.packets.grow(toHold: size) } catch {
            throw ClientError(error, whileDoing: "no memory for packets")
        }
        guard let memory = client.receiver.packets.memory else { return }
        try client.addPool(memory, id: client.receiver.packets.poolID)
        if oldMemory != nil { try client.removePool(id: oldID) }
    }
}
