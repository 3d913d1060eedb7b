// SPDX-License-Identifier: MIT

/// A packet to decode, one access unit in decoding order, as a client of a decompression session announces it.
public struct DecodeFrame: Hashable, Sendable {
    /// The pts of a packet that has none.
    public static let noPTS = Int64.min
    /// Limit of a packet in bytes, which exceeds a picture of level 6.2 with hardly any compression.
    public static let maxSize = 64 << 20

    /// Options of one packet; the raw value is the message's `flags` field.
    public struct Flags: OptionSet, Hashable, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// The client expects no reply; without this flag one follows once the decoder has taken the packet.
        public static let asynchronous = Flags(rawValue: 1)
        /// The picture is decoded, because others may refer to it, but not sent to the client.
        public static let doNotOutput = Flags(rawValue: 2)
        /// Every defined bit; a message with any other bit is malformed.
        public static let all: Flags = [.asynchronous, .doNotOutput]
    }

    /// The client's number for it, unique among its packets in flight; the picture carries it back.
    public var frameID: UInt64
    /// Presentation time in units of the session's time base, or `noPTS`.
    public var pts: Int64
    /// Duration in the same units; 0 when unknown.
    public var duration: Int64
    /// The pool that holds its bytes.
    public var poolID: UInt32
    public var flags: Flags
    /// Bytes from the pool's start.
    public var offset: UInt64
    /// Its length in bytes.
    public var size: UInt32

    public init(
        frameID: UInt64, pts: Int64, duration: Int64, poolID: UInt32, flags: Flags = .asynchronous, offset: UInt64,
        size: UInt32
    ) {
        self.frameID = frameID
        self.pts = pts
        self.duration = duration
        self.poolID = poolID
        self.flags = flags
        self.offset = offset
        self.size = size
    }

    /// Whether its picture is sent to the client.
    public var isOutput: Bool { !flags.contains(.doNotOutput) }
}
