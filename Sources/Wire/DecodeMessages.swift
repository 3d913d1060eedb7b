// SPDX-License-Identifier: MIT
public import HWDModel

// The fixed-field messages a client of a decompression session sends; docs/protocol.md tells the conversation.

/// A packet to decode: one access unit, in decoding order.
public struct DecodeFrame: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.decodeFrame
    /// The pts of a packet that has none.
    public static let noPTS = Int64.min

    /// Bits of `flags`.
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt32
        /// Wraps bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// No reply is wanted; without it a `reply` follows once the decoder has taken the packet.
        public static let asynchronous = Flags(rawValue: 1)
        /// The picture is decoded, because others refer to it, but not given out.
        public static let doNotOutput = Flags(rawValue: 2)
        /// Every bit with a meaning.
        public static let all: Flags = [.asynchronous, .doNotOutput]
    }

    /// The client's number for it, unique among its packets in flight; the picture carries it again.
    public var frameID: UInt64
    /// Presentation time, in units of the session's time base; `noPTS` when there is none.
    public var pts: Int64
    /// Duration in the same units; 0 when unknown.
    public var duration: Int64
    /// The pool it lies in.
    public var poolID: UInt32
    /// What is special about it.
    public var flags: Flags
    /// Bytes from the pool's start.
    public var offset: UInt64
    /// Its bytes.
    public var size: UInt32

    /// Names a packet.
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

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) {
        writer.write(frameID)
        writer.write(pts)
        writer.write(duration)
        writer.write(poolID)
        writer.write(flags.rawValue)
        writer.write(offset)
        writer.write(size)
        writer.write(UInt32(0))
    }

    /// Reads the fields; `Parameter` for unknown flags, or when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        frameID = try reader.read(UInt64.self, from: bytes)
        pts = try reader.read(Int64.self, from: bytes)
        duration = try reader.read(Int64.self, from: bytes)
        poolID = try reader.read(UInt32.self, from: bytes)
        flags = Flags(rawValue: try reader.read(UInt32.self, from: bytes))
        offset = try reader.read(UInt64.self, from: bytes)
        size = try reader.read(UInt32.self, from: bytes)
        _ = try reader.read(UInt32.self, from: bytes)
        try reader.expectEnd(of: bytes)
        guard Flags.all.isSuperset(of: flags) else {
            throw SessionError(.parameter, "packet \(frameID) has unknown flags \(flags.rawValue)")
        }
    }
}

/// Gives a decoded picture's memory back.
public struct ReleaseFrame: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.releaseFrame
    /// The picture's number.
    public var pictureID: UInt64

    /// Names a picture.
    public init(pictureID: UInt64) { self.pictureID = pictureID }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) { writer.write(pictureID) }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        pictureID = try reader.read(UInt64.self, from: bytes)
        try reader.expectEnd(of: bytes)
    }
}

/// The worker says what became of a packet that is not as it should be.
public struct PacketReport: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.packetReport

    /// Bits of `flags`.
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt32
        /// Wraps bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// No picture comes of the packet.
        public static let dropped = Flags(rawValue: 1)
        /// It is the packet's alpha that is damaged or missing; its picture comes.
        public static let alpha = Flags(rawValue: 2)
        /// Because its temporal level is above MaxTemporalLevel.
        public static let aboveLevel = Flags(rawValue: 4)
    }

    /// The packet.
    public var frameID: UInt64
    /// `VideoDecoderBadData` for damage; `ok` where the stream itself says that a picture cannot be shown.
    public var status: Status
    /// What became of the picture.
    public var flags: Flags
    /// What is wrong with it.
    public var reason: String

    /// Tells of a packet.
    public init(frameID: UInt64, status: Status, flags: Flags, reason: String) {
        self.frameID = frameID
        self.status = status
        self.flags = flags
        self.reason = reason
    }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) {
        writer.write(frameID)
        writer.write(status.rawValue)
        writer.write(flags.rawValue)
        writer.write(bytes: reason.utf8.prefix(1024))
    }

    /// Reads the fields; `Parameter` when the payload is too short.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        frameID = try reader.read(UInt64.self, from: bytes)
        status = Status(rawValue: try reader.read(Int32.self, from: bytes))
        flags = Flags(rawValue: try reader.read(UInt32.self, from: bytes))
        reason = String(decoding: reader.readRest(of: bytes), as: UTF8.self)
    }
}

/// The worker uses an arena no more: no picture lies in it or will.
public struct RemoveArena: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.removeArena
    /// The arena's number.
    public var arenaID: UInt32

    /// Names an arena.
    public init(arenaID: UInt32) { self.arenaID = arenaID }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) { writer.write(arenaID) }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        arenaID = try reader.read(UInt32.self, from: bytes)
        try reader.expectEnd(of: bytes)
    }
}
