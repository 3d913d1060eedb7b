// SPDX-License-Identifier: MIT
public import HWDModel

/// What a message of a session is: the `opcode` of its header.
///
/// docs/protocol.md tells the whole conversation.
public enum Opcode: UInt32, Sendable, CaseIterable {
    // Client to worker.
    /// JSON object of properties to set; answered by `reply`.
    case setProperties = 1
    /// JSON array of keys to tell, empty for all; answered by `reply` with a JSON object.
    case copyProperties = 2
    /// `AddPool` with the pool's sealed memfd; answered by `reply`.
    case addPool = 3
    /// `RemovePool`; answered by `reply`.
    case removePool = 4
    /// Opens the encoder; answered by `formatDescription` and then `reply`.
    case prepare = 5
    /// `EncodeFrame`; answered by `frameReleased` once its memory was read.
    case encodeFrame = 6
    /// `CompleteFrames`; answered by `reply` after the last packet.
    case completeFrames = 7
    /// `ReleasePacket`; not answered.
    case releasePacket = 8
    /// Ends the session at once; answered by `end`.
    case invalidate = 9
    // Of decompression sessions.
    /// `DecodeFrame`; answered by `frameReleased` once its memory was read.
    case decodeFrame = 10
    /// Gives out every picture of the packets sent so far; answered by `reply` after the last one.
    case finishDelayedFrames = 11
    /// An hvcC record or Annex B parameter sets; answered by `reply`: whether packets of that format could follow.
    case canAcceptFormat = 12
    /// As above, and the packets that follow are of that format; answered by `reply`.
    case changeFormat = 13
    /// `ReleaseFrame`; not answered.
    case releaseFrame = 14
    // Of pixel-transfer sessions.
    /// `TransferFrame`; answered by `frameTransferred`.
    case transferFrame = 20
    /// Answered by `reply` once every frame sent so far is.
    case finishFrames = 21

    // Worker to client.
    /// `Reply` to the message with the sequence number it names.
    case reply = 64
    /// An hvcC record (ISO/IEC 14496-15, 8.3.3.1): the parameter sets of the packets that follow.
    case formatDescription = 65
    /// `AddArena` with the arena's memfd, which the client can only map for reading.
    case addArena = 66
    /// `FrameReleased`.
    case frameReleased = 67
    /// `Packet`; with a memfd of its own when it does not fit the arena.
    case packet = 68
    /// `End`; the last message of a session.
    case end = 69
    // Of decompression sessions.
    /// `FrameDecoded`.
    case frameDecoded = 70
    /// `PacketReport`.
    case packetReport = 71
    /// `RemoveArena`.
    case removeArena = 72
    // Of pixel-transfer sessions.
    /// `FrameTransferred`.
    case frameTransferred = 80
}

/// A message's payload: fixed fields, little-endian.
public protocol SessionPayload: Sendable {
    /// The opcode that announces it.
    static var opcode: Opcode { get }
    /// Appends the fields.
    func encode(into writer: inout ByteWriter)
    /// Reads the fields.
    ///
    /// - Throws: `Parameter` when the payload is too short or too long.
    init(decoding bytes: RawSpan) throws(SessionError)
}

/// Registers memory that frames lie in.
public struct AddPool: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.addPool
    /// The client's number for it, unique among its pools.
    public var poolID: UInt32
    /// Bytes of the memfd that may be used.
    public var size: UInt64

    /// Names a pool.
    public init(poolID: UInt32, size: UInt64) {
        self.poolID = poolID
        self.size = size
    }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) {
        writer.write(poolID)
        writer.write(UInt32(0))
        writer.write(size)
    }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        poolID = try reader.read(UInt32.self, from: bytes)
        _ = try reader.read(UInt32.self, from: bytes)
        size = try reader.read(UInt64.self, from: bytes)
        try reader.expectEnd(of: bytes)
    }
}

/// Forgets a pool; no frame in flight may lie in it.
public struct RemovePool: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.removePool
    /// The pool's number.
    public var poolID: UInt32

    /// Names a pool.
    public init(poolID: UInt32) { self.poolID = poolID }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) { writer.write(poolID) }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        poolID = try reader.read(UInt32.self, from: bytes)
        try reader.expectEnd(of: bytes)
    }
}

