// SPDX-License-Identifier: MIT
public import HWDModel

/// A message's payload of fixed little-endian fields, laid out as docs/protocol.md specifies.
public protocol SessionPayload: Sendable {
    /// The opcode of messages with this payload.
    static var opcode: Opcode { get }
    /// Appends the fields.
    func encode(into writer: inout ByteWriter)
    /// Reads the fields.
    ///
    /// - Throws: `Parameter` when the payload is too short or too long, or a field has an undefined value.
    init(decoding bytes: RawSpan) throws(SessionError)
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

    public func encode(into writer: inout ByteWriter) {
        writer.write(poolID)
        writer.write(UInt32(0))
        writer.write(size)
    }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        poolID = try reader.read(UInt32.self, from: bytes)
        try reader.readReserved(UInt32.self, from: bytes)
        size = try reader.read(UInt64.self, from: bytes)
        try reader.expectEnd(of: bytes)
    }
}

/// Unregisters a pool that no frame in flight uses.
public struct RemovePool: SessionPayload, Hashable {
    public static let opcode = Opcode.removePool
    public var poolID: UInt32

    public init(poolID: UInt32) { self.poolID = poolID }

    public func encode(into writer: inout ByteWriter) { writer.write(poolID) }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        poolID = try ByteReader.readOnly(UInt32.self, of: bytes)
    }
}

// MARK: - Client to worker, in compression sessions

extension EncodeFrame: SessionPayload {
    public static let opcode = Opcode.encodeFrame

    public func encode(into writer: inout ByteWriter) {
        writer.write(frameID)
        writer.write(pts)
        writer.write(duration)
        writer.write(poolID)
        writer.write(flags.rawValue)
        writer.write(baseFrameQP)
        writer.write(UInt32(layout.planes.count))
        writer.write(layout)
    }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        let frameID = try reader.read(UInt64.self, from: bytes)
        let pts = try reader.read(Int64.self, from: bytes)
        let duration = try reader.read(Int64.self, from: bytes)
        let poolID = try reader.read(UInt32.self, from: bytes)
        let flags = Flags(rawValue: try reader.read(UInt32.self, from: bytes))
        let baseFrameQP = try reader.read(Int32.self, from: bytes)
        let count = try reader.read(UInt32.self, from: bytes)
        guard Flags.all.isSuperset(of: flags) else {
            throw SessionError(.parameter, "frame \(frameID) has unknown flags \(flags.rawValue)")
        }
        guard count <= FrameLayout.maxPlanes else {
            throw SessionError(.parameter, "frame \(frameID) names \(count) planes")
        }
        let planes = try reader.readPlanes(Int(count), from: bytes)
        try reader.expectEnd(of: bytes)
        self.init(
            frameID: frameID, pts: pts, duration: duration, poolID: poolID, flags: flags, baseFrameQP: baseFrameQP,
            layout: FrameLayout(planes: planes))
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

    public func encode(into writer: inout ByteWriter) {
        let metadata = frame.metadata ?? FrameMetadata()
        writer.write(frame.frameID)
        writer.write(frame.pts)
        writer.write(frame.duration)
        writer.write(frame.poolID)
        writer.write(frame.flags.rawValue)
        writer.write(frame.baseFrameQP)
        writer.write(metadata.color)
        writer.write(UInt8(clamping: frame.layout.planes.count))
        writer.write(UInt8(min(metadata.sideData.count, FrameSideData.maxEntries)))
        // Padding: the planes begin at a multiple of 8.
        writer.write(UInt32(0))
        writer.write(frame.layout)
        writer.write(metadata.sideData)
    }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        let frameID = try reader.read(UInt64.self, from: bytes)
        let pts = try reader.read(Int64.self, from: bytes)
        let duration = try reader.read(Int64.self, from: bytes)
        let poolID = try reader.read(UInt32.self, from: bytes)
        let flags = EncodeFrame.Flags(rawValue: try reader.read(UInt32.self, from: bytes))
        let baseFrameQP = try reader.read(Int32.self, from: bytes)
        let color = try reader.readColor(from: bytes)
        let (planes, entries) = (try reader.read(UInt8.self, from: bytes), try reader.read(UInt8.self, from: bytes))
        try reader.readReserved(UInt32.self, from: bytes)
        guard EncodeFrame.Flags.all.isSuperset(of: flags) else {
            throw SessionError(.parameter, "frame \(frameID) has unknown flags \(flags.rawValue)")
        }
        guard planes <= FrameLayout.maxPlanes, entries <= FrameSideData.maxEntries else {
            throw SessionError(.parameter, "frame \(frameID) names \(planes) planes, \(entries) side data")
        }
        let layout = FrameLayout(planes: try reader.readPlanes(Int(planes), from: bytes))
        let sideData = try reader.readSideData(Int(entries), from: bytes)
        try reader.expectEnd(of: bytes)
        guard Set(sideData.map(\.kind)).count == sideData.count else {
            throw SessionError(.parameter, "frame \(frameID) has several side data of one kind")
        }
        frame = EncodeFrame(
            frameID: frameID, pts: pts, duration: duration, poolID: poolID, flags: flags, baseFrameQP: baseFrameQP,
            layout: layout, metadata: FrameMetadata(color: color, sideData: sideData))
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

    public func encode(into writer: inout ByteWriter) { writer.write(untilPTS) }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        untilPTS = try ByteReader.readOnly(Int64.self, of: bytes)
    }
}

/// Returns a packet's memory to the worker.
public struct ReleasePacket: SessionPayload, Hashable {
    public static let opcode = Opcode.releasePacket
    public var packetID: UInt64

    public init(packetID: UInt64) { self.packetID = packetID }

    public func encode(into writer: inout ByteWriter) { writer.write(packetID) }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        packetID = try ByteReader.readOnly(UInt64.self, of: bytes)
    }
}
