// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The frames of one side of a pixel-transfer session.
public struct TransferSide: Hashable, Sendable {
    public var format: PixelFormat
    public var width: Int
    public var height: Int

    public init(format: PixelFormat, width: Int, height: Int) {
        self.format = format
        self.width = width
        self.height = height
    }

    /// The bytes of a pool from the first to the last sample of a valid layout.
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
    /// Whether one of two accepted frames writes memory that the other reads or writes, so that their order matters.
    public func touches(
        _ other: TransferFrame, _ sides: (source: TransferSide, target: TransferSide)
    ) -> Bool {
        func overlap(_ a: (Place, TransferSide), _ b: (Place, TransferSide)) -> Bool {
            a.0.poolID == b.0.poolID && a.1.bytes(of: a.0.layout).overlaps(b.1.bytes(of: b.0.layout))
        }
        let (from, to) = ((source, sides.source), (target, sides.target))
        let (otherFrom, otherTo) = ((other.source, sides.source), (other.target, sides.target))
        return overlap(to, otherTo) || overlap(to, otherFrom) || overlap(from, otherTo)
    }
}

/// The rules of a pixel-transfer session: a pure state machine without I/O.
///
/// The worker's I/O thread consults it before it acts.
public struct TransferAdmission: Sendable {
    /// Limit of frames that the client has sent and the session has not answered.
    public static let maxFramesInFlight = 16

    public let source: TransferSide
    public let target: TransferSide

    private var inFlight: [UInt64: (source: UInt32, target: UInt32)] = [:]

    public init(source: TransferSide, target: TransferSide) {
        self.source = source
        self.target = target
    }

    /// Whether a pool holds a frame in flight.
    public func isUsing(pool id: UInt32) -> Bool {
        inFlight.values.contains { $0.source == id || $0.target == id }
    }

    /// Validates a frame and accepts it.
    ///
    /// - Returns: the memory of its pools.
    /// - Throws: `Parameter`, which is fatal, since the client's and the session's state differ.
    @discardableResult
    public mutating func admit<Memory>(
        _ frame: TransferFrame, in pools: PoolLedger<Memory>
    ) throws(SessionError) -> (source: Memory, target: Memory) {
        guard inFlight.count < Self.maxFramesInFlight else {
            throw SessionError(.parameter, "more than \(Self.maxFramesInFlight) frames are in flight")
        }
        guard inFlight[frame.frameID] == nil else {
            throw SessionError(.parameter, "frame \(frame.frameID) is in flight already")
        }
        let (from, read) = try Self.locate(frame.frameID, frame.source, source, in: pools)
        let (to, written) = try Self.locate(frame.frameID, frame.target, target, in: pools)
        guard to.isWritable else {
            throw SessionError(
                .parameter,
                "frame \(frame.frameID) is to be written to pool \(frame.target.poolID), which is sealed against writing"
            )
        }
        guard frame.source.poolID != frame.target.poolID || !read.overlaps(written) else {
            throw SessionError(.parameter, "frame \(frame.frameID) would overwrite itself")
        }
        inFlight[frame.frameID] = (frame.source.poolID, frame.target.poolID)
        return (from.memory, to.memory)
    }

    /// Reports that the frame is answered.
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
