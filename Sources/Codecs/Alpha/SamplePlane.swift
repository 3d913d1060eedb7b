// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDCoding
public import HWDModel

/// Owner of a plane of bytes whose rows are aligned to 64 bytes.
public final class SamplePlane {
    /// The first sample.
    public let base: UnsafeMutablePointer<UInt8>
    /// Bytes from a row to the next.
    public let stride: Int
    /// Samples a row.
    public let width: Int
    /// Rows.
    public let height: Int

    /// A plane of zeros.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
        let alignment = FrameLayout.rowAlignment
        stride = (width + alignment - 1) / alignment * alignment
        let memory = UnsafeMutableRawPointer.allocate(byteCount: stride * height, alignment: alignment)
        // Encoders may read the padding of rows; initialized padding keeps their output reproducible.
        base = memory.initializeMemory(as: UInt8.self, repeating: 0, count: stride * height)
    }

    deinit { base.deallocate() }

    /// The plane as an encoder's input.
    public var input: PlaneView { PlaneView(base: UnsafeRawPointer(base), stride: stride) }

    /// Sets every sample, and the padding.
    public func fill(_ value: UInt8) { base.update(repeating: value, count: stride * height) }

    /// The value of all samples; nil where they differ.
    var flatValue: UInt8? {
        for row in 0..<height {
            let samples = base + row * stride
            // A comparison with the samples one further uses vectors, and ends at the first difference.
            guard samples[0] == base[0], memcmp(samples, samples + 1, width - 1) == 0 else { return nil }
        }
        return base[0]
    }

    /// Copies the samples of a plane of the same size.
    public func copy(_ source: PlaneView) {
        MutablePlaneView(base: base, stride: stride).copyRows(of: source, rowBytes: width, rows: height)
    }
}

/// Separates the alpha of frames from their color.
public protocol AlphaSplitter: AnyObject {
    /// Writes a frame's alpha, 0…255, to `alpha` and returns its color planes in the base layer encoder's format.
    ///
    /// The returned planes are in the frame's memory, or in the splitter's until the next call.
    /// - Throws: errors of a conversion.
    func split(_ picture: InputPicture, alpha: SamplePlane) throws(SessionError) -> [PlaneView]
}
