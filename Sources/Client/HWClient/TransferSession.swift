// SPDX-License-Identifier: MIT
public import HWDModel
public import HWDTransport
public import HWDWire

/// A pixel-transfer session with the daemon: frames in, converted frames out, both in the client's memory.
///
/// Use it from one thread. Sending never blocks; results are fetched with `nextEvent`. A program with its own event
/// loop waits for `fileDescriptor` to become readable, then calls `nextEvent(timeout: .zero)` until it returns nil.
/// It also does so after a call that waits for a reply, because events may have come with it.
///
/// Where the session's process dies or hangs, the session continues in another one, which converts the frames
/// without an answer again; three times, and not where a frame in flight may have overwritten the source of one.
public final class TransferSession {
    /// A result.
    public enum Event: Sendable {
        /// A frame was converted or could not be; source and target belong to the client again.
        case frame(FrameTransferred)
        /// Every frame sent before `finishFrames` is done.
        case finished
    }

    private let replay: TransferReplay

    /// Creates a session; returns when the daemon has chosen its converter.
    ///
    /// `tables` are texts of .cube files, up to 64 MiB each, that effects name by their numbers: those after the tables of
    /// `parameters`. They need the feature `effects.tables`.
    ///
    /// - Throws: the session's error (`PixelTransferNotSupported`, `Parameter`, `AllocationFailed`, …), or why the
    ///   daemon cannot be reached; `Parameter` with the line for a table that cannot be read.
    public init(
        _ daemon: Daemon, _ parameters: CreateTransferSession.Parameters, tables: [[UInt8]] = [],
        timeout: Duration = .seconds(30)
    ) throws(ClientError) {
        replay = try TransferReplay(daemon, parameters, tables: tables, timeout: timeout)
    }

    /// The reply to Create: the device, why it is no GPU, and the credits.
    ///
    /// Where the session continues in another process, this is the reply about that one, with its own id.
    public var created: CreateTransferSession.Reply { replay.client.created }

    /// How often the session continued in another process.
    public var restartCount: Int { replay.process }

    /// Readable when `nextEvent` has something to do.
    public var fileDescriptor: Int32 { replay.fileDescriptor }

    /// Frames sent whose event was not fetched yet; the session takes no more than `created.maxFramesInFlight`.
    public var framesInFlight: Int { replay.framesInFlight }

    /// Registers a pool; frames may then name `poolID`.
    public func addPool(_ pool: FramePool, id poolID: UInt32) throws(ClientError) {
        try replay.addPool(pool.memory, id: poolID)
    }

    /// Registers memory of any origin; a decompression session's arena can only hold sources.
    public func addPool(_ memory: SharedMemory, id poolID: UInt32) throws(ClientError) {
        try replay.addPool(memory, id: poolID)
    }

    /// Registers a picture in dma-bufs as a pool, for frames whose layout is the picture's; needs the feature `dmabufs`.
    ///
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

    /// Removes a pool that holds no frame in flight.
    public func removePool(id poolID: UInt32) throws(ClientError) { try replay.removePool(id: poolID) }

    /// Sets properties, all or none, for the frames that follow: `ScalingMode`, `CleanAperture`; `RealTime`, `Priority`.
    ///
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly`, `Parameter`; the session continues.
    public func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        try replay.setProperties(properties)
    }

    /// The values of properties; those of all properties that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        try replay.perform { () throws(ClientError) in try replay.client.copyProperties(keys) }
    }

    /// Changes the parameters of the session's effects, for frames from a time on; needs the feature `effects.changes`.
    ///
    /// A change that no frame has reached is replaced by one of the same time; up to 64 may wait.
    /// - Parameters:
    ///   - effects: the session's, in the same order.
    ///   - pts: the time, by the frames' `pts`; `EffectSchedule.always` is that of the next frame, and of frames without a time.
    /// - Throws: `Parameter` for other effects and for parameters out of range; the session continues.
    public func changeEffects(
        _ effects: [String], from pts: Int64 = EffectSchedule.always
    ) throws(ClientError) {
        try replay.changeEffects(effects, from: pts)
    }

    /// Sends a frame; source and target belong to the session until the frame's event.
    ///
    /// - Throws: `Parameter` when no credit is left, or why the session ended.
    public func transfer(_ frame: TransferFrame) throws(ClientError) {
        try replay.transfer(frame)
    }

    /// Requests the event `finished`, which follows that of the last frame.
    public func finishFrames() throws(ClientError) { try replay.finishFrames() }

    /// The next event; nil when none came within `timeout`.
    ///
    /// - Throws: what ended the session. If its worker died, the daemon supplies the reason.
    public func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        try replay.nextEvent(timeout: timeout)
    }

    /// Ends the session at once.
    public func invalidate() { replay.invalidate() }
}

/// Decodes a transfer process's messages.
struct TransferReceiver: SessionReceiver {
    typealias Create = CreateTransferSession
    typealias Event = TransferSession.Event

    static let kind = SessionKind.transfer
    static var finished: Event { .finished }
    /// Not limited here: `receive` accepts one event for each frame in flight, so the credits bound them.
    let maxEventCount = Int.max
    /// Frames that the worker has not answered.
    var framesInFlight: Set<UInt64> = []
    /// Answered frames whose events the app has not fetched.
    private(set) var unfetchedCount = 0

    init(_ created: Create.Reply) {}

    mutating func receive(
        _ opcode: Opcode, _ payload: RawSpan, _ fds: inout FDQueue
    ) throws(SessionError) -> Event? {
        guard opcode == .frameTransferred else { throw Self.unexpected(opcode) }
        let result = try FrameTransferred(decoding: payload)
        guard framesInFlight.remove(result.frameID) != nil else {
            throw Self.broken("it sent the result of a frame that is not in flight")
        }
        unfetchedCount += 1
        return .frame(result)
    }

    mutating func didFetch(_ event: Event) {
        if case .frame = event { unfetchedCount -= 1 }
    }
}
