// SPDX-License-Identifier: MIT
public import HWDModel

// Messages of pixel-transfer sessions.

extension TransferFrame: SessionPayload {
    public static let opcode = Opcode.transferFrame

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        let nowhere = Place(poolID: 0, layout: FrameLayout(planes: []))
        self = try Self(frameID: 0, source: nowhere, target: nowhere).reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        var sourcePlanes = UInt8(clamping: source.layout.planes.count)
        var targetPlanes = UInt8(clamping: target.layout.planes.count)
        try fields.integer(&frameID)
        try fields.integer(&source.poolID)
        try fields.integer(&target.poolID)
        try fields.color(&color)
        try fields.integer(&sourcePlanes)
        try fields.integer(&targetPlanes)
        try fields.check(
            sourcePlanes <= FrameLayout.maxPlanes && targetPlanes <= FrameLayout.maxPlanes,
            "frame \(frameID) names \(sourcePlanes) and \(targetPlanes) planes")
        try fields.planes(&source.layout, count: Int(sourcePlanes))
        try fields.planes(&target.layout, count: Int(targetPlanes))
    }
}

/// The answer to a frame; the client may use the memory of its source and target again.
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

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) { self = try Self(frameID: 0).reading(bytes) }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&frameID)
        try fields.number(&status)
        try fields.reserved(UInt32.self)
        fields.text(&reason, maxBytes: Self.maxReasonBytes)
    }
}
