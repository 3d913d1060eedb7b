// SPDX-License-Identifier: MIT

/// A plane to read; its owner keeps the memory alive for the length of a call.
@safe public struct PlaneView {
    /// The first sample.
    public let base: UnsafeRawPointer
    /// Bytes from a row to the next.
    public let stride: Int

    /// A plane at `base`; all of its rows must be in that memory (`FrameLayout.validate`).
    @unsafe public init(base: UnsafeRawPointer, stride: Int) {
        unsafe self.base = base
        self.stride = stride
    }
}

/// A plane to write; its owner keeps the memory alive, and unused by others, for the length of a call.
@safe public struct MutablePlaneView {
    /// The first sample.
    public let base: UnsafeMutableRawPointer
    /// Bytes from a row to the next.
    public let stride: Int

    /// A plane at `base`; all of its rows must be in that memory (`FrameLayout.validate`).
    @unsafe public init(base: UnsafeMutableRawPointer, stride: Int) {
        unsafe self.base = base
        self.stride = stride
    }

    /// Copies `rows` rows of `rowBytes` bytes; the two planes must not overlap.
    public func copyRows(of source: PlaneView, rowBytes: Int, rows: Int) {
        for row in 0..<rows {
            unsafe (base + row * stride).copyMemory(from: source.base + row * source.stride, byteCount: rowBytes)
        }
    }
}

extension FrameLayout {
    /// The planes of a picture in a pool that begins at `pool` and that this layout was validated against.
    @unsafe public func planes(at pool: UnsafeRawPointer) -> [PlaneView] {
        planes.map { unsafe PlaneView(base: pool + Int($0.offset), stride: Int($0.stride)) }
    }

    /// The planes to write in a pool that begins at `pool` and that this layout was validated against.
    @unsafe public func mutablePlanes(at pool: UnsafeMutableRawPointer) -> [MutablePlaneView] {
        planes.map { unsafe MutablePlaneView(base: pool + Int($0.offset), stride: Int($0.stride)) }
    }

    /// The same planes, `offset` bytes further into the pool.
    public func moved(by offset: UInt64) -> FrameLayout {
        FrameLayout(planes: planes.map { Plane(offset: $0.offset + offset, stride: $0.stride) })
    }
}
