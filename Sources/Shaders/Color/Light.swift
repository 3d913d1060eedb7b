// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.pow

/// HLG's OOTF and its inverse (BT.2100 table 5) as a factor for each pixel, from its luminance.
public struct HLGDisplay: Hashable, Sendable {
    /// The system gamma.
    public let gamma: Double
    /// The display's peak in multiples of reference white.
    public let peak: Double
    /// The weights of R, G and B in luminance.
    public let luminance: Triple

    init(_ options: ConversionOptions, _ primaries: Primaries) {
        gamma = HLG.gamma(peak: options.hlgPeak)
        peak = options.hlgPeak / options.referenceWhite
        luminance = primaries.luminance
    }

    /// Display light over scene light, for the scene's luminance: `peak · Ys^(gamma − 1)`, and 0 where Ys is not above 0.
    public func displayGain(sceneLuminance: Double) -> Double {
        sceneLuminance > 0 ? peak * pow(sceneLuminance, gamma - 1) : 0
    }

    /// Scene light over display light, for the display's luminance with reference white at 1.
    public func sceneGain(displayLuminance: Double) -> Double {
        displayLuminance > 0 ? pow(displayLuminance / peak, (1 - gamma) / gamma) / peak : 0
    }
}

/// BT.2390 5.4.1's tone mapping on the largest component, as one factor for each pixel, which preserves hue.
///
/// Black is 0 on both sides.
public struct ToneMapping: Hashable, Sendable {
    /// cd/m² of 1.0.
    let referenceWhite: Double
    /// PQ value of the source's peak.
    let sourcePeak: Double
    /// The target's peak in the source's PQ range 0…1, below 1.
    let peak: Double
    /// Where the knee begins.
    let knee: Double

    /// Returns nil where no tone mapping is needed: no headroom given, an SDR source, or a source below the target's peak.
    init?(_ transfer: TransferFunction, _ options: ConversionOptions) {
        guard let headroom = options.targetHeadroom, transfer.isHDR || transfer == .linear else { return nil }
        let mastering =
            options.masteringPeak ?? options.mapping?.peak ?? (transfer == .hlg ? options.hlgPeak : 1000)
        referenceWhite = options.referenceWhite
        sourcePeak = TransferFunction.pq.encode(mastering / PQ.peak)
        let black = TransferFunction.pq.encode(0)
        let target = TransferFunction.pq.encode(min(headroom * options.referenceWhite, PQ.peak) / PQ.peak)
        peak = (target - black) / (sourcePeak - black)
        knee = 1.5 * peak - 0.5
        if peak >= 1 { return nil }
    }

    /// The factor on a pixel's light, from its largest component.
    public func gain(largest: Double) -> Double {
        guard largest > 0 else { return 1 }
        let pq = TransferFunction.pq
        let black = pq.encode(0)
        let value = min((pq.encode(largest * referenceWhite / PQ.peak) - black) / (sourcePeak - black), 1)
        guard value >= knee else { return 1 }
        let t = (value - knee) / (1 - knee)
        let (t2, t3) = (t * t, t * t * t)
        let mapped =
            (2 * t3 - 3 * t2 + 1) * knee + (t3 - 2 * t2 + t) * (1 - knee) + (-2 * t3 + 3 * t2) * peak
        let light = pq.decode(mapped * (sourcePeak - black) + black) * PQ.peak / referenceWhite
        return light / largest
    }
}
