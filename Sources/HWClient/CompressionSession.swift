// SPDX-License-Identifier: MIT
public import HWDModel
public import HWDTransport
public import HWDWire

/// A compression session with the daemon: frames in, packets out.
///
/// Use it from one thread. Sending never blocks; results are fetched with `nextEvent`. A program with its own event
/// loop waits for `fileDescriptor` to become readable, then calls `nextEvent(timeout: .zero)` until it returns nil.
/// It also does so after a call that waits for a reply, because events may have come with it.
public final class CompressionSession {
    /// A result.
    public enum Event {
        /// The hvcC record (ISO/IEC 14496-15, 8.3.3.1) of the packets that follow, first and whenever they need another.
        case formatDescription([UInt8])
        /// The worker no longer reads the frame with this number: its slot can be reused.
        case frameReleased(UInt64)
        /// A coded picture; its bytes are valid until `release`.
        case packet(ReceivedPacket)
        /// Every packet that `complete` requested has been returned; one for each call.
        case completed
    }

    /// A coded picture: its description and its bytes.
    public struct ReceivedPacket {
        /// Times, flags, types.
        public let description: Packet
        /// Nil unless `CalculateMeanSquaredError` is set and the encoder measures it.
        public let meanSquaredError: MeanSquaredError?
        let memory: SharedMemory

        /// NAL units with 4-byte lengths, without parameter sets; valid until the packet is released.
        public var bytes: UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(
                rebasing: memory.bytes[Int(description.offset)..<Int(description.offset) + Int(description.size)])
        }
    }

    private let client: SessionClient<CompressionReceiver>

    /// Creates a session; returns when the daemon has chosen its encoder.
    ///
    /// - Throws: the session's error (`CouldNotFindVideoEncoder`, `VideoEncoderNotAvailableNow`, `Parameter`, …), or
    ///   why the daemon cannot be asked.
    public init(
        _ daemon: Daemon, _ parameters: CreateCompressionSession.Parameters, timeout: Duration = .seconds(30)
    ) throws(ClientError) {
        client = try SessionClient(daemon, parameters, timeout: timeout)
    }

    /// The reply to Create: the encoder, whether it is hardware, why not, and the credits.
    public var created: CreateCompressionSession.Reply { client.created }

    /// Readable when `nextEvent` has something to do.
    public var fileDescriptor: Int32 { client.fileDescriptor }

    /// Frames sent whose `frameReleased` was not fetched yet; the session takes no more than
    /// `created.maxFramesInFlight`.
    public var framesInFlight: Int { client.receiver.framesInFlight }

    /// Registers a pool; frames may then name `poolID`.
    public func addPool(_ pool: FramePool, id poolID: UInt32) throws(ClientError) {
        try client.addPool(pool.memory, id: poolID)
    }

    /// Registers memory of any origin, such as a decompression session's arena.
    public func addPool(_ memory: SharedMemory, id poolID: UInt32) throws(ClientError) {
        try client.addPool(memory, id: poolID)
    }

    /// Removes a pool that holds no frame in flight.
    public func removePool(id poolID: UInt32) throws(ClientError) { try client.removePool(id: poolID) }

    /// Sets properties, all or none; once the encoder is open, those that are `live` from the next frame on.
    ///
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly`, `Parameter`; the session continues.
    public func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        try client.setProperties(properties)
    }

    /// The values of properties; those of all properties that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        try client.copyProperties(keys)
    }

    /// Opens the encoder now instead of at the first frame.
    ///
    /// When this returns, the format description is the next event.
    public func prepare() throws(ClientError) { try client.request(.prepare) }

    /// Sends a frame; its slot belongs to the worker until `frameReleased`.
    ///
    /// A frame with `metadata` needs a daemon with the feature `frame-metadata` (GetFeatures); its side data beyond
    /// `FrameSideData.maxEntries` and `maxBytes` end the session.
    ///
    /// - Throws: `Parameter` when no credit is left, or why the session ended.
    public func encode(_ frame: EncodeFrame) throws(ClientError) {
        guard framesInFlight < created.maxFramesInFlight else {
            throw ClientError(
                SessionError(.parameter, "\(framesInFlight) frames are in flight; fetch events first"))
        }
        if frame.metadata == nil {
            try client.send(frame)
        } else {
            try client.send(EncodeFrameWithMetadata(frame))
        }
        client.receiver.framesInFlight += 1
    }

    /// Requests the packets of the frames up to `pts`; `completed` follows the last one.
    ///
    /// Packets of later frames may come too: an encoder that holds one of the requested frames is flushed. The next frame
    /// may then be a key frame.
    /// - Parameter pts: in units of the session's time base; by default every frame is requested.
    public func complete(until pts: Int64 = .max) throws(ClientError) {
        client.finish(by: try client.send(CompleteFrames(untilPTS: pts)))
    }

    /// Returns a packet's memory to the worker.
    public func release(_ packet: ReceivedPacket) throws(ClientError) {
        try client.send(ReleasePacket(packetID: packet.description.packetID))
    }

    /// The next event; nil when none came within `timeout`.
    ///
    /// - Throws: what ended the session. If its worker died, the daemon supplies the reason.
    public func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        try client.nextEvent(timeout: timeout)
    }

    /// Ends the session at once; packets that were not fetched are lost.
    public func invalidate() { client.invalidate() }
}
