// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
public import HWDSessions

/// Takes `YUVA` frames apart: colour planes are read in place, or brought from one alpha mode to the other.
///
/// That is done on the 4:2:0 samples that came: each chroma sample with the mean of the alphas it covers. Who has
/// colour at full resolution does better to convert before he makes the chroma smaller.
public final class PlanarSplitter: AlphaSplitter {
    private let scaling: AlphaScaling?
    private let planes: [SamplePlane]

    /// For frames of `width`×`height` whose mode is `source`, for a stream whose mode is `target`.
    public init(width: Int, height: Int, source: AlphaChannelMode, target: AlphaChannelMode) {
        scaling = source == target ? nil : AlphaScaling(to: target)
        let chroma = ((width + 1) / 2, (height + 1) / 2)
        planes =
            scaling == nil
            ? []
            : [
                SamplePlane(width: width, height: height), SamplePlane(width: chroma.0, height: chroma.1),
                SamplePlane(width: chroma.0, height: chroma.1),
            ]
    }

    /// Writes a frame's alpha and gives its colour planes.
    public func split(_ picture: InputPicture, alpha: SamplePlane) throws(SessionError) -> [InputPicture.Plane] {
        alpha.copy(picture.planes[3])
        guard let scaling else { return Array(picture.planes[..<3]) }
        scaling.luma(picture.planes[0], alpha: alpha, into: planes[0])
        for index in 1...2 { scaling.chroma(picture.planes[index], alpha: alpha, into: planes[index]) }
        return planes.map(\.input)
    }
}

/// Multiplies video-range Y'CbCr by alpha, or divides by it, rounding to the nearest value.
struct AlphaScaling {
    /// Y' by alpha and Y': 256 rows of 256.
    private let luma: [UInt8]
    /// Cb or Cr by alpha and its value.
    private let chroma: [UInt8]

    /// Towards `mode` from the other.
    ///
    /// Where nothing is left of a colour (alpha 0) straight ones are black. Divided colours keep to the nominal range,
    /// since rounding alone could carry those of low alpha far beyond it.
    init(to mode: AlphaChannelMode) {
        func table(centre: Int, range: ClosedRange<Int>) -> [UInt8] {
            var table = [UInt8](repeating: 0, count: 65536)
            for alpha in 0..<256 {
                for value in 0..<256 {
                    let signed = value - centre
                    let result: Int
                    switch mode {
                    case .premultiplied: result = centre + Self.divide(signed * alpha, by: 255)
                    case .straight where alpha == 0: result = centre
                    case .straight:
                        let divided = centre + Self.divide(signed * 255, by: alpha)
                        result = min(max(divided, range.lowerBound), range.upperBound)
                    }
                    table[alpha << 8 | value] = UInt8(clamping: result)
                }
            }
            return table
        }
        luma = table(centre: 16, range: 16...235)
        chroma = table(centre: 128, range: 16...240)
    }

    /// The nearest whole number, halves away from 0.
    static func divide(_ number: Int, by divisor: Int) -> Int {
        number >= 0 ? (number + divisor / 2) / divisor : -((divisor / 2 - number) / divisor)
    }

    func luma(_ source: InputPicture.Plane, alpha: SamplePlane, into target: SamplePlane) {
        luma.withUnsafeBufferPointer { table in
            for row in 0..<target.height {
                let values = (source.base + row * source.stride).assumingMemoryBound(to: UInt8.self)
                let (alphas, results) = (alpha.base + row * alpha.stride, target.base + row * target.stride)
                for x in 0..<target.width { results[x] = table[Int(alphas[x]) << 8 | Int(values[x])] }
            }
        }
    }

    func chroma(_ source: InputPicture.Plane, alpha: SamplePlane, into target: SamplePlane) {
        chroma.withUnsafeBufferPointer { table in
            for row in 0..<target.height {
                let values = (source.base + row * source.stride).assumingMemoryBound(to: UInt8.self)
                let results = target.base + row * target.stride
                let first = alpha.base + 2 * row * alpha.stride
                // The last row and column of an odd size stand for their neighbours.
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
