// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
import func Glibc.log2
import func Glibc.exp2

/// How light is coded for an effect, and back.
public struct Coding: Sendable {
    public let space: CodingSpace
    /// The factor on light before PQ.
    public let scale: Double
    /// HLG's OOTF.
    public let display: HLGDisplay

    /// Whether tables may have no values below 0.
    var hasNoNegativeCodes: Bool { space == .pq || space == .hlg }

    init(_ space: CodingSpace, _ conversion: Conversion) {
        self.space = space
        scale = conversion.options.referenceWhite / PQ.peak
        display = HLGDisplay(conversion.options, conversion.target.signal.primaries)
    }

    /// Codes of light, mirrored below 0, except ACEScct's, whose straight part continues.
    func encode(_ light: Triple) -> Triple {
        switch space {
        case .linear: return light
        case .srgb: return light.mapped(TransferFunction.sRGB.encode)
        case .gamma24: return light.mapped(TransferFunction.gamma24.encode)
        case .pq: return (light * scale).mapped(TransferFunction.pq.encode)
        case .hlg:
            let gain = display.sceneGain(displayLuminance: (display.luminance * light).sum())
            return (light * gain).mapped(TransferFunction.hlg.encode)
        case .acescct: return light.mapped(ACEScct.encode)
        }
    }

    /// Light of codes; light is 65504 at most, as codes above 1 may stand for very much.
    func decode(_ codes: Triple) -> Triple {
        switch space {
        case .linear: return codes
        case .srgb: return codes.mapped(TransferFunction.sRGB.decode)
        case .gamma24: return codes.mapped(TransferFunction.gamma24.decode)
        case .pq: return codes.mapped(TransferFunction.pq.decode) / scale
        case .hlg:
            let limit = Triple(repeating: HLG.limit)
            let scene = codes.clamped(lowerBound: -limit, upperBound: limit).mapped(TransferFunction.hlg.decode)
            return scene * display.displayGain(sceneLuminance: (display.luminance * scene).sum())
        case .acescct: return codes.mapped(ACEScct.decode)
        }
    }
}

extension HLG {
    /// Codes of more are read as this one, whose light is already 540 times white.
    public static let limit = 2.0
}

/// The curve of ACEScct (S-2016-001).
enum ACEScct {
    static func encode(_ light: Double) -> Double {
        light <= 0.0078125 ? 10.5402377416545 * light + 0.0729055341958355 : (log2(light) + 9.72) / 17.52
    }

    static func decode(_ code: Double) -> Double {
        code <= 0.155251141552511
            ? (code - 0.0729055341958355) / 10.5402377416545 : min(exp2(code * 17.52 - 9.72), Half.limit)
    }
}
