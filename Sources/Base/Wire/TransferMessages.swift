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
        try fields.integer(&frameID)
        try codePlaces(&fields)
    }

    /// The fields after the number and the time, in both messages that announce a frame.
    fileprivate mutating func codePlaces<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        var sourcePlanes = UInt8(clamping: source.layout.planes.count)
        var targetPlanes = UInt8(clamping: target.layout.planes.count)
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

/// A frame to convert that has a time.
public struct TransferTimedFrame: SessionPayload, Hashable {
    public static let opcode = Opcode.transferTimedFrame
    /// Its `pts` is not nil.
    public var frame: TransferFrame

    public init(_ frame: TransferFrame) {
        self.frame = frame
        self.frame.pts = frame.pts ?? 0
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        let nowhere = TransferFrame.Place(poolID: 0, layout: FrameLayout(planes: []))
        self = try Self(TransferFrame(frameID: 0, source: nowhere, target: nowhere)).reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        var pts = frame.pts ?? 0
        try fields.integer(&frame.frameID)
        try fields.integer(&pts)
        try fields.check(Ticks.isPossible(pts), "the pts \(pts) of frame \(frame.frameID) is out of range")
        frame.pts = pts
        try frame.codePlaces(&fields)
    }
}

/// Adds a table of effects; the memfd comes with the message.
public struct AddTable: SessionPayload, Hashable {
    public static let opcode = Opcode.addTable
    /// Its number, after those of the tables in the Create call.
    public var table: UInt32
    /// Bytes of the text of a .cube file, from the memfd's start on.
    public var size: UInt64

    public init(table: UInt32, size: UInt64) {
        self.table = table
        self.size = size
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) {
        self = try Self(table: 0, size: 0).reading(bytes)
    }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&table)
        try fields.reserved(UInt32.self)
        try fields.integer(&size)
    }
}

/// Changes the parameters of effects from a time on.
public struct ChangeEffects: SessionPayload, Hashable {
    public static let opcode = Opcode.changeEffects
    /// The time of the first frame that the effects hold for; `EffectSchedule.always` for the next one.
    public var pts: Int64
    /// An array of the effects' texts, as JSON.
    public var json: [UInt8]

    /// - Throws: `Parameter` where the texts do not fit a message.
    public init(pts: Int64, effects: [String]) throws(SessionError) {
        self.pts = pts
        json = try JSON.encode(effects)
        guard json.count <= MessageHeader.maxLength - MemoryLayout<Int64>.size else {
            throw SessionError(.parameter, "the effects do not fit a message")
        }
    }

    private init() { (pts, json) = (0, []) }

    /// The effects' texts.
    ///
    /// - Throws: `Parameter` where they are not an array of texts.
    public var effects: [String] {
        get throws(SessionError) { try JSON.decode([String].self, from: json) }
    }

    public func encode(into writer: inout ByteWriter) { writer.write(self) }
    public init(decoding bytes: RawSpan) throws(SessionError) { self = try Self().reading(bytes) }

    public mutating func code<C: FieldCoder>(_ fields: inout C) throws(C.Failure) {
        try fields.integer(&pts)
        try fields.bytes(&json, count: nil)
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