/// A frame to encode.
public struct EncodeFrame: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.encodeFrame

    /// Planes a message has room for.
    public static let maxPlanes = 4

    /// Bits of `flags`.
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt32
        /// Wraps bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// `ForceKeyFrame`: code this frame as an IRAP picture without leading pictures.
        public static let forceKeyFrame = Flags(rawValue: 1)
        /// Every bit with a meaning.
        public static let all: Flags = [.forceKeyFrame]
    }

    /// The client's number for it, unique among its frames in flight; the packet carries it again.
    public var frameID: UInt64
    /// Presentation time, in units of the session's time base; strictly rising.
    public var pts: Int64
    /// Duration in the same units; 0 when unknown.
    public var duration: Int64
    /// The pool it lies in.
    public var poolID: UInt32
    /// What is special about it.
    public var flags: Flags
    /// `BaseFrameQP`: the quantisation parameter to code it with, or -1 for the session's.
    public var baseFrameQP: Int32
    /// Where its planes lie.
    public var layout: FrameLayout

    /// Names a frame.
    public init(
        frameID: UInt64, pts: Int64, duration: Int64, poolID: UInt32, flags: Flags = [], baseFrameQP: Int32 = -1,
        layout: FrameLayout
    ) {
        self.frameID = frameID
        self.pts = pts
        self.duration = duration
        self.poolID = poolID
        self.flags = flags
        self.baseFrameQP = baseFrameQP
        self.layout = layout
    }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) {
        writer.write(frameID)
        writer.write(pts)
        writer.write(duration)
        writer.write(poolID)
        writer.write(flags.rawValue)
        writer.write(baseFrameQP)
        writer.write(UInt32(layout.planes.count))
        for plane in layout.planes.prefix(Self.maxPlanes) {
            writer.write(plane.offset)
            writer.write(plane.stride)
            writer.write(UInt32(0))
        }
    }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        frameID = try reader.read(UInt64.self, from: bytes)
        pts = try reader.read(Int64.self, from: bytes)
        duration = try reader.read(Int64.self, from: bytes)
        poolID = try reader.read(UInt32.self, from: bytes)
        flags = Flags(rawValue: try reader.read(UInt32.self, from: bytes))
        baseFrameQP = try reader.read(Int32.self, from: bytes)
        let count = try reader.read(UInt32.self, from: bytes)
        guard Flags.all.isSuperset(of: flags) else {
            throw SessionError(.parameter, "frame \(frameID) has unknown flags \(flags.rawValue)")
        }
        guard count <= Self.maxPlanes else {
            throw SessionError(.parameter, "frame \(frameID) names \(count) planes")
        }
        var planes: [FrameLayout.Plane] = []
        planes.reserveCapacity(Int(count))
        for _ in 0..<count {
            let offset = try reader.read(UInt64.self, from: bytes)
            planes.append(FrameLayout.Plane(offset: offset, stride: try reader.read(UInt32.self, from: bytes)))
            _ = try reader.read(UInt32.self, from: bytes)
        }
        layout = FrameLayout(planes: planes)
        try reader.expectEnd(of: bytes)
    }
}

/// Asks for every packet of the frames sent so far.
public struct CompleteFrames: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.completeFrames
    /// Only frames up to this pts need to be complete; `Int64.max` for all.
    public var untilPTS: Int64

    /// Asks for the frames up to a time.
    public init(untilPTS: Int64 = .max) { self.untilPTS = untilPTS }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) { writer.write(untilPTS) }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        untilPTS = try reader.read(Int64.self, from: bytes)
        try reader.expectEnd(of: bytes)
    }
}

/// Gives a packet's memory back.
public struct ReleasePacket: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.releasePacket
    /// The packet's number.
    public var packetID: UInt64

    /// Names a packet.
    public init(packetID: UInt64) { self.packetID = packetID }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) { writer.write(packetID) }

    /// Reads the fields; `Parameter` when the payload is too short or too long.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        packetID = try reader.read(UInt64.self, from: bytes)
        try reader.expectEnd(of: bytes)
    }
}
