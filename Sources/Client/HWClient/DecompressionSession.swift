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
///
/// Where the session's process crashes, hangs or fails, the session continues in another one, three times at most:
/// every picture and report comes once, and pictures are the same. For that the session keeps its packets since the
/// last key frame before which every picture came, up to 64 MiB, unless the property `ReplaysAfterFailure` is
/// false. Pictures that the app holds stay valid. The call that meets the failure returns when the new process is
/// there.
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
        /// The process that it comes from, and its number there.
        let process: Int
        let pictureID: UInt64

        /// The picture of one of the session's processes, with numbers of picture and arena that are the session's.
        func of(_ process: Int, number: UInt64) -> ReceivedFrame {
            var description = description
            description.pictureID = number
            description.arenaID = DecompressionReceiver.arenaID(description.arenaID, ofProcess: process)
            return ReceivedFrame(description: description, memory: memory, process: process, pictureID: pictureID)
        }
    }

    /// Which of the session's processes, from 0, made the arena of a picture.
    ///
    /// - Parameter arenaID: `FrameDecoded.arenaID` of a picture of this session.
    public static func process(ofArena arenaID: UInt32) -> Int { DecompressionReceiver.process(ofArena: arenaID) }

    private let replay: DecompressionReplay

    /// Creates a session; returns when the daemon has chosen its decoder.
    ///
    /// - Throws: the session's error (`CouldNotFindVideoDecoder`, `VideoDecoderNotAvailableNow`,
    ///   `VideoDecoderUnsupportedDataFormat`, `Parameter`, …), or why the daemon cannot be reached.
    public init(
        _ daemon: Daemon, _ parameters: CreateDecompressionSession.Parameters, timeout: Duration = .seconds(30)
    ) throws(ClientError) {
        replay = try DecompressionReplay(daemon, parameters, timeout: timeout)
    }

    /// The reply to Create: the decoder, whether it is hardware, why not, and the credits.
    ///
    /// Where the session continues in another process, this is the reply about that one, with its own id.
    public var created: CreateDecompressionSession.Reply { replay.client.created }

    /// How often the session continued in another process.
    public var restartCount: Int { replay.process }

    /// Readable when `nextEvent` has something to do.
    public var fileDescriptor: Int32 { replay.fileDescriptor }

    /// Packets whose memory the worker has not read yet, including those that wait to be sent to another process.
    public var packetsInFlight: Int { replay.packetsInFlight }

    /// Pictures received and not released; each process of the session returns no more than `created.maxFramesInFlight`.
    public var framesHeld: Int { replay.framesHeld }

    // MARK: - Properties and formats

    /// Sets properties, all or none.
    ///
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly`, `Parameter`; the session continues.
    public func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        try replay.setProperties(properties)
    }

    /// The values of properties; those of all properties that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        try replay.copyProperties(keys)
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
        try replay.checkFormat(description)
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
        try replay.changeFormat(description)
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
        try replay.decode(
            packet, pts: pts, duration: duration, isOutput: isOutput, isAsynchronous: isAsynchronous,
            timeout: timeout)
    }

    /// Whether `decode` takes a packet without waiting for the worker to read an earlier one.
    public func hasRoom() -> Bool { replay.hasRoom }

    /// Whether `decode` takes a packet of this size, in bytes, without waiting for the worker to read an earlier one.
    public func hasRoom(for size: Int) -> Bool { replay.hasRoom(for: size) }

    /// Requests every picture; `finished` follows the last one.
    ///
    /// The packet that follows must be a key frame.
    public func finishDelayedFrames() throws(ClientError) {
        try replay.finishDelayedFrames()
    }

    /// Returns a picture's memory to the worker.
    public func release(_ frame: ReceivedFrame) throws(ClientError) {
        try replay.release(frame)
    }

    /// The next event; nil when none came within `timeout`.
    ///
    /// - Throws: what ended the session. If its worker died, the daemon supplies the reason.
    public func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        try replay.nextEvent(timeout: timeout)
    }

    /// Ends the session at once; pictures that were not fetched are lost.
    public func invalidate() { replay.invalidate() }
}
