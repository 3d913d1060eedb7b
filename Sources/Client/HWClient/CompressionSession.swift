// SPDX-License-Identifier: MIT
public import HWDModel
public import HWDTransport
public import HWDWire

/// A compression session with the daemon: frames in, packets out.
///
/// Use it from one thread. Sending never blocks; results are fetched with `nextEvent`. A program with its own event
/// loop waits for `fileDescriptor` to become readable, then calls `nextEvent(timeout: .zero)` until it returns nil.
/// It also does so after a call that waits for a reply, because events may have come with it.
///
/// Where the session's process crashes, hangs or fails, the session continues in another one: every frame still
/// gets one packet, with its own presentation time and decoding times that rise. The stream continues with an IDR
/// picture, and perhaps with another format description. For that the session keeps frames until their packets
/// come, up to 512 MiB, unless the property `ReplaysAfterFailure` is false. The call that meets the failure returns
/// when the new process has the frames.
public final class CompressionSession {
    /// A result.
    public enum Event {
        /// The hvcC record (ISO/IEC 14496-15, 8.3.3.1) of the packets that follow, first and whenever they need another.
        case formatDescription([UInt8])
        /// Nothing reads the frame with this number any more: its slot can be reused.
        case frameReleased(UInt64)
        /// A coded picture; its bytes are valid until `release`.
        case packet(ReceivedPacket)
        /// Every packet that `complete` requested has been returned; one for each call.
        case completed
    }

    let replay: CompressionReplay

    /// Creates a session; returns when the daemon has chosen its encoder.
    ///
    /// - Throws: the session's error (`CouldNotFindVideoEncoder`, `VideoEncoderNotAvailableNow`, `Parameter`, …), or
    ///   why the daemon cannot be reached.
    public init(
        _ daemon: Daemon, _ parameters: CreateCompressionSession.Parameters, timeout: Duration = .seconds(30)
    ) throws(ClientError) {
        replay = try CompressionReplay(daemon, parameters, timeout: timeout)
    }

    /// The reply to Create: the encoder, whether it is hardware, why not, and the credits.
    ///
    /// Where the session continues in another process, this is the reply about that one, with its own id.
    public var created: CreateCompressionSession.Reply { replay.client.created }

    /// How often the session continued in another process.
    public var restartCount: Int { replay.process }

    /// Readable when `nextEvent` has something to do.
    public var fileDescriptor: Int32 { replay.fileDescriptor }

    /// Frames sent that the encoder has not read, as far as events were fetched; the session takes no more than
    /// `created.maxFramesInFlight`.
    public var framesInFlight: Int { replay.framesInFlight }

    /// Registers a picture in dma-bufs as a pool, for frames whose layout is the picture's; needs the feature `dmabufs`.
    ///
    /// Such frames are not kept: from then on the session ends where its process fails, and `Notices` says so.
    /// - Throws: `PixelTransferNotSupported` with the formats and modifiers that are imported, `Parameter` for dma-bufs that do
    ///   not hold the picture; the session continues.
    public func addPicture(_ picture: DMABufPicture, id poolID: UInt32) throws(ClientError) {
        try replay.addPicture(picture, id: poolID)
    }

    /// Makes the next frame that names a picture wait until a sync file is signaled, 2 s at most.
    ///
    /// Another fence for the same frame replaces it: merge several (SYNC_IOC_MERGE).
    ///
    /// - Parameters:
    ///   - fence: its descriptor, which stays the caller's.
    ///   - poolID: the picture's pool.
    /// - Throws: `Parameter` for a descriptor that is no sync file; the session continues.
    public func addFence(_ fence: Int32, to poolID: UInt32) throws(ClientError) {
        try replay.addFence(fence, to: poolID)
    }

    /// Registers a pool; frames may then name `poolID`.
    ///
    /// The session may keep `spared` slots, after the encoder has read them, until their packets come; it copies
    /// other frames that it needs to continue where its process fails. With spared slots `nextEvent` also returns,
    /// with nil, when `framesInFlight` has fallen without an event.
    public func addPool(_ pool: FramePool, id poolID: UInt32, sparing spared: Int = 0) throws(ClientError) {
        try replay.addPool(pool.memory, id: poolID, sparing: spared)
    }

    func addPool(_ memory: SharedMemory, id poolID: UInt32, sparing spared: Int) throws(ClientError) {
        try replay.addPool(memory, id: poolID, sparing: spared)
    }

    /// Registers memory of any origin, such as a decompression session's arena.
    public func addPool(_ memory: SharedMemory, id poolID: UInt32) throws(ClientError) {
        try replay.addPool(memory, id: poolID, sparing: 0)
    }

    /// Removes a pool that holds no frame in flight.
    public func removePool(id poolID: UInt32) throws(ClientError) { try replay.removePool(id: poolID) }

    /// Sets properties, all or none; once the encoder is open, those that are `live` from the next frame on.
    ///
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly`, `Parameter`; the session continues.
    public func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        try replay.setProperties(properties)
    }

    /// The values of properties; those of all properties that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        try replay.copyProperties(keys)
    }

    /// Opens the encoder now instead of at the first frame.
    ///
    /// When this returns, the format description is the next event.
    public func prepare() throws(ClientError) { try replay.prepare() }

    /// Sends a frame; its slot belongs to the worker until `frameReleased`.
    ///
    /// A frame with `metadata` needs a daemon with the feature `frame-metadata` (GetFeatures); its side data beyond
    /// `FrameSideData.maxEntries` and `maxBytes` end the session.
    ///
    /// - Throws: `Parameter` when no credit is left, or why the session ended.
    public func encode(_ frame: EncodeFrame) throws(ClientError) { try replay.encode(frame) }

    /// Requests the packets of the frames up to `pts`; `completed` follows the last one.
    ///
    /// Packets of later frames may come too: an encoder that holds one of the requested frames is flushed. The next frame
    /// may then be a key frame.
    /// - Parameter pts: in units of the session's time base; by default every frame is requested.
    public func complete(until pts: Int64 = .max) throws(ClientError) {
        try replay.complete(until: pts)
    }

    /// Returns a packet's memory to the worker.
    public func release(_ packet: ReceivedPacket) throws(ClientError) { try replay.release(packet) }

    /// The next event; nil when none came within `timeout`.
    ///
    /// - Throws: what ended the session. If its worker died, the daemon supplies the reason.
    public func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        try replay.nextEvent(timeout: timeout)
    }

    /// Ends the session at once; packets that were not fetched are lost.
    public func invalidate() { replay.invalidate() }
}
