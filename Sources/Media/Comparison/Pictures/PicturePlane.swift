// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
public import HWDLibAVReading
internal import HWDModel

/// The samples of one component of a picture, in memory that its owner keeps.
public struct PicturePlane {
    /// Samples a row.
    public let width: Int
    /// Rows.
    public let height: Int
    /// Bits of a sample.
    public let bitDepth: Int
    private let samples: hwd_samples

    /// Samples of 16 bits each, `stride` samples from a row to the next; the memory holds `stride * height` of them.
    public init(words: UnsafePointer<UInt16>, stride: Int, width: Int, height: Int, bitDepth: Int) {
        (self.width, self.height, self.bitDepth) = (width, height, bitDepth)
        let bytes = UnsafeRawPointer(words).assumingMemoryBound(to: UInt8.self)
        samples = hwd_samples(base: bytes, stride: 2 * stride, step: 2, words: true, shift: 0, scale: 0)
    }

    /// Y' (0), Cb (1), Cr (2) or alpha (3) of the view's rectangle; nil for a component that the format does not have, and
    /// for RGB.
    public init?(_ component: Int, of view: PictureView) {
        let format = view.format
        let isChroma = component == 1 || component == 2
        guard format.isYCbCr, component >= 0, component < (format.hasAlpha ? 4 : 3),
            let plane = view.plane(format.isSemiPlanar ? min(component, 1) : component)
        else { return nil }
        width = isChroma ? (Int(view.part.width) + 1) / 2 : Int(view.part.width)
        height = isChroma ? (Int(view.part.height) + 1) / 2 : Int(view.part.height)
        bitDepth = format.bitDepth
        let bytes = format.bytesPerSample
        let isInterleaved = format.isSemiPlanar && isChroma
        samples = hwd_samples(
            base: plane.base.assumingMemoryBound(to: UInt8.self) + (isInterleaved && component == 2 ? bytes : 0),
            stride: plane.stride, step: Int32(isInterleaved ? 2 * bytes : bytes), words: bytes == 2,
            shift: format == .p010 ? 6 : 0, scale: 0)
    }

    /// The sum of squared differences and the mean similarity, of the part that both planes have, at the higher bit depth.
    ///
    /// nil when memory runs out.
    func difference(from other: PicturePlane) -> (squared: Double, similarity: Double)? {
        let depth = max(bitDepth, other.bitDepth)
        var (first, second) = (samples, other.samples)
        (first.scale, second.scale) = (Int32(depth - bitDepth), Int32(depth - other.bitDepth))
        var found = hwd_difference()
        guard
            hwd_compare(
                &first, &second, Int32(min(width, other.width)), Int32(min(height, other.height)),
                Double((1 << depth) - 1), &found)
        else { return nil }
        return (Double(found.squared), found.similarity)
    }

    /// The mean values of a grid of cells, in units of an 8-bit sample; the grid is not finer than the samples.
    func cellMeans(columns: Int, rows: Int) -> [Float] {
        var samples = samples
        let unit = Float(1 << max(0, bitDepth - 8))
        return [Float](unsafeUninitializedCapacity: columns * rows) { means, count in
            guard let start = means.baseAddress else { return }
            hwd_cell_means(&samples, Int32(width), Int32(height), Int32(columns), Int32(rows), start)
            for index in 0..<columns * rows { means[index] /= unit }
            count = columns * rows
        }
    }
}
