// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
public import HWDSessions

/// Owner of a plane of bytes, rows aligned to 64.
public final class SamplePlane {
    /// The first sample.
    public let base: UnsafeMutablePointer<UInt8>
    /// Bytes from a row to the next.
    public let stride: Int
    /// Samples a row.
    public let width: Int
    /// Rows.
    public let height: Int

    /// A plane of whatever was in memory.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
        let alignment = FrameLayout.rowAlignment
        stride = (width + alignment - 1) / alignment * alignment
        let memory = UnsafeMutableRawPointer.allocate(byteCount: stride * height, alignment: alignment)
        // Encoders may read a whole row's alignment, and what they read is then always the same.
        base = memory.initializeMemory(as: UInt8.self, repeating: 0, count: stride * height)
    }

    deinit { base.deallocate() }

    /// The plane for an encoder to read.
    public var input: InputPicture.Plane { InputPicture.Plane(base: UnsafeRawPointer(base), stride: stride) }

    /// Sets every sample.
    public func fill(_ value: UInt8) { base.update(repeating: value, count: stride * height) }

    /// Copies the samples of a plane that is as large.
    public func copy(_ source: InputPicture.Plane) {
        for row in 0..<height {
            UnsafeMutableRawPointer(base + row * stride).copyMemory(
                from: source.base + row * source.stride, byteCount: width)
        }
    }
}

/// Takes frames with alpha apart.
public protocol AlphaSplitter: AnyObject {
    /// Writes a frame's alpha, 0…255, and gives its colour planes as the base layer's encoder takes them.
    ///
    /// The planes lie in the frame's memory or in the splitter's own, until the next call.
    /// - Throws: what a conversion could not do.
    func split(_ picture: InputPicture, alpha: SamplePlane) throws(SessionError) -> [InputPicture.Plane]
}
