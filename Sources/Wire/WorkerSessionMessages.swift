// SPDX-License-Identifier: MIT
public import HWDModel

// The fixed-field messages a worker sends its client.

/// The answer to one message.
public struct Reply: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.reply
    /// The sequence number of the message that is answered.
    public var sequence: UInt32
    /// How it went.
    public var status: Status
    /// On success what was asked for, as JSON, or nothing; else the reason, as text.
    public var body: [UInt8]

    /// Answers a message.
    public init(sequence: UInt32, status: Status = .ok, body: [UInt8] = []) {
        self.sequence = sequence
        self.status = status
        self.body = body
    }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) {
        writer.write(sequence)
        writer.write(status.rawValue)
        writer.write(bytes: body)
    }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        sequence = try reader.read(UInt32.self, from: bytes)
        status = Status(rawValue: try reader.read(Int32.self, from: bytes))
        body = reader.readRest(of: bytes)
    }
}

/// Registers memory that packets lie in.
public struct AddArena: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.addArena
    /// The arena's number.
    public var arenaID: UInt32
    /// Its bytes.
    public var size: UInt64

    /// Names an arena.
    public init(arenaID: UInt32, size: UInt64) {
        self.arenaID = arenaID
        self.size = size
    }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) {
        writer.write(arenaID)
        writer.write(UInt32(0))
        writer.write(size)
    }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        arenaID = try reader.read(UInt32.self, from: bytes)
        _ = try reader.read(UInt32.self, from: bytes)
        size = try reader.read(UInt64.self, from: bytes)
        try reader.expectEnd(of: bytes)
    }
}

/// Gives a frame's memory back: the worker reads it no more.
public struct FrameReleased: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.frameReleased
    /// The frame's number.
    public var frameID: UInt64

    /// Names a frame.
    public init(frameID: UInt64) { self.frameID = frameID }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) { writer.write(frameID) }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        frameID = try reader.read(UInt64.self, from: bytes)
        try reader.expectEnd(of: bytes)
    }
}

/// One coded picture: an access unit of length-prefixed NAL units (4-byte lengths), without parameter sets.
public struct Packet: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.packet

    /// The arena number of a packet that comes as a memfd of its own.
    public static let ownMemory = UInt32.max

    /// Bits of `flags`.
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt32
        /// Wraps bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// The picture is an IRAP picture: decoding can start here.
        public static let sync = Flags(rawValue: 1)
        /// No other picture refers to it (a sub-layer non-reference picture, H.265 table 7-1).
        public static let disposable = Flags(rawValue: 2)
    }

    /// The worker's number for it, for `ReleasePacket`.
    public var packetID: UInt64
    /// The frame it was coded from.
    public var frameID: UInt64
    /// The frame's presentation time.
    public var pts: Int64
    /// Decoding time, in the same units; strictly rising.
    public var dts: Int64
    /// The frame's duration.
    public var duration: Int64
    /// The arena it lies in, or `ownMemory`.
    public var arenaID: UInt32
    /// What is special about it.
    public var flags: Flags
    /// Bytes from the arena's start.
    public var offset: UInt64
    /// Its bytes.
    public var size: UInt32
    /// `nal_unit_type` of its first slice segment.
    public var nalUnitType: UInt8
    /// `TemporalId`.
    public var temporalLevel: UInt8

    /// Names a packet.
    public init(
        packetID: UInt64, frameID: UInt64, pts: Int64, dts: Int64, duration: Int64, arenaID: UInt32, flags: Flags,
        offset: UInt64, size: UInt32, nalUnitType: UInt8, temporalLevel: UInt8
    ) {
        self.packetID = packetID
        self.frameID = frameID
        self.pts = pts
        self.dts = dts
        self.duration = duration
        self.arenaID = arenaID
        self.flags = flags
        self.offset = offset
        self.size = size
        self.nalUnitType = nalUnitType
        self.temporalLevel = temporalLevel
    }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) {
        writer.write(packetID)
        writer.write(frameID)
        writer.write(pts)
        writer.write(dts)
        writer.write(duration)
        writer.write(arenaID)
        writer.write(flags.rawValue)
        writer.write(offset)
        writer.write(size)
        writer.write(nalUnitType)
        writer.write(temporalLevel)
        writer.write(UInt16(0))
    }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        packetID = try reader.read(UInt64.self, from: bytes)
        frameID = try reader.read(UInt64.self, from: bytes)
        pts = try reader.read(Int64.self, from: bytes)
        dts = try reader.read(Int64.self, from: bytes)
        duration = try reader.read(Int64.self, from: bytes)
        arenaID = try reader.read(UInt32.self, from: bytes)
        flags = Flags(rawValue: try reader.read(UInt32.self, from: bytes))
        offset = try reader.read(UInt64.self, from: bytes)
        size = try reader.read(UInt32.self, from: bytes)
        nalUnitType = try reader.read(UInt8.self, from: bytes)
        temporalLevel = try reader.read(UInt8.self, from: bytes)
        _ = try reader.read(UInt16.self, from: bytes)
        try reader.expectEnd(of: bytes)
    }
}

/// The last message of a session.
public struct End: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.end
    /// `ok` after Invalidate, else what ended it.
    public var status: Status
    /// The sentence that goes with it.
    public var reason: String

    /// Ends a session.
    public init(status: Status, reason: String) {
        self.status = status
        self.reason = reason
    }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) {
        writer.write(status.rawValue)
        writer.write(bytes: reason.utf8.prefix(32768))
    }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        status = Status(rawValue: try reader.read(Int32.self, from: bytes))
        reason = String(decoding: reader.readRest(of: bytes), as: UTF8.self)
    }
}
