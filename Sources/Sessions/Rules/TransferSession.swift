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

extension TransferFrame {
    /// Whether one of two admitted frames writes what the other reads or writes, so that their order counts.
    public func touches(
        _ other: TransferFrame, _ sides: (source: TransferSide, target: TransferSide)
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

    private var inFlight: [UInt64: (source: UInt32, target: UInt32)] = [:]

    /// A session just created.
    public init(source: TransferSide, target: TransferSide) {
        self.source = source
        self.target = target
    }

    /// Whether a frame in flight lies in a pool.
    public func isUsing(pool id: UInt32) -> Bool {
        inFlight.values.contains { $0.source == id || $0.target == id }
    }

    /// Takes a frame, after checking everything a client could get wrong about it.
    ///
    /// - Returns: the memory of its pools.
    /// - Throws: `Parameter`; the session cannot go on, because the client's idea of it has parted from ours.
    @discardableResult
    public mutating func admit<Memory>(
        _ frame: TransferFrame, in pools: PoolLedger<Memory>
    ) throws(SessionError) -> (source: Memory, target: Memory) {
        guard inFlight.count < Self.maxFramesInFlight else {
            throw SessionError(.parameter, "more than \(Self.maxFramesInFlight) frames in flight")
        }
        guard inFlight[frame.frameID] == nil else {
            throw SessionError(.parameter, "frame \(frame.frameID) is in flight already")
        }
        let (from, read) = try Self.locate(frame.frameID, frame.source, source, in: pools)
        let (to, written) = try Self.locate(frame.frameID, frame.target, target, in: pools)
        guard to.isWritable else {
            throw SessionError(
                .parameter,
                "frame \(frame.frameID) is to be written to pool \(frame.target.poolID), which is sealed against it"
            )
        }
        guard frame.source.poolID != frame.target.poolID || !read.overlaps(written) else {
            throw SessionError(.parameter, "frame \(frame.frameID) would overwrite itself")
        }
        inFlight[frame.frameID] = (frame.source.poolID, frame.target.poolID)
        return (from.memory, to.memory)
    }

    /// The frame is answered.
    public mutating func release(_ frameID: UInt64) { inFlight[frameID] = nil }

    /// Checks one side of a frame and returns its pool and the bytes of it that it covers.
    private static func locate<Memory>(
        _ frameID: UInt64, _ place: TransferFrame.Place, _ side: TransferSide, in pools: PoolLedger<Memory>
    ) throws(SessionError) -> (PoolLedger<Memory>.Pool, Range<UInt64>) {
        guard let pool = pools[place.poolID] else {
            throw SessionError(.parameter, "frame \(frameID) names pool \(place.poolID), which does not exist")
        }
        try place.layout.validate(side.format, width: side.width, height: side.height, poolSize: pool.size)
        return (pool, side.bytes(of: place.layout))
    }
}
