// SPDX-License-Identifier: MIT
public import HWDModel

// Messages that a worker sends its client.

/// The answer to one message.
public struct Reply: SessionPayload, Hashable {
    public static let opcode = Opcode.reply
    /// The sequence number of the answered message.
    public var sequence: UInt32
    public var status: Status
    /// On success JSON or nothing, on failure the reason as text.
    public var body: [UInt8]

    public init(sequence: UInt32, status: Status = .ok, body: [UInt8] = []) {
        self.sequence = sequence
        self.status = status
        self.body = body
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) { self = try Self(sequence: 0).reading(bytes) }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&sequence)
        try fields.number(&status)
        try fields.bytes(&body, count: nil)
    }
}

/// Announces the worker's memory for packets or pictures; the memfd, mappable for reading only, comes with it.
public struct AddArena: SessionPayload, Hashable {
    public static let opcode = Opcode.addArena
    public var arenaID: UInt32
    /// Bytes of the memfd.
    public var size: UInt64

    public init(arenaID: UInt32, size: UInt64) {
        self.arenaID = arenaID
        self.size = size
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(arenaID: 0, size: 0).reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&arenaID)
        try fields.reserved(UInt32.self)
        try fields.integer(&size)
    }
}

/// Returns a frame's or a packet's memory to the client: the worker no longer reads it.
public struct FrameReleased: SessionPayload, Hashable {
    public static let opcode = Opcode.frameReleased
    public var frameID: UInt64

    public init(frameID: UInt64) { self.frameID = frameID }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) { self = try Self(frameID: 0).reading(bytes) }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) { try fields.integer(&frameID) }
}

/// One coded picture: an access unit of length-prefixed NAL units (4-byte lengths), without parameter sets.
public struct Packet: SessionPayload, Hashable {
    public static let opcode = Opcode.packet

    /// The arena number of a packet that comes in a memfd of its own.
    public static let ownMemory = UInt32.max

    /// Bits of the `flags` field.
    public struct Flags: OptionSet, Hashable, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// The picture is an IRAP picture: decoding can start here.
        public static let sync = Flags(rawValue: 1)
        /// No other picture refers to it (a sub-layer non-reference picture, H.265 table 7-1).
        public static let disposable = Flags(rawValue: 2)
    }

    /// The worker's number for it, which `ReleasePacket` names.
    public var packetID: UInt64
    /// The frame it was coded from.
    public var frameID: UInt64
    /// The frame's presentation time, in units of the session's time base.
    public var pts: Int64
    /// Decoding time, in the same units; strictly increasing.
    public var dts: Int64
    /// The frame's duration.
    public var duration: Int64
    /// The arena that holds it, or `ownMemory`.
    public var arenaID: UInt32
    public var flags: Flags
    /// Bytes from the arena's start.
    public var offset: UInt64
    /// Its length in bytes.
    public var size: UInt32
    /// `nal_unit_type` of its first slice segment.
    public var nalUnitType: UInt8
    /// `TemporalId` (H.265 7.4.2.2), 0…6.
    public var temporalID: UInt8

    public init(
        packetID: UInt64, frameID: UInt64, pts: Int64, dts: Int64, duration: Int64, arenaID: UInt32, flags: Flags,
        offset: UInt64, size: UInt32, nalUnitType: UInt8, temporalID: UInt8
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
        self.temporalID = temporalID
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(
            packetID: 0, frameID: 0, pts: 0, dts: 0, duration: 0, arenaID: 0, flags: [], offset: 0, size: 0,
            nalUnitType: 0, temporalID: 0
        ).reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&packetID)
        try fields.integer(&frameID)
        try fields.integer(&pts)
        try fields.integer(&dts)
        try fields.integer(&duration)
        try fields.integer(&arenaID)
        try fields.number(&flags)
        try fields.integer(&offset)
        try fields.integer(&size)
        try fields.integer(&nalUnitType)
        try fields.integer(&temporalID)
        try fields.reserved(UInt16.self)
    }
}

/// The quality of a coded picture; its packet is the next message.
public struct QualityMetrics: SessionPayload, Hashable {
    public static let opcode = Opcode.qualityMetrics
    /// The packet's number.
    public var packetID: UInt64
    /// The frame that it codes.
    public var frameID: UInt64
    public var meanSquaredError: MeanSquaredError

    public init(packetID: UInt64, frameID: UInt64, meanSquaredError: MeanSquaredError) {
        self.packetID = packetID
        self.frameID = frameID
        self.meanSquaredError = meanSquaredError
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(
            packetID: 0, frameID: 0, meanSquaredError: MeanSquaredError(luma: 0, chromaBlue: 0, chromaRed: 0)
        ).reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&packetID)
        try fields.integer(&frameID)
        try fields.double(&meanSquaredError.luma)
        try fields.double(&meanSquaredError.chromaBlue)
        try fields.double(&meanSquaredError.chromaRed)
        try fields.end()
        let (error, allowed) = (meanSquaredError, 0...Double.greatestFiniteMagnitude)
        try fields.check(
            allowed ~= error.luma && allowed ~= error.chromaBlue && allowed ~= error.chromaRed,
            "the error of packet \(packetID) is not a number of at least 0")
    }
}

/// The last message of a session.
public struct End: SessionPayload, Hashable {
    public static let opcode = Opcode.end
    /// The limit of `reason` in bytes of UTF-8.
    public static let maxReasonBytes = 32768
    /// `ok` after Invalidate, else the failure that ended it.
    public var status: Status
    /// The cause in words; at most `maxReasonBytes` of it are sent.
    public var reason: String

    public init(status: Status, reason: String) {
        self.status = status
        self.reason = reason
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(status: .ok, reason: "").reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.number(&status)
        fields.text(&reason, maxBytes: Self.maxReasonBytes)
    }
}
