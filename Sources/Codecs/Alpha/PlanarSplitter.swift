// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDCoding
public import HWDModel

/// Splits `YUVA` frames: color planes are read in place, or converted from one alpha mode to the other.
///
/// The conversion works on 4:2:0 samples, each chroma sample with the mean of the alphas that it covers. It is less
/// accurate than a conversion before chroma is subsampled.
public final class PlanarSplitter: AlphaSplitter {
    /// The memory and tables of a conversion.
    private struct Conversion {
        let scaling: AlphaScaling
        let planes: [SamplePlane]

        init(width: Int, height: Int, to mode: AlphaChannelMode) {
            scaling = AlphaScaling(to: mode)
            let chroma = ((width + 1) / 2, (height + 1) / 2)
            planes = [
                SamplePlane(width: width, height: height), SamplePlane(width: chroma.0, height: chroma.1),
                SamplePlane(width: chroma.0, height: chroma.1),
            ]
        }
    }

    private let size: (width: Int, height: Int)
    private let source: AlphaChannelMode
    private let target: AlphaChannelMode
    /// Nil until a frame's mode differs from the stream's.
    private var conversion: Conversion?

    /// A splitter of `width`×`height` frames for a stream in alpha mode `target`; `source` is the mode of frames that
    /// have none of their own.
    public init(width: Int, height: Int, source: AlphaChannelMode, target: AlphaChannelMode) {
        size = (width, height)
        self.source = source
        self.target = target
        conversion = source == target ? nil : Conversion(width: width, height: height, to: target)
    }

    /// Writes a frame's alpha to `alpha` and returns its color planes.
    public func split(_ picture: InputPicture, alpha: SamplePlane) throws(SessionError) -> [PlaneView] {
        alpha.copy(picture.planes[3])
        guard picture.alphaMode ?? source != target else { return Array(picture.planes[..<3]) }
        let used = conversion ?? Conversion(width: size.width, height: size.height, to: target)
        conversion = used
        let (scaling, planes) = (used.scaling, used.planes)
        scaling.luma(picture.planes[0], alpha: alpha, into: planes[0])
        for index in 1...2 { scaling.chroma(picture.planes[index], alpha: alpha, into: planes[index]) }
        return planes.map(\.input)
    }
}

/// Multiplies video-range Y'CbCr by alpha, or divides by it, rounding to the nearest value.
struct AlphaScaling {
    /// The result for each alpha and Y', in 256 rows of 256.
    private let luma: [UInt8]
    /// The result for each alpha and Cb or Cr.
    private let chroma: [UInt8]

    /// A conversion to `mode` from the other mode.
    init(to mode: AlphaChannelMode) {
        func table(center: Int, range: ClosedRange<Int>) -> [UInt8] {
            var table = [UInt8](repeating: 0, count: 65536)
            for alpha in 0..<256 {
                for value in 0..<256 {
                    table[alpha << 8 | value] = UInt8(
                        clamping: mode.converted(value, alpha: alpha, opaque: 255, zero: center, nominal: range))
                }
            }
            return table
        }
        luma = table(center: 16, range: 16...235)
        chroma = table(center: 128, range: 16...240)
    }

    func luma(_ source: PlaneView, alpha: SamplePlane, into target: SamplePlane) {
        luma.withUnsafeBufferPointer { table in
            for row in 0..<target.height {
                let values = (source.base + row * source.stride).assumingMemoryBound(to: UInt8.self)
                let (alphas, results) = (alpha.base + row * alpha.stride, target.base + row * target.stride)
                for x in 0..<target.width { results[x] = table[Int(alphas[x]) << 8 | Int(values[x])] }
            }
        }
    }

    func chroma(_ source: PlaneView, alpha: SamplePlane, into target: SamplePlane) {
        chroma.withUnsafeBufferPointer { table in
            for row in 0..<target.height {
                let values = (source.base + row * source.stride).assumingMemoryBound(to: UInt8.self)
                let results = target.base + row * target.stride
                let first = alpha.base + 2 * row * alpha.stride
                // An odd size repeats its last row and column.
                let second = 2 * row + 1 < alpha.height ? first + alpha.stride : first
                for x in 0..<target.width {
                    let (left, right) = (2 * x, min(2 * x + 1, alpha.width - 1))
                    let sum = Int(first[left]) + Int(first[right]) + Int(second[left]) + Int(second[right])
                    results[x] = table[((sum + 2) / 4) << 8 | Int(values[x])]
                }
            }
        }
    }
}
