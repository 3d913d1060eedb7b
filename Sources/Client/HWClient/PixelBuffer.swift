// SPDX-License-Identifier: MIT
public import HWDModel
package import HWDTransport

/// The samples of one frame, in memory that sessions read and write in place: VideoToolbox's `CVPixelBuffer`.
///
/// Its memory returns to its session when nothing refers to the buffer any more. Buffers are few: a session waits while
/// the app keeps all of them.
public final class PixelBuffer: Sendable {
    /// A plane to read, valid during the call that passes it.
    public struct Plane {
        /// From the first sample to the last.
        public let bytes: UnsafeRawBufferPointer
        /// Bytes from the start of a row to the next.
        public let stride: Int
        /// Bytes of a row's samples.
        public let rowBytes: Int
        /// The number of rows.
        public let rowCount: Int

        package init(bytes: UnsafeRawBufferPointer, stride: Int, rowBytes: Int, rowCount: Int) {
            (self.bytes, self.stride, self.rowBytes, self.rowCount) = (bytes, stride, rowBytes, rowCount)
        }

        /// The samples of a row, 0 ..< `rowCount`.
        public subscript(row: Int) -> UnsafeRawBufferPointer {
            precondition((0..<rowCount).contains(row))
            return UnsafeRawBufferPointer(rebasing: bytes[row * stride..<row * stride + rowBytes])
        }
    }

    /// A plane to write, valid during the call that passes it.
    public struct MutablePlane {
        /// From the first sample to the last.
        public let bytes: UnsafeMutableRawBufferPointer
        /// Bytes from the start of a row to the next.
        public let stride: Int
        /// Bytes of a row's samples.
        public let rowBytes: Int
        /// The number of rows.
        public let rowCount: Int

        /// The samples of a row, 0 ..< `rowCount`.
        public subscript(row: Int) -> UnsafeMutableRawBufferPointer {
            precondition((0..<rowCount).contains(row))
            return UnsafeMutableRawBufferPointer(rebasing: bytes[row * stride..<row * stride + rowBytes])
        }

        /// Sets every byte of the samples.
        public func fill(with byte: UInt8) {
            for row in 0..<rowCount { self[row].initializeMemory(as: UInt8.self, repeating: byte) }
        }
    }

    /// The layout of the samples.
    public let format: PixelFormat
    /// Width in luma samples.
    public let width: Int
    /// Height in luma samples.
    public let height: Int

    package let memory: SharedMemory
    /// The planes' places in `memory`, which were checked.
    package let layout: FrameLayout
    private let release: @Sendable () -> Void

    package init(
        _ format: PixelFormat, width: Int, height: Int, in memory: SharedMemory, _ layout: FrameLayout,
        release: @escaping @Sendable () -> Void
    ) {
        (self.format, self.width, self.height) = (format, width, height)
        (self.memory, self.layout, self.release) = (memory, layout, release)
    }

    deinit { release() }

    /// Whether `withMutablePlanes` may be called: a decoder's pictures can only be read.
    public var isWritable: Bool { memory.mutableBytes != nil }

    /// Calls `body` with the planes of the format, in its order.
    public func withPlanes<Value, Failure: Error>(
        _ body: ([Plane]) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let planes = layout.planes.indices.map { index in
            Plane(
                bytes: UnsafeRawBufferPointer(rebasing: memory.bytes[range(index)]),
                stride: Int(layout.planes[index].stride), rowBytes: format.rowBytes(plane: index, width: width),
                rowCount: format.rows(plane: index, height: height))
        }
        return try body(planes)
    }

    /// Calls `body` with the planes of the format, in its order, for writing.
    ///
    /// One task at a time may write, nothing may read meanwhile, and nothing may write while a session has the buffer.
    /// - Throws: `Parameter` if the buffer is not writable, or the error of `body`.
    public func withMutablePlanes<Value>(_ body: ([MutablePlane]) throws -> Value) throws -> Value {
        guard let bytes = memory.mutableBytes else {
            throw ClientError.parameter("the memory of a decoded picture cannot be written")
        }
        let planes = layout.planes.indices.map { index in
            MutablePlane(
                bytes: UnsafeMutableRawBufferPointer(rebasing: bytes[range(index)]),
                stride: Int(layout.planes[index].stride), rowBytes: format.rowBytes(plane: index, width: width),
                rowCount: format.rows(plane: index, height: height))
        }
        return try body(planes)
    }

    /// A plane's bytes in `memory`; its last row has no padding.
    private func range(_ index: Int) -> Range<Int> {
        let plane = layout.planes[index]
        let rows = format.rows(plane: index, height: height)
        let size = (rows - 1) * Int(plane.stride) + format.rowBytes(plane: index, width: width)
        return Int(plane.offset)..<Int(plane.offset) + size
    }
}
