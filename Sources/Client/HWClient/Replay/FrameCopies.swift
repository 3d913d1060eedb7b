// SPDX-License-Identifier: MIT
internal import CHWDCopies
internal import HWDModel
internal import HWDTransport

/// Copies of frames whose memory the app has back and whose packets have not come.
///
/// A copy is in memory of this process alone until another process is sent it: that memory has huge pages, while a page of
/// shared memory takes several times as long to allocate as to fill. From the first failure on, frames are copied into shared
/// memory, and those that another process is sent are moved there.
final class FrameCopies {
    /// Where a frame was copied.
    struct Copy {
        let slot: FramePool.Slot
        /// In the pool.
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
    /// A frame's bytes from which a session's copies fill several huge pages.
    private static let minSizeForHugePages = 256 << 10

    private let format: PixelFormat
    private let width: Int
    private let height: Int
    private let slotCount: Int
    /// Allocated with the first copy; its pages with the copies that another process is sent.
    private(set) var pool: FramePool?
    /// As large as the pool, for the copies in `unshared`; nil where copies are made in the pool.
    private var own: PrivateMemory?
    /// The slots whose copies are in `own`.
    private var unshared: Set<Int> = []
    private var isSharing = false

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

    /// Allocates memory for the copies, but not its pages.
    private func allocate() throws(Failure) -> FramePool {
        if let pool { return pool }
        guard let made = try? FramePool(slotSize: frameSize, slotCount: slotCount) else { throw .impossible }
        pool = made
        if !isSharing {
            own = PrivateMemory(
                size: made.memory.size, usesHugePages: frameSize >= Self.minSizeForHugePages)
        }
        return made
    }

    /// Copies a frame.
    ///
    /// - Parameter memory: of its pool.
    func copy(_ layout: FrameLayout, in memory: SharedMemory) throws(Failure) -> Copy {
        guard (try? layout.validate(format, width: width, height: height, poolSize: UInt64(memory.size))) != nil,
            let source = memory.bytes.baseAddress
        else { throw .impossible }
        let pool = try allocate()
        guard let slot = pool.acquire() else { throw .full }
        let target: UnsafeMutableRawPointer
        if let own, !isSharing {
            target = own.base + slot.offset
            unshared.insert(slot.index)
        } else {
            guard let shared = pool.bytes(of: slot).baseAddress else { throw .impossible }
            target = shared
        }
        let packed = FrameLayout.packed(format, width: width, height: height).layout
        for (index, plane) in packed.planes.enumerated() {
            let from = layout.planes[index]
            chwd_copy_rows(
                target + Int(plane.offset), Int(plane.stride), source + Int(from.offset), Int(from.stride),
                format.rowBytes(plane: index, width: width), format.rows(plane: index, height: height))
        }
        return Copy(
            slot: slot,
            layout: FrameLayout.packed(format, width: width, height: height, base: slot.offset).layout)
    }

    /// Prepares for another process, which is sent the copies; returns the memory that it has to be given.
    func startSharing() -> SharedMemory? {
        isSharing = true
        return pool?.memory
    }

    /// Puts a copy where another process reads it.
    func share(_ copy: Copy) {
        guard unshared.contains(copy.slot.index), let own, let target = pool?.bytes(of: copy.slot).baseAddress
        else { return }
        chwd_copy_rows(target, frameSize, own.base + copy.slot.offset, frameSize, frameSize, 1)
        own.freePages(at: copy.slot.offset, size: pool?.slotSize ?? 0)
        forget(copy)
    }

    func free(_ copy: Copy) {
        forget(copy)
        pool?.release(copy.slot)
    }

    /// Forgets what a slot has in memory of this process alone.
    private func forget(_ copy: Copy) {
        unshared.remove(copy.slot.index)
        if isSharing, unshared.isEmpty { own = nil }
    }
}
