// SPDX-License-Identifier: MIT

/// The layout of a frame's planes in a pool: byte offsets from the pool's start, and byte strides.
public struct FrameLayout: Hashable, Sendable {
    public struct Plane: Hashable, Sendable {
        /// Bytes from the start of the pool to the plane's first sample.
        public let offset: UInt64
        /// Bytes from the start of one row to the next.
        public let stride: UInt32

        /// Makes an unchecked plane; see `validate`.
        public init(offset: UInt64, stride: UInt32) {
            self.offset = offset
            self.stride = stride
        }
    }

    /// Planes that any pixel format has at most; messages with more are malformed.
    public static let maxPlanes = 4

    /// One for each plane of the pixel format.
    public let planes: [Plane]

    /// Makes an unchecked layout; see `validate`.
    public init(planes: [Plane]) { self.planes = planes }

    /// Row alignment of `packed` in bytes: a cache line, which also suits every SIMD load.
    public static let rowAlignment = 64

    /// A layout of consecutive planes from `base` on, with rows aligned to 64 bytes, and its size in bytes.
    public static func packed(
        _ format: PixelFormat, width: Int, height: Int, base: Int = 0
    ) -> (layout: FrameLayout, size: Int) {
        var planes: [Plane] = []
        var offset = base
        for plane in 0..<format.planeCount {
            let row = format.rowBytes(plane: plane, width: width)
            let stride = (row + rowAlignment - 1) / rowAlignment * rowAlignment
            planes.append(Plane(offset: UInt64(offset), stride: UInt32(stride)))
            offset += stride * format.rows(plane: plane, height: height)
        }
        return (FrameLayout(planes: planes), offset - base)
    }

    /// Checks that every sample of a `format` picture of `width`×`height` is inside a pool of `poolSize` bytes.
    ///
    /// The layout comes from a client: sums are checked for overflow, strides against the row's length, and both
    /// against the sample's alignment. The last row needs only its samples, not its whole stride.
    /// - Throws: `Parameter`, naming the plane and its fault.
    public func validate(
        _ format: PixelFormat, width: Int, height: Int, poolSize: UInt64
    ) throws(SessionError) {
        guard planes.count == format.planeCount else {
            throw SessionError(
                .parameter, "\(format.rawValue) has \(format.planeCount) planes, the frame names \(planes.count)")
        }
        guard width > 0, height > 0, width <= 1 << 16, height <= 1 << 16 else {
            throw SessionError(.parameter, "a frame of \(width)x\(height) is not possible")
        }
        let sample = UInt64(format.bytesPerSample)
        for (index, plane) in planes.enumerated() {
            let row = UInt64(format.rowBytes(plane: index, width: width))
            let rows = UInt64(format.rows(plane: index, height: height))
            guard UInt64(plane.stride) >= row else {
                throw SessionError(
                    .parameter, "plane \(index): a stride of \(plane.stride) cannot hold a row of \(row) bytes")
            }
            guard plane.stride <= UInt32(Int32.max) else {
                throw SessionError(.parameter, "plane \(index): a stride of \(plane.stride) bytes is not possible")
            }
            guard UInt64(plane.stride) % sample == 0, plane.offset % sample == 0 else {
                throw SessionError(.parameter, "plane \(index): offset or stride is not aligned to its samples")
            }
            // rows ≤ 2¹⁶ and stride < 2³²: the product cannot overflow, the sum with the offset can.
            let (end, overflow) = plane.offset.addingReportingOverflow((rows - 1) * UInt64(plane.stride) + row)
            guard !overflow, end <= poolSize else {
                throw SessionError(
                    .parameter, "plane \(index) ends past the pool's \(poolSize) bytes")
            }
        }
    }
}
