// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
package import HWDModel
internal import Synchronization

/// Provides libavcodec with picture buffers that are slots of the caller's memory (`AVCodecContext.get_buffer2`).
///
/// libavcodec calls from all of its frame threads. A slot is freed with its last reference: libavcodec's own, held while
/// other pictures are predicted from it, and that of a `SourceFrame`.
package final class DirectBuffers: Sendable {
    private let memory: any FrameMemory
    private let lent = Mutex<[UInt: FrameSlot]>([:])
    private let spare = Mutex<SparePool?>(nil)

    /// Buffers of this memory.
    package init(memory: any FrameMemory) { self.memory = memory }

    /// The layout of a picture in one buffer.
    package struct Geometry: Equatable {
        /// Bytes from a row to the next, plane by plane.
        package var strides: [Int32] = []
        /// Bytes from the buffer's start to each plane.
        package var offsets: [Int] = []
        /// The buffer's size.
        package var byteCount = 0
    }

    /// The layout that libavcodec needs for a picture of `width`×`height` coded samples; nil for an impossible size.
    package static func geometry(
        _ context: UnsafeMutablePointer<AVCodecContext>, _ format: AVPixelFormat, width: Int32, height: Int32
    ) -> Geometry? {
        var (width, height) = (width, height)
        let alignment = withUnsafeTemporaryAllocation(of: Int32.self, capacity: Int(AV_NUM_DATA_POINTERS)) {
            $0.initialize(repeating: 1)
            avcodec_align_dimensions2(context, &width, &height, $0.baseAddress)
            return max($0.max() ?? 1, Int32(FrameLayout.rowAlignment))
        }
        // Decoders may rely on chroma strides of exactly half the luma stride, so the width grows, not each stride.
        var strides: [Int32] = [0, 0, 0, 0]
        var isAligned = false
        while !isAligned {
            guard width > 0, width < 1 << 20, av_image_fill_linesizes(&strides, format, width) >= 0 else {
                return nil
            }
            width += width & -width
            isAligned = strides.allSatisfy { $0 % alignment == 0 }
        }
        var sizes = [0, 0, 0, 0]
        let wide = strides.map { Int($0) }
        guard av_image_fill_plane_sizes(&sizes, format, height, wide) >= 0 else { return nil }
        var result = Geometry()
        for plane in 0..<4 where sizes[plane] > 0 {
            result.strides.append(strides[plane])
            result.offsets.append(result.byteCount)
            // SIMD code reads, and some writes, up to a vector past a plane's end.
            let padded = sizes[plane] + 2 * FrameLayout.rowAlignment
            result.byteCount += (padded + FrameLayout.rowAlignment - 1) & ~(FrameLayout.rowAlignment - 1)
        }
        return result.byteCount <= Int(Int32.max) ? result : nil
    }

    /// Provides `frame` with a slot, or with other memory where no slot is free.
    ///
    /// The layout is the same in both cases, because some decoders need constant strides.
    package func provide(
        _ context: UnsafeMutablePointer<AVCodecContext>, _ frame: UnsafeMutablePointer<AVFrame>, flags: Int32
    ) -> Int32 {
        let format = AVPixelFormat(rawValue: frame.pointee.format)
        guard SampleFormats.native(format) != nil,
            let codec = context.pointee.codec, codec.pointee.capabilities & AV_CODEC_CAP_DR1 != 0,
            let geometry = Self.geometry(
                context, format, width: frame.pointee.width, height: frame.pointee.height)
        else { return avcodec_default_get_buffer2(context, frame, flags) }
        guard let buffer = slotBuffer(geometry.byteCount) ?? spareBuffer(geometry.byteCount) else {
            return clibav_error(ENOMEM)
        }
        frame.pointee.buf.0 = buffer
        let planes = zip(geometry.offsets, geometry.strides).map { (buffer.pointee.data + $0, $1) }
        frame.pointee.data.0 = planes[0].0
        frame.pointee.linesize.0 = planes[0].1
        frame.pointee.data.1 = planes[1].0
        frame.pointee.linesize.1 = planes[1].1
        if planes.count > 2 {
            frame.pointee.data.2 = planes[2].0
            frame.pointee.linesize.2 = planes[2].1
        }
        return 0
    }

    /// The slot that `frame` was decoded into, with the layout of its display window; nil if it is not in a slot.
    package func place(
        of frame: UnsafePointer<AVFrame>, _ format: PixelFormat
    ) -> (slot: FrameSlot, layout: FrameLayout)? {
        guard let slot = slot(of: frame) else { return nil }
        let views = PlaneView.planes(of: frame)
        guard views.count >= format.planeCount else { return nil }
        var planes: [FrameLayout.Plane] = []
        for view in views.prefix(format.planeCount) {
            let offset = view.base - UnsafeRawPointer(slot.base)
            guard view.stride > 0, offset >= 0, offset < slot.byteCount else { return nil }
            planes.append(.init(offset: slot.poolOffset + UInt64(offset), stride: UInt32(view.stride)))
        }
        let layout = FrameLayout(planes: planes)
        let end = slot.poolOffset + UInt64(slot.byteCount)
        do throws(SessionError) {
            try layout.validate(
                format, width: Int(frame.pointee.width), height: Int(frame.pointee.height), poolSize: end)
        } catch { return nil }
        return (slot, layout)
    }

    /// The slot that `frame` was decoded into, if it was.
    private func slot(of frame: UnsafePointer<AVFrame>) -> FrameSlot? {
        guard let buffer = frame.pointee.buf.0 else { return nil }
        return lent.withLock { $0[UInt(bitPattern: buffer.pointee.data)] }
    }

    private func slotBuffer(_ byteCount: Int) -> UnsafeMutablePointer<AVBufferRef>? {
        guard let slot = memory.allocate(byteCount: byteCount) else { return nil }
        let address = UInt(bitPattern: slot.base)
        guard slot.byteCount >= byteCount, address % UInt(FrameLayout.rowAlignment) == 0 else {
            memory.free(slot.id)
            return nil
        }
        let loan = Unmanaged.passRetained(Loan(owner: self, slot: slot))
        lent.withLock { $0[address] = slot }
        let release: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?) -> Void = {
            opaque, _ in
            guard let opaque else { return }
            Unmanaged<Loan>.fromOpaque(opaque).takeRetainedValue().end()
        }
        let data = slot.base.assumingMemoryBound(to: UInt8.self)
        if let buffer = av_buffer_create(data, byteCount, release, loan.toOpaque(), 0) { return buffer }
        loan.takeRetainedValue().end()
        return nil
    }

    private func spareBuffer(_ byteCount: Int) -> UnsafeMutablePointer<AVBufferRef>? {
        spare.withLock { pool in
            if pool?.byteCount != byteCount { pool = SparePool(byteCount: byteCount) }
            return pool?.get()
        }
    }

    private func end(_ slot: FrameSlot) {
        _ = lent.withLock { $0.removeValue(forKey: UInt(bitPattern: slot.base)) }
        memory.free(slot.id)
    }

    /// A slot lent to libavcodec.
    private final class Loan {
        let owner: DirectBuffers
        let slot: FrameSlot

        init(owner: DirectBuffers, slot: FrameSlot) {
            self.owner = owner
            self.slot = slot
        }

        func end() { owner.end(slot) }
    }

    /// Owner of an AVBufferPool for pictures that no slot was free for.
    private struct SparePool: ~Copyable, @unchecked Sendable {
        let byteCount: Int
        private let pool: OpaquePointer

        init?(byteCount: Int) {
            // libavutil's allocator aligns to the CPU's vectors; `geometry` adds what wider alignments need.
            guard let pool = av_buffer_pool_init(byteCount, av_buffer_allocz) else { return nil }
            self.byteCount = byteCount
            self.pool = pool
        }

        deinit {
            var pool: OpaquePointer? = pool
            av_buffer_pool_uninit(&pool)
        }

        func get() -> UnsafeMutablePointer<AVBufferRef>? { av_buffer_pool_get(pool) }
    }
}
