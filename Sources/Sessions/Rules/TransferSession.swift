// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The frames of one side of a pixel-transfer session.
public struct TransferSide: Hashable, Sendable {
    /// How samples lie.
    public var format: PixelFormat
    /// Samples a row.
    public var width: Int
    /// Rows.
    public var height: Int

    /// Describes a side.
    public init(format: PixelFormat, width: Int, height: Int) {
        self.format = format
        self.width = width
        self.height = height
    }

    /// The bytes of a pool from a valid layout's first sample to its last.
    func bytes(of layout: FrameLayout) -> Range<UInt64> {
        var (start, end) = (UInt64.max, UInt64.zero)
        for (index, plane) in layout.planes.enumerated() {
            let rows = UInt64(format.rows(plane: index, height: height))
            let row = UInt64(format.rowBytes(plane: index, width: width))
            start = min(start, plane.offset)
            end = max(end, plane.offset + (rows - 1) * UInt64(plane.stride) + row)
        }
        return start..<end
    }
}

/// A frame to convert as a client announces it.
public struct TransferFrameRequest: Hashable, Sendable {
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

    /// The client's number for it.
    public var frameID: UInt64
    /// What comes in.
    public var source: Place
    /// What goes out.
    public var target: Place
    /// What the source's values mean; nil is what Create said.
    public var color: ColorDescription?

    /// Names a frame.
    public init(frameID: UInt64, source: Place, target: Place, color: ColorDescription?) {
        self.frameID = frameID
        self.source = source
        self.target = target
        self.color = color
    }

    /// Whether one of two admitted frames writes what the other reads or writes, so that their order counts.
    public func touches(
        _ other: TransferFrameRequest, _ sides: (source: TransferSide, target: TransferSide)
    ) -> Bool {
        func meet(_ a: (Place, TransferSide), _ b: (Place, TransferSide)) -> Bool {
            a.0.poolID == b.0.poolID && a.1.bytes(of: a.0.layout).overlaps(b.1.bytes(of: b.0.layout))
        }
        let (from, to) = ((source, sides.source), (target, sides.target))
        let (otherFrom, otherTo) = ((other.source, sides.source), (other.target, sides.target))
        return meet(to, otherTo) || meet(to, otherFrom) || meet(from, otherTo)
    }
}

/// What a pixel-transfer session allows at which moment: a pure state machine.
///
/// The worker's I/O thread asks it before it acts; nothing here does I/O or knows a converter.
public struct TransferSession: Sendable {
    /// Frames a client may have sent that were not answered yet.
    public static let maxFramesInFlight = 16

    /// What comes in.
    public let source: TransferSide
    /// What goes out.
    public let target: TransferSide

    private var pools: PoolLedger
    private var writable: Set<UInt32> = []
    private var inFlight: [UInt64: (source: UInt32, target: UInt32)] = [:]

    /// A session just created.
    public init(source: TransferSide, target: TransferSide, maxPoolBytes: UInt64) {
        self.source = source
        self.target = target
        pools = PoolLedger(maxBytes: maxPoolBytes)
    }

    /// Takes a pool of `size` bytes, which can hold results only if it `isWritable`.
    ///
    /// - Throws: `Parameter` when the number is taken or the session's limit would be passed.
    public mutating func addPool(_ id: UInt32, size: UInt64, isWritable: Bool) throws(SessionError) {
        try pools.add(id, size: size)
        if isWritable { writable.insert(id) }
    }

    /// Forgets a pool.
    ///
    /// - Throws: `Parameter` when it does not exist or a frame in flight lies in it.
    public mutating func removePool(_ id: UInt32) throws(SessionError) {
        try pools.remove(id, inUse: inFlight.values.flatMap { [$0.source, $0.target] })
        writable.remove(id)
    }

    /// Takes a frame, after checking everything a client could get wrong about it.
    ///
    /// - Throws: `Parameter`; the session cannot go on, because the client's idea of it has parted from ours.
    public mutating func admit(_ frame: TransferFrameRequest) throws(SessionError) {
        guard inFlight.count < Self.maxFramesInFlight else {
            throw SessionError(.parameter, "more than \(Self.maxFramesInFlight) frames in flight")
        }
        guard inFlight[frame.frameID] == nil else {
            throw SessionError(.parameter, "frame \(frame.frameID) is in flight already")
        }
        let from = try check(frame.frameID, frame.source, source)
        let to = try check(frame.frameID, frame.target, target)
        guard writable.contains(frame.target.poolID) else {
            throw SessionError(
                .parameter,
                "frame \(frame.frameID) is to be written to pool \(frame.target.poolID), which is sealed against it"
            )
        }
        guard frame.source.poolID != frame.target.poolID || !from.overlaps(to) else {
            throw SessionError(.parameter, "frame \(frame.frameID) would overwrite itself")
        }
        inFlight[frame.frameID] = (frame.source.poolID, frame.target.poolID)
    }

    /// The frame is answered.
    public mutating func release(_ frameID: UInt64) { inFlight[frameID] = nil }

    /// Checks a place and tells the bytes of its pool that it takes.
    private func check(
        _ frameID: UInt64, _ place: TransferFrameRequest.Place, _ side: TransferSide
    ) throws(SessionError) -> Range<UInt64> {
        guard let size = pools.size(place.poolID) else {
            throw SessionError(.parameter, "frame \(frameID) names pool \(place.poolID), which does not exist")
        }
        try place.layout.validate(side.format, width: side.width, height: side.height, poolSize: size)
        return side.bytes(of: place.layout)
    }
}
