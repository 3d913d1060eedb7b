// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
internal import Glibc
internal import HWDColor
internal import HWDModel

extension hwd_effect {
    /// An effect in the form that the loops of `CPixels` take.
    ///
    /// - Parameters:
    ///   - hold: keeps the numbers of a table or curve, and returns where they are; a number follows the last one.
    ///   - lightOfPQ: segments of PQ's light by its codes for a factor on light before PQ.
    init(
        _ step: EffectStep, lightOfPQ: (Double) -> hwd_curve = { _ in hwd_curve() },
        hold: ([Float]) -> UnsafePointer<Float>?
    ) {
        self.init()
        switch step {
        case .affine(let map): (kind, numbers) = (HWD_MATRIX, hwd_plan.rows(map))
        case .coded(let matrix):
            (kind, numbers) = (HWD_CODED, hwd_plan.rows(Affine(matrix)))
            coding = .srgb
        case .cdl(let decision):
            kind = HWD_CDL
            flag = decision.clamps
            coding = hwd_coding(decision.coding, lightOfPQ)
            powers = (hwd_power(decision.power.x), hwd_power(decision.power.y), hwd_power(decision.power.z))
            numbers = Self.numbers([decision.slope, decision.offset, decision.power], decision.saturation)
        case .vignette(let vignette):
            kind = HWD_VIGNETTE
            numbers = Self.numbers([
                [vignette.intensity, vignette.center.x, vignette.center.y], [vignette.scale, 0, 0],
            ])
        case .curve(let curve):
            kind = HWD_CURVE
            size = Int32(curve.pieces.count)
            table = hold(Self.rows(curve.pieces))
        case .key(let key):
            kind = HWD_KEY
            powers.0 = hwd_power(1 / 2.4)
            flag = key.blend <= ChromaKey.leastBlend
            numbers = Self.numbers([
                [key.chroma.cb, key.chroma.cr, key.similarity], [flag ? 0 : 1 / key.blend, 0, 0],
            ])
        case .despill(let channel, let amount):
            (kind, size, numbers) = (HWD_DESPILL, Int32(channel), Self.numbers([[amount, 0, 0]]))
        case .lut(let lookup):
            let own = lookup.table
            kind = own.isCube ? HWD_CUBE_LUT : HWD_LINE_LUT
            (flag, size, coding) = (lookup.scalesHeadroom, Int32(own.size), hwd_coding(lookup.coding, lightOfPQ))
            numbers = Self.numbers([own.low, Double(own.size - 1) / (own.high - own.low)])
            table = hold(own.values)
        case .background(let light): (kind, numbers) = (HWD_BACKGROUND, Self.numbers([light]))
        }
    }

    private typealias Numbers = (
        Float, Float, Float, Float, Float, Float, Float, Float, Float, Float, Float, Float
    )

    /// The pieces' numbers by rows, as `HWD_CURVE` has them.
    private static func rows(_ pieces: [ToneCurve.Piece]) -> [Float] {
        let step = max(16, pieces.count)
        var rows = [Float](repeating: 0, count: 5 * step)
        for (index, piece) in pieces.enumerated() {
            let (factors, scale) = (piece.factors, piece.scale)
            let column = [
                piece.start, factors.0, factors.1 * scale, factors.2 * scale * scale,
                factors.3 * scale * scale * scale,
            ]
            for (row, number) in column.enumerated() { rows[row * step + index] = Float(number) }
        }
        return rows
    }

    /// Up to three triples, and a tenth number.
    private static func numbers(_ triples: [Triple], _ last: Double = 0) -> Numbers {
        let all = triples + [Triple](repeating: .zero, count: 3 - triples.count)
        let (a, b, c) = (SIMD3<Float>(all[0]), SIMD3<Float>(all[1]), SIMD3<Float>(all[2]))
        return (a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z, Float(last), 0, 0)
    }
}

extension hwd_coding {
    /// sRGB's curve.
    fileprivate static var srgb: hwd_coding {
        var coding = hwd_coding()
        coding.space = HWD_SRGB
        (coding.encode, coding.decode) = (hwd_power(1 / 2.4), hwd_power(2.4))
        return coding
    }

    fileprivate init(_ coding: Coding, _ lightOfPQ: (Double) -> hwd_curve) {
        self.init()
        switch coding.space {
        case .linear: space = HWD_LINEAR
        case .srgb: self = .srgb
        case .gamma24:
            self = .srgb
            space = HWD_GAMMA24
        case .pq:
            (space, white) = (HWD_PQ, Float(coding.scale))
            encode = hwd_power(2610.0 / 16384)
            to_light = lightOfPQ(coding.scale)
        case .hlg:
            let display = coding.display
            let luminance = SIMD3<Float>(display.luminance)
            space = HWD_HLG
            weights = (luminance.x, luminance.y, luminance.z)
            (peak, gamma) = (Float(display.peak), Float(display.gamma))
            (encode, decode) = (hwd_power((1 - display.gamma) / display.gamma), hwd_power(display.gamma - 1))
        case .acescct: space = HWD_ACESCCT
        }
    }
}

extension hwd_power {
    /// The numbers of x^`exponent`.
    init(_ exponent: Double) {
        self.init()
        // The polynomial's error is below 2e-6 of the value up to this exponent.
        while abs(exponent) / Double(1 << squares) > 2.5, squares < 8 { squares += 1 }
        let root = exponent / Double(1 << squares)
        self.exponent = Float(exponent)
        func factor(_ biased: Int) -> Double { exp2(root * Double(biased - 127)) }
        Self.set(&low, (0..<16).map { factor(127 + $0) })
        Self.set(&high, (0..<16).map { factor(16 * $0) })
        // Biased exponents 88 … 151 are 2^-39 … 2^24.
        Self.set(&wrapped, [16, 17, 18, 11, 12, 13, 14, 15].map { factor(8 * $0) })
        Self.set(
            &factors,
            CurveFit.polynomial(degree: 5, from: -0.5, to: 0.5) { pow($0 + 1.5, root) })
    }

    /// Sets an array of floats, which Swift has as a tuple.
    private static func set<Tuple>(_ tuple: inout Tuple, _ values: [Double]) {
        withUnsafeMutableBytes(of: &tuple) { bytes in
            precondition(bytes.count == 4 * values.count)
            for (index, value) in values.enumerated() {
                bytes.storeBytes(of: Float(value), toByteOffset: 4 * index, as: Float.self)
            }
        }
    }
}
