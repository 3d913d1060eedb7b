// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.floor
public import HWDModel

/// Converts a picture in Double by the formulas themselves, without tables; the reference for every other converter.
public struct ReferenceConverter: Sendable {
    /// The numbers of the conversion.
    public let plan: ConversionPlan

    /// Creates a converter.
    ///
    /// - Throws: the errors of `Conversion.validate`.
    public init(_ conversion: Conversion) throws(SessionError) { plan = try ConversionPlan(conversion) }

    /// A target's codes before rounding: Y' or R, Cb or G, Cr or B, alpha, row by row, chroma at its own size.
    public typealias Values = [[Double]]

    /// Converts and rounds a picture.
    public func convert(_ source: Picture) -> Picture { round(values(source)) }

    /// Converts a picture without rounding.
    public func values(_ source: Picture) -> Values {
        if plan.rescales { return rescaled(source) }
        let (width, height) = (source.width, source.height)
        var pixels: [(codes: Triple, alpha: Double)] = []
        pixels.reserveCapacity(width * height)
        for y in 0..<height {
            for x in 0..<width {
                let (codes, alpha) = components(source, x, y)
                pixels.append(plan.convert(codes, alpha: alpha, at: (x, y)))
            }
        }
        guard plan.conversion.target.format.isYCbCr else {
            return [pixels.map(\.codes.x), pixels.map(\.codes.y), pixels.map(\.codes.z), pixels.map(\.alpha)]
        }
        let taps = Self.taps(plan.conversion)
        var chroma: [[Double]] = [[], []]
        for j in 0..<source.chromaHeight {
            for i in 0..<source.chromaWidth {
                var sum = Triple.zero
                for (dy, weightY) in taps.y {
                    for (dx, weightX) in taps.x {
                        let (x, y) = (min(max(2 * i + dx, 0), width - 1), min(max(2 * j + dy, 0), height - 1))
                        sum += weightX * weightY * pixels[y * width + x].codes
                    }
                }
                chroma[0].append(sum.y)
                chroma[1].append(sum.z)
            }
        }
        let alpha = plan.conversion.target.format.hasAlpha ? [pixels.map(\.alpha)] : []
        return [pixels.map(\.codes.x)] + chroma + alpha
    }

    /// The taps of chroma downsampling for each axis: luma offsets from (2i, 2j) and their weights.
    public static func taps(_ conversion: Conversion) -> (x: [(Int, Double)], y: [(Int, Double)]) {
        func axis(_ offset: Double) -> [(Int, Double)] {
            if conversion.options.chromaDownsampling == .box || offset == 0.5 { return [(0, 0.5), (1, 0.5)] }
            let center = Int(offset)
            return [(center - 1, 0.25), (center, 0.5), (center + 1, 0.25)]
        }
        let offset = conversion.target.signal.siting.offset
        return (axis(offset.x), axis(offset.y))
    }

    /// A pixel's codes with chroma interpolated (bilinear, clamped at the edges), and its alpha 0…1.
    public func components(_ source: Picture, _ x: Int, _ y: Int) -> (codes: Triple, alpha: Double) {
        if source.format == .rgba16f {
            let values = (0..<4).map { Half.value(UInt16(source[$0, x, y])) }
            return ([values[0], values[1], values[2]], min(max(values[3], 0), 1))
        }
        guard source.format.isYCbCr else {
            let values = (0..<4).map { Double(source[$0, x, y]) }
            let alpha = source.format.hasAlpha ? values[3] / Double(source.format.alphaTop) : 1
            return ([values[0], values[1], values[2]], alpha)
        }
        let offset = plan.conversion.source.signal.siting.offset
        let (u, v) = ((Double(x) - offset.x) / 2, (Double(y) - offset.y) / 2)
        let (i, j) = (Int(floor(u)), Int(floor(v)))
        let (a, b) = (u - floor(u), v - floor(v))
        func chroma(_ component: Int) -> Double {
            func at(_ i: Int, _ j: Int) -> Double {
                Double(
                    source[
                        component, min(max(i, 0), source.chromaWidth - 1), min(max(j, 0), source.chromaHeight - 1)])
            }
            return (at(i, j) * (1 - a) + at(i + 1, j) * a) * (1 - b)
                + (at(i, j + 1) * (1 - a) + at(i + 1, j + 1) * a) * b
        }
        let alpha = source.format.hasAlpha ? Double(source[3, x, y]) / 255 : 1
        return ([Double(source[0, x, y]), chroma(1), chroma(2)], alpha)
    }

    private func rescaled(_ source: Picture) -> Values {
        let (factor, offset) = plan.rescaling
        var values: Values = (0..<3).map { component in
            let (width, height) =
                component == 0 ? (source.width, source.height) : (source.chromaWidth, source.chromaHeight)
            return (0..<width * height).map { index in
                Double(source[component, index % width, index / width]) * factor[component] + offset[component]
            }
        }
        if plan.conversion.target.format.hasAlpha {
            values.append(
                (0..<source.width * source.height).map { index in
                    source.format.hasAlpha ? Double(source[3, index % source.width, index / source.width]) / 255 : 1
                })
        }
        return values
    }

    /// Values as the target's codes: floor(x + 0.5), dithered where the plan says so, or half floats.
    public func round(_ values: Values) -> Picture {
        Self.round(values, plan.conversion.target, dithers: plan.dithers)
    }

    /// Values as the codes of a picture.
    static func round(_ values: Values, _ target: ImageDescription, dithers: Bool) -> Picture {
        var picture = Picture(target.format, width: target.width, height: target.height)
        let top = Double(1 << target.format.bitDepth) - 1
        for (component, plane) in values.enumerated() {
            let width =
                target.format.isYCbCr && (component == 1 || component == 2) ? picture.chromaWidth : picture.width
            for (index, value) in plane.enumerated() {
                let (x, y) = (index % width, index / width)
                if target.format == .rgba16f {
                    picture[component, x, y] = Int(Half.bits(value))
                } else if component == 3 {
                    // Unused bits are ones.
                    let top = Double(target.format.alphaTop)
                    let code = target.format.hasAlpha ? min(max(floor(value * top + 0.5), 0), top) : top
                    picture[component, x, y] = Int(code)
                } else {
                    let addend = dithers ? (Double(ConversionPlan.dither(x: x, y: y)) + 0.5) / 64 : 0.5
                    picture[component, x, y] = Int(min(max(floor(value + addend), 0), top))
                }
            }
        }
        return picture
    }
}
