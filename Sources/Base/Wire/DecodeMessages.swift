// SPDX-License-Identifier: MIT
public import HWDModel

// Messages of decompression sessions.

extension DecodeFrame: SessionPayload {
    public static let opcode = Opcode.decodeFrame

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

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        let frameID = try reader.read(UInt64.self, from: bytes)
        let pts = try reader.read(Int64.self, from: bytes)
        let duration = try reader.read(Int64.self, from: bytes)
        let poolID = try reader.read(UInt32.self, from: bytes)
        let flags = Flags(rawValue: try reader.read(UInt32.self, from: bytes))
        let offset = try reader.read(UInt64.self, from: bytes)
        let size = try reader.read(UInt32.self, from: bytes)
        try reader.readReserved(UInt32.self, from: bytes)
        try reader.expectEnd(of: bytes)
        guard Flags.all.isSuperset(of: flags) else {
            throw SessionError(.parameter, "packet \(frameID) has unknown flags \(flags.rawValue)")
        }
        self.init(
            frameID: frameID, pts: pts, duration: duration, poolID: poolID, flags: flags, offset: offset, size: size
        )
    }
}

/// Returns a decoded picture's memory to the worker.
public struct ReleaseFrame: SessionPayload, Hashable {
    public static let opcode = Opcode.releaseFrame
    public var pictureID: UInt64

    public init(pictureID: UInt64) { self.pictureID = pictureID }

    public func encode(into writer: inout ByteWriter) { writer.write(pictureID) }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        pictureID = try ByteReader.readOnly(UInt64.self, of: bytes)
    }
}

/// The worker's report on a packet that was damaged, dropped or incomplete.
public struct PacketReport: SessionPayload, Hashable {
    public static let opcode = Opcode.packetReport
    /// The limit of `reason` in bytes of UTF-8.
    public static let maxReasonBytes = 1024

    /// Bits of the `flags` field.
    public struct Flags: OptionSet, Hashable, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// The packet yields no picture.
        public static let dropped = Flags(rawValue: 1)
        /// Only the packet's alpha is damaged or missing; its picture follows.
        public static let alpha = Flags(rawValue: 2)
        /// It was dropped because its temporal level is above MaxTemporalLevel.
        public static let aboveLevel = Flags(rawValue: 4)
        /// Its picture is converted without its HDR metadata, which cannot be applied.
        public static let metadataNotApplied = Flags(rawValue: 8)
    }

    /// The packet's number.
    public var frameID: UInt64
    /// `VideoDecoderBadData` for damage; `ok` where an intact packet yields no picture; `PixelTransferNotSupported` for
    /// metadata that cannot be applied.
    public var status: Status
    public var flags: Flags
    /// A description of the fault; at most `maxReasonBytes` of it are sent.
    public var reason: String

    public init(frameID: UInt64, status: Status, flags: Flags, reason: String) {
        self.frameID = frameID
        self.status = status
        self.flags = flags
        self.reason = reason
    }

    public func encode(into writer: inout ByteWriter) {
        writer.write(frameID)
        writer.write(status.rawValue)
        writer.write(flags.rawValue)
        writer.write(text: reason, maxBytes: Self.maxReasonBytes)
    }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        frameID = try reader.read(UInt64.self, from: bytes)
        status = Status(rawValue: try reader.read(Int32.self, from: bytes))
        flags = Flags(rawValue: try reader.read(UInt32.self, from: bytes))
        reason = reader.readText(maxBytes: Self.maxReasonBytes, from: bytes)
    }
}

/// The worker retired an arena: it holds no picture, and none follows.
public struct RemoveArena: SessionPayload, Hashable {
    public static let opcode = Opcode.removeArena
    public var arenaID: UInt32

    public init(arenaID: UInt32) { self.arenaID = arenaID }

    public func encode(into writer: inout ByteWriter) { writer.write(arenaID) }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        arenaID = try ByteReader.readOnly(UInt32.self, of: bytes)
    }
}
