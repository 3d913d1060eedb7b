// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
import func Glibc.exp2

extension ConversionPlan {
    /// The error of light that a fit may have at a value: a tenth of a half float's unit, or a fiftieth of a code.
    private func allowedLight(_ value: Double) -> Double {
        let peak = sourceHLG?.peak ?? 1
        guard !conversion.target.isLight else {
            let gain = max(1, peak * exp2(conversion.options.effects.exposure) * effectGain)
            return 0.1 * max(value * 0x1p-11, 0x1p-24 / gain)
        }
        let (shown, step) = (value * peak, max(value * peak / 1024, 0x1p-30))
        let slope = (signal(shown + step) - signal(shown)) / step
        // Components of much light that cancel leave their errors in codes of little light.
        return max(min(0.02 / (targetTop * slope), shown * 0.05 * 0x1p-11), 0x1p-28) / peak
    }

    /// By how much a list of effects may multiply small errors of light, roughly.
    public var effectGain: Double {
        guard !conversion.options.effects.list.isEmpty else { return 1 }
        let primaries = conversion.source.signal.primaries.conversion(to: conversion.target.signal.primaries)
        guard !effects.allSatisfy(\.isVignette) else {
            // Four times a tenth of a unit, beside the half of rounding, is within one.
            return max(1, light.matrix.largestSum / primaries.largestSum / 4)
        }
        return min(effects.reduce(max(1, light.matrix.largestSum)) { $0 * max(1, $1.gain) }, 0x1p20)
    }

    /// E' of the target for grey light.
    private func signal(_ value: Double) -> Double {
        conversion.target.signal.transfer.encode(
            value * (targetHLG?.sceneGain(displayLuminance: value) ?? 1) * inverseScale)
    }

    private var targetTop: Double { Double(1 << conversion.target.format.bitDepth) - 1 }

    /// The first of some forms by which `forward` can be fitted to a tenth of a half float's unit; nil if there is none.
    public func forwardFit(_ forms: [CurveFit.Form]) -> CurveFit? {
        let transfer = conversion.source.signal.transfer
        for form in forms {
            let fit = CurveFit(form, limit: forwardLimit, kink: transfer.kink, allowed: allowedLight) {
                forwardScale * transfer.decode($0)
            }
            if fit.error <= 1 { return fit }
        }
        return nil
    }

    /// The first of some forms by which `inverse` can be fitted to a fiftieth of a code; nil if there is none.
    ///
    /// Segments are those of the square root of light.
    public func inverseFit(_ forms: [CurveFit.Form]) -> CurveFit? {
        let transfer = conversion.target.signal.transfer
        let limit = transfer == .pq ? 1 / inverseScale : clipsTarget ? transfer.decode(1) : 65536
        func encode(_ value: Double) -> Double { transfer.encode(value * inverseScale) }
        for form in forms {
            let fit = CurveFit(
                rootOf: form, limit: limit, kink: transfer.kink.map { transfer.decode($0) },
                allowed: { 0.02 / targetTop * max(1, $0) }, encode)
            // Less light is as much as the lowest, which rounds to the code of no light.
            if fit.error <= 1, encode(fit.lowest) - encode(0) <= 0.04 / targetTop { return fit }
        }
        return nil
    }

    /// The first of some forms by which the gain of HLG's OOTF can be fitted to a tenth of a half float's unit; nil if there is
    /// none, or light is not clipped.
    public func gainFit(_ forms: [CurveFit.Form]) -> CurveFit? {
        guard let sourceHLG, clipsSource, let form = forms.first else { return nil }
        let fit = CurveFit(
            form, first: -31 << form.octaveBits, CurveFit.Argument(), limit: 1,
            allowed: { $0 * 0.1 * 0x1p-11 }, { sourceHLG.displayGain(sceneLuminance: $0) })
        return fit.error <= 1 ? fit : nil
    }

    /// Whether light for half floats stays below 65504, given that E' is at most 1: then they need no clamp.
    public var isLightBounded: Bool {
        let (source, target) = (conversion.source, conversion.target)
        guard target.isLight, forwardLimit == 1, !keepsValues, sourceHLG == nil, toneMapping == nil,
            mapping == nil, effects.allSatisfy(\.isVignette), source.format.isYCbCr
        else { return false }
        let offset = light.offset.replacing(with: -light.offset, where: light.offset .< .zero).max()
        return light.matrix.largestSum * forwardScale * source.signal.transfer.decode(1) + offset < 65000
    }
}

extension TransferFunction {
    /// The E' where two pieces of the curve meet.
    var kink: Double? {
        switch self {
        case .hlg, .hlgApple12: return 0.5
        case .sRGB: return 0.04045
        case .bt709OETF: return 4.5 * BT709.beta
        default: return nil
        }
    }
}
