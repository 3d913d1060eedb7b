// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport

/// Copies of frames whose memory the app has back and whose packets have not come.
struct FrameCopies {
    /// Where a frame was copied.
    struct Copy {
        let slot: FramePool.Slot
        let layout: FrameLayout
    }

    /// Why a frame is not copied.
    enum Failure: Error {
        /// All slots are in use.
        case full
        /// There is no memory for copies, or the layout is not one of the frame's memory.
        case impossible
        /// They are in dma-bufs.
        case foreign
    }

    /// The number of the pool; apps count theirs from small numbers.
    static let poolID = UInt32.max
    /// The most bytes of frames that one session keeps, whether copied or in the app's memory.
    static let maxBytes = 512 << 20

    /// More than x265 holds with most presets.
    private static let usualCount = 64

    private let format: PixelFormat
    private let width: Int
    private let height: Int
    private let slotCount: Int
    /// Allocated with the first copy; its pages with the copies that use them.
    private(set) var pool: FramePool?

    /// Bytes of a frame.
    let frameSize: Int

    /// Nil where as many frames as the session holds would take more than `maxBytes`.
    init?(_ format: PixelFormat, width: Int, height: Int, count: Int) {
        frameSize = FrameLayout.packed(format, width: width, height: height).size
        guard frameSize > 0, count <= Self.maxBytes / frameSize else { return nil }
        (self.format, self.width, self.height) = (format, width, height)
        // Another process may hold more, software more than hardware; pages are allocated when they are used.
        slotCount = min(max(count, Self.usualCount), Self.maxBytes / frameSize)
    }

    /// Copies a frame.
    ///
    /// - Parameter memory: of its pool.
    mutating func copy(_ layout: FrameLayout, in memory: SharedMemory) throws(Failure) -> Copy {
        guard (try? layout.validate(format, width: width, height: height, poolSize: UInt64(memory.size))) != nil,
            let source = memory.bytes.baseAddress
        else { throw .impossible }
        if pool == nil { pool = try? FramePool(slotSize: frameSize, slotCount: slotCount) }
        guard let pool else { throw .impossible }
        guard let slot = pool.acquire() else { throw .full }
        guard let target = pool.bytes(of: slot).baseAddress else { throw .impossible }
        let packed = FrameLayout.packed(format, width: width, height: height).layout
        for (index, plane) in packed.planes.enumerated() {
            let row = format.rowBytes(plane: index, width: width)
            let rows = format.rows(plane: index, height: height)
            let from = layout.planes[index]
            let (start, end) = (source + Int(from.offset), target + Int(plane.offset))
            if from.stride == plane.stride {
                end.copyMemory(from: start, byteCount: (rows - 1) * Int(plane.stride) + row)
                continue
            }
            for line in 0..<rows {
                (end + line * Int(plane.stride)).copyMemory(from: start + line * Int(from.stride), byteCount: row)
            }
        }
        return Copy(
            slot: slot,
            layout: FrameLayout.packed(format, width: width, height: height, base: slot.offset).layout)
    }

    func free(_ copy: Copy) { pool?.release(copy.slot) }
}
