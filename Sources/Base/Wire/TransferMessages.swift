// SPDX-License-Identifier: MIT
public import HWDModel

// Messages of pixel-transfer sessions.

extension TransferFrame: SessionPayload {
    public static let opcode = Opcode.transferFrame

    public func encode(into writer: inout ByteWriter) {
        writer.write(frameID)
        writer.write(source.poolID)
        writer.write(target.poolID)
        writer.write(color)
        writer.write(UInt8(clamping: source.layout.planes.count))
        writer.write(UInt8(clamping: target.layout.planes.count))
        writer.write(source.layout)
        writer.write(target.layout)
    }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        let frameID = try reader.read(UInt64.self, from: bytes)
        let sourcePool = try reader.read(UInt32.self, from: bytes)
        let targetPool = try reader.read(UInt32.self, from: bytes)
        let color = try reader.readColor(from: bytes)
        let sourcePlanes = try reader.read(UInt8.self, from: bytes)
        let targetPlanes = try reader.read(UInt8.self, from: bytes)
        guard sourcePlanes <= FrameLayout.maxPlanes, targetPlanes <= FrameLayout.maxPlanes else {
            throw SessionError(.parameter, "frame \(frameID) names \(sourcePlanes) and \(targetPlanes) planes")
        }
        let source = FrameLayout(planes: try reader.readPlanes(Int(sourcePlanes), from: bytes))
        let target = FrameLayout(planes: try reader.readPlanes(Int(targetPlanes), from: bytes))
        try reader.expectEnd(of: bytes)
        self.init(
            frameID: frameID, source: Place(poolID: sourcePool, layout: source),
            target: Place(poolID: targetPool, layout: target), color: color)
    }
}

/// The answer to a frame; the client may touch both its places again.
public struct FrameTransferred: SessionPayload, Hashable {
    public static let opcode = Opcode.frameTransferred
    /// The limit of `reason` in bytes of UTF-8.
    public static let maxReasonBytes = 1024
    public var frameID: UInt64
    /// `ok`, or why there is no result: `PixelTransferNotSupported` for a color that cannot be converted.
    public var status: Status
    /// The failure in words, else empty; at most `maxReasonBytes` of it are sent.
    public var reason: String

    public init(frameID: UInt64, status: Status = .ok, reason: String = "") {
        self.frameID = frameID
        self.status = status
        self.reason = reason
    }

    public func encode(into writer: inout ByteWriter) {
        writer.write(frameID)
        writer.write(status.rawValue)
        writer.write(UInt32(0))
        writer.write(text: reason, maxBytes: Self.maxReasonBytes)
    }

    public init(decoding bytes: RawSpan) throws(SessionError) {
        var reader = ByteReader()
        frameID = try reader.read(UInt64.self, from: bytes)
        status = Status(rawValue: try reader.read(Int32.self, from: bytes))
        try reader.readReserved(UInt32.self, from: bytes)
        reason = reader.readText(maxBytes: Self.maxReasonBytes, from: bytes)
    }
}
