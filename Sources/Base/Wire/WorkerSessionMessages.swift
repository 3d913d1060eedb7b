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

    public func encode(into writer: inout ByteWriter) {
        writer.write(sequence)
        writer.write(status.rawValue)
        writer.write(bytes: body)
    }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        sequence = try reader.read(UInt32.self, from: bytes)
        status = Status(rawValue: try reader.read(Int32.self, from: bytes))
        body = reader.readRest(of: bytes)
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

    public func encode(into writer: inout ByteWriter) {
        writer.write(arenaID)
        writer.write(UInt32(0))
        writer.write(size)
    }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        arenaID = try reader.read(UInt32.self, from: bytes)
        try reader.readReserved(UInt32.self, from: bytes)
        size = try reader.read(UInt64.self, from: bytes)
        try reader.expectEnd(of: bytes)
    }
}

/// Returns a frame's or a packet's memory to the client: the worker no longer reads it.
public struct FrameReleased: SessionPayload, Hashable {
    public static let opcode = Opcode.frameReleased
    public var frameID: UInt64

    public init(frameID: UInt64) { self.frameID = frameID }

    public func encode(into writer: inout ByteWriter) { writer.write(frameID) }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        frameID = try ByteReader.readOnly(UInt64.self, of: bytes)
    }
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
        writer.write(temporalID)
        writer.write(UInt16(0))
    }

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
        temporalID = try reader.read(UInt8.self, from: bytes)
        try reader.readReserved(UInt16.self, from: bytes)
        try reader.expectEnd(of: bytes)
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

    public func encode(into writer: inout ByteWriter) {
        writer.write(packetID)
        writer.write(frameID)
        for value in [meanSquaredError.luma, meanSquaredError.chromaBlue, meanSquaredError.chromaRed] {
            writer.write(value.bitPattern)
        }
    }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        packetID = try reader.read(UInt64.self, from: bytes)
        frameID = try reader.read(UInt64.self, from: bytes)
        var values: [Double] = []
        for _ in 0..<3 { values.append(Double(bitPattern: try reader.read(UInt64.self, from: bytes))) }
        try reader.expectEnd(of: bytes)
        guard values.allSatisfy({ $0.isFinite && $0 >= 0 }) else {
            throw SessionError(.parameter, "the error of packet \(packetID) is not a number of at least 0")
        }
        meanSquaredError = MeanSquaredError(luma: values[0], chromaBlue: values[1], chromaRed: values[2])
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

    public func encode(into writer: inout ByteWriter) {
        writer.write(status.rawValue)
        writer.write(text: reason, maxBytes: Self.maxReasonBytes)
    }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        status = Status(rawValue: try reader.read(Int32.self, from: bytes))
        reason = reader.readText(maxBytes: Self.maxReasonBytes, from: bytes)
    }
}
