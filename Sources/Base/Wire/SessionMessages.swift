// SPDX-License-Identifier: MIT
public import HWDModel

/// A message's payload of fixed little-endian fields, laid out as docs/protocol.md specifies.
public protocol SessionPayload: Sendable {
    /// The opcode of messages with this payload.
    static var opcode: Opcode { get }
    /// Reads or writes the fields, in the order of their bytes.
    mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure)
    /// Appends the fields.
    func encode(into writer: inout ByteWriter)
    /// Reads the fields.
    ///
    /// - Throws: `Parameter` when the payload is too short or too long, or a field has an undefined value.
    init(decoding bytes: RawSpan) throws(SessionError)
}

extension SessionPayload {
    /// A copy with the fields of `bytes`.
    ///
    /// Every type calls this and `ByteWriter.write` itself: they are specialized for a type and a coder only inside
    /// this module.
    func reading(_ bytes: RawSpan) throws(SessionError) -> Self {
        try unsafe bytes.withUnsafeBytes { bytes throws(SessionError) in
            var (value, reader) = unsafe (self, ByteReader(bytes))
            try value.code(&reader)
            try reader.end()
            return value
        }
    }
}

// MARK: - Client to worker, in every kind of session

/// Registers memory for frames or packets; the memfd comes with the message.
public struct AddPool: SessionPayload, Hashable {
    public static let opcode = Opcode.addPool
    /// The client's number for it, unique among its pools.
    public var poolID: UInt32
    /// Bytes of the memfd that the client will use.
    public var size: UInt64

    public init(poolID: UInt32, size: UInt64) {
        self.poolID = poolID
        self.size = size
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) { self = try Self(poolID: 0, size: 0).reading(bytes) }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&poolID)
        try fields.reserved(UInt32.self)
        try fields.integer(&size)
    }
}

/// Unregisters a pool that no frame in flight uses.
public struct RemovePool: SessionPayload, Hashable {
    public static let opcode = Opcode.removePool
    public var poolID: UInt32

    public init(poolID: UInt32) { self.poolID = poolID }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) { self = try Self(poolID: 0).reading(bytes) }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) { try fields.integer(&poolID) }
}

// MARK: - Client to worker, in compression sessions

extension EncodeFrame: SessionPayload {
    public static let opcode = Opcode.encodeFrame

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(frameID: 0, pts: 0, duration: 0, poolID: 0, layout: FrameLayout(planes: [])).reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try codeHead(&fields)
        var planes = UInt32(clamping: layout.planes.count)
        try fields.integer(&planes)
        try checkFlags(&fields)
        try fields.check(planes <= FrameLayout.maxPlanes, "frame \(frameID) names \(planes) planes")
        try fields.planes(&layout, count: Int(planes))
    }

    /// The fields before the planes' number, in both messages that announce a frame.
    fileprivate mutating func codeHead<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&frameID)
        try fields.integer(&pts)
        try fields.integer(&duration)
        try fields.integer(&poolID)
        try fields.number(&flags)
        try fields.integer(&baseFrameQP)
    }

    fileprivate func checkFlags<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.check(
            Flags.all.isSuperset(of: flags), "frame \(frameID) has unknown flags \(flags.rawValue)")
    }
}

/// A frame to encode together with its color and HDR metadata.
public struct EncodeFrameWithMetadata: SessionPayload, Hashable {
    public static let opcode = Opcode.encodeFrameWithMetadata
    /// Its `metadata` is not nil.
    public var frame: EncodeFrame

    public init(_ frame: EncodeFrame) {
        self.frame = frame
        self.frame.metadata = frame.metadata ?? FrameMetadata()
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(EncodeFrame(frameID: 0, pts: 0, duration: 0, poolID: 0, layout: FrameLayout(planes: [])))
            .reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        var metadata = frame.metadata ?? FrameMetadata()
        var planes = UInt8(clamping: frame.layout.planes.count)
        var entries = UInt8(min(metadata.sideData.count, FrameSideData.maxEntries))
        try frame.codeHead(&fields)
        try fields.color(&metadata.color)
        try fields.integer(&planes)
        try fields.integer(&entries)
        // Padding: the planes begin at a multiple of 8.
        try fields.reserved(UInt32.self)
        try frame.checkFlags(&fields)
        try fields.check(
            planes <= FrameLayout.maxPlanes && entries <= FrameSideData.maxEntries,
            "frame \(frame.frameID) names \(planes) planes, \(entries) side data")
        try fields.planes(&frame.layout, count: Int(planes))
        try fields.sideData(&metadata.sideData, count: Int(entries))
        try fields.end()
        try fields.check(
            Set(metadata.sideData.map(\.kind)).count == metadata.sideData.count,
            "frame \(frame.frameID) has several side data of one kind")
        frame.metadata = metadata
    }
}

/// Requests the packets of the frames sent so far.
public struct CompleteFrames: SessionPayload, Hashable {
    public static let opcode = Opcode.completeFrames
    /// The packets of frames up to this pts are requested; `Int64.max` for all.
    ///
    /// If one of them is still in the encoder, all frames are completed: encoders cannot flush a part of what they hold.
    public var untilPTS: Int64

    public init(untilPTS: Int64 = .max) { self.untilPTS = untilPTS }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) { self = try Self(untilPTS: 0).reading(bytes) }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) { try fields.integer(&untilPTS) }
}

/// Returns a packet's memory to the worker.
public struct ReleasePacket: SessionPayload, Hashable {
    public static let opcode = Opcode.releasePacket
    public var packetID: UInt64

    public init(packetID: UInt64) { self.packetID = packetID }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) { self = try Self(packetID: 0).reading(bytes) }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) { try fields.integer(&packetID) }
}
