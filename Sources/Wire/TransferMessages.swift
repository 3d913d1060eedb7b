// SPDX-License-Identifier: MIT
public import HWDModel

// The fixed-field messages of a pixel-transfer session; docs/protocol.md tells the conversation.

/// A frame to convert: where it lies, and where the result is to lie.
public struct TransferFrame: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.transferFrame

    /// Where one side's samples lie.
    public struct Place: Hashable, Sendable {
        /// The pool.
        public var poolID: UInt32
        /// The planes in it.
        public var layout: FrameLayout

        /// Names a place.
        public init(poolID: UInt32, layout: FrameLayout) {
            self.poolID = poolID
            self.layout = layout
        }
    }

    /// The client's number for it, unique among its frames in flight.
    public var frameID: UInt64
    /// What comes in.
    public var source: Place
    /// What goes out; the client must not touch it before the answer.
    public var target: Place
    /// What the source's values mean from this frame on its own; nil is what Create said.
    public var color: ColorDescription?

    /// Names a frame.
    public init(frameID: UInt64, source: Place, target: Place, color: ColorDescription? = nil) {
        self.frameID = frameID
        self.source = source
        self.target = target
        self.color = color
    }

    private static let hasColor: UInt8 = 1
    private static let noChromaLocation = UInt8.max

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) {
        writer.write(frameID)
        writer.write(source.poolID)
        writer.write(target.poolID)
        let color = color ?? ColorDescription()
        for byte in [
            self.color == nil ? 0 : Self.hasColor, color.primaries, color.transfer, color.matrix,
            color.isFullRange ? 1 : 0, color.chromaLocation ?? Self.noChromaLocation,
            UInt8(clamping: source.layout.planes.count), UInt8(clamping: target.layout.planes.count),
        ] { writer.write(byte) }
        for plane in source.layout.planes.prefix(EncodeFrame.maxPlanes)
            + target.layout.planes.prefix(EncodeFrame.maxPlanes)
        {
            writer.write(plane.offset)
            writer.write(plane.stride)
            writer.write(UInt32(0))
        }
    }

    /// Reads the fields; `Parameter` for flags or planes without a meaning, or when the payload has a wrong size.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        frameID = try reader.read(UInt64.self, from: bytes)
        let sourcePool = try reader.read(UInt32.self, from: bytes)
        let targetPool = try reader.read(UInt32.self, from: bytes)
        var small: [UInt8] = []
        for _ in 0..<8 { small.append(try reader.read(UInt8.self, from: bytes)) }
        guard small[0] <= Self.hasColor, small[4] <= 1 else {
            throw SessionError(.parameter, "frame \(frameID) has unknown flags")
        }
        guard small[6] <= EncodeFrame.maxPlanes, small[7] <= EncodeFrame.maxPlanes else {
            throw SessionError(.parameter, "frame \(frameID) names \(small[6]) and \(small[7]) planes")
        }
        if small[0] == Self.hasColor {
            color = ColorDescription(
                primaries: small[1], transfer: small[2], matrix: small[3], isFullRange: small[4] != 0,
                chromaLocation: small[5] == Self.noChromaLocation ? nil : small[5])
        }
        var planes: [FrameLayout.Plane] = []
        for _ in 0..<small[6] + small[7] {
            let offset = try reader.read(UInt64.self, from: bytes)
            planes.append(FrameLayout.Plane(offset: offset, stride: try reader.read(UInt32.self, from: bytes)))
            _ = try reader.read(UInt32.self, from: bytes)
        }
        source = Place(poolID: sourcePool, layout: FrameLayout(planes: Array(planes.prefix(Int(small[6])))))
        target = Place(poolID: targetPool, layout: FrameLayout(planes: Array(planes.dropFirst(Int(small[6])))))
        try reader.expectEnd(of: bytes)
    }
}

/// The answer to a frame: both its places are the client's again.
public struct FrameTransferred: SessionPayload, Hashable {
    /// The opcode that announces it.
    public static let opcode = Opcode.frameTransferred
    /// The frame.
    public var frameID: UInt64
    /// `ok`, or why there is no result: `PixelTransferNotSupported` for a colour that is not converted.
    public var status: Status
    /// The sentence that goes with a failure.
    public var reason: String

    /// Answers a frame.
    public init(frameID: UInt64, status: Status = .ok, reason: String = "") {
        self.frameID = frameID
        self.status = status
        self.reason = reason
    }

    /// Appends the fields.
    public func encode(into writer: inout ByteWriter) {
        writer.write(frameID)
        writer.write(status.rawValue)
        writer.write(UInt32(0))
        writer.write(bytes: reason.utf8.prefix(1024))
    }

    /// Reads the fields; `Parameter` when the payload is too short.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        frameID = try reader.read(UInt64.self, from: bytes)
        status = Status(rawValue: try reader.read(Int32.self, from: bytes))
        _ = try reader.read(UInt32.self, from: bytes)
        reason = String(decoding: reader.readRest(of: bytes), as: UTF8.self)
    }
}
