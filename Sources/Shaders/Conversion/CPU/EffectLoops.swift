// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
internal import HWDColor
internal import HWDModel

extension hwd_effect {
    /// An effect in the form that the loops of `CPixels` take.
    ///
    /// - Parameter hold: keeps the numbers of a table or curve, and returns where they are.
    init(_ step: EffectStep, hold: ([Float]) -> UnsafePointer<Float>?) {
        self.init()
        switch step {
        case .affine(let map): (kind, numbers) = (HWD_MATRIX, hwd_plan.rows(map))
        case .coded(let matrix):
            (kind, numbers) = (HWD_CODED, hwd_plan.rows(Affine(matrix)))
            coding.space = HWD_SRGB
        case .cdl(let decision):
            kind = HWD_CDL
            flag = decision.clamps
            coding = hwd_coding(decision.coding)
            numbers = Self.numbers([decision.slope, decision.offset, decision.power], decision.saturation)
        case .vignette(let vignette):
            kind = HWD_VIGNETTE
            numbers = Self.numbers([
                [vignette.intensity, vignette.center.x, vignette.center.y], [vignette.scale, 0, 0],
            ])
        case .curve(let curve):
            kind = HWD_CURVE
            size = Int32(curve.pieces.count)
            table = hold(
                curve.pieces.flatMap { piece in
                    let factors = piece.factors
                    return [piece.start, piece.scale, factors.0, factors.1, factors.2, factors.3].map { Float($0) }
                })
        case .key(let key):
            kind = HWD_KEY
            flag = key.blend <= ChromaKey.leastBlend
            numbers = Self.numbers([
                [key.chroma.cb, key.chroma.cr, key.similarity], [flag ? 0 : 1 / key.blend, 0, 0],
            ])
        case .despill(let channel, let amount):
            (kind, size, numbers) = (HWD_DESPILL, Int32(channel), Self.numbers([[amount, 0, 0]]))
        case .lut(let lookup):
            let own = lookup.table
            kind = own.isCube ? HWD_CUBE_LUT : HWD_LINE_LUT
            (flag, size, coding) = (lookup.scalesHeadroom, Int32(own.size), hwd_coding(lookup.coding))
            numbers = Self.numbers([own.low, Double(own.size - 1) / (own.high - own.low)])
            table = hold(own.values)
        case .background(let light): (kind, numbers) = (HWD_BACKGROUND, Self.numbers([light]))
        }
    }

    private typealias Numbers = (
        Float, Float, Float, Float, Float, Float, Float, Float, Float, Float, Float, Float
    )

    /// Up to three triples, and a tenth number.
    private static func numbers(_ triples: [Triple], _ last: Double = 0) -> Numbers {
        let all = triples + [Triple](repeating: .zero, count: 3 - triples.count)
        let (a, b, c) = (SIMD3<Float>(all[0]), SIMD3<Float>(all[1]), SIMD3<Float>(all[2]))
        return (a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z, Float(last), 0, 0)
    }
}

extension hwd_coding {
    fileprivate init(_ coding: Coding) {
        let space =
            switch coding.space {
            case .linear: HWD_LINEAR
            case .srgb: HWD_SRGB
            case .gamma24: HWD_GAMMA24
            case .pq: HWD_PQ
            case .hlg: HWD_HLG
            case .acescct: HWD_ACESCCT
            }
        let display = coding.display
        let luminance = SIMD3<Float>(display.luminance)
        self.init(
            space: space, white: Float(coding.scale), weights: (luminance.x, luminance.y, luminance.z),
            peak: Float(display.peak), gamma: Float(display.gamma))
    }
}
