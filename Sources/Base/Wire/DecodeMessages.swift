// SPDX-License-Identifier: MIT
public import HWDModel

// Messages of decompression sessions.

extension DecodeFrame: SessionPayload {
    public static let opcode = Opcode.decodeFrame

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(frameID: 0, pts: 0, duration: 0, poolID: 0, offset: 0, size: 0).reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&frameID)
        try fields.integer(&pts)
        try fields.integer(&duration)
        try fields.integer(&poolID)
        try fields.number(&flags)
        try fields.integer(&offset)
        try fields.integer(&size)
        try fields.reserved(UInt32.self)
        try fields.end()
        try fields.check(
            Flags.all.isSuperset(of: flags), "packet \(frameID) has unknown flags \(flags.rawValue)")
    }
}

/// Returns a decoded picture's memory to the worker.
public struct ReleaseFrame: SessionPayload, Hashable {
    public static let opcode = Opcode.releaseFrame
    public var pictureID: UInt64

    public init(pictureID: UInt64) { self.pictureID = pictureID }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) { self = try Self(pictureID: 0).reading(bytes) }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) { try fields.integer(&pictureID) }
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

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(frameID: 0, status: .ok, flags: [], reason: "").reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&frameID)
        try fields.number(&status)
        try fields.number(&flags)
        fields.text(&reason, maxBytes: Self.maxReasonBytes)
    }
}

/// The worker retired an arena: it holds no picture, and none follows.
public struct RemoveArena: SessionPayload, Hashable {
    public static let opcode = Opcode.removeArena
    public var arenaID: UInt32

    public init(arenaID: UInt32) { self.arenaID = arenaID }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) { self = try Self(arenaID: 0).reading(bytes) }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) { try fields.integer(&arenaID) }
}
