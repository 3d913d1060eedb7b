// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.exp2

/// How a conversion goes, apart from what its two sides are.
public struct ConversionOptions: Hashable, Sendable {
    /// What happens to values outside R'G'B' 0…1.
    public enum OverRange: String, CaseIterable, Hashable, Sendable {
        /// They are clamped, on both ways between R'G'B' and light.
        case clip
        /// They go on: mirrored below 0, by the curve's formula above 1 (PQ stops at 1).
        case extend
    }

    /// How chroma becomes smaller.
    public enum ChromaDownsampling: String, CaseIterable, Hashable, Sendable {
        /// The mean of four, wherever chroma lies.
        case box
        /// A tent centred on where chroma lies: [1 2 1]/4 where it is co-sited, [1 1]/2 between.
        case siting
    }

    /// cd/m² of 1.0 in linear light: 203 is BT.2408's, 100 Apple's `opticalOutputScale`.
    public var referenceWhite: Double
    /// Peak of the display that HLG is meant for, cd/m²; its gamma follows from it.
    public var hlgPeak: Double
    /// What happens outside 0…1.
    public var overRange: OverRange
    /// How chroma becomes smaller.
    public var chromaDownsampling: ChromaDownsampling
    /// Whether 8-bit targets of deeper sources are dithered (an ordered 8x8 pattern) instead of rounded.
    public var dither: Bool
    /// The target's peak in multiples of reference white: HDR sources are brought under it as BT.2390 5.4.1 says.
    ///
    /// nil leaves them as they are.
    public var targetHeadroom: Double?
    /// The source's peak for that, cd/m²: its mastering display's or MaxCLL.
    ///
    /// nil is 1000, or `hlgPeak` for HLG.
    public var masteringPeak: Double?
    /// Changes of the picture itself.
    public var effects: Effects

    /// Options; what is left out is the default.
    public init(
        referenceWhite: Double = 203, hlgPeak: Double = 1000, overRange: OverRange = .clip,
        chromaDownsampling: ChromaDownsampling = .box, dither: Bool = false, targetHeadroom: Double? = nil,
        masteringPeak: Double? = nil, effects: Effects = Effects()
    ) {
        self.referenceWhite = referenceWhite
        self.hlgPeak = hlgPeak
        self.overRange = overRange
        self.chromaDownsampling = chromaDownsampling
        self.dither = dither
        self.targetHeadroom = targetHeadroom
        self.masteringPeak = masteringPeak
        self.effects = effects
    }
}

/// Changes of the picture itself, done in linear light of the target's primaries, in this order.
public struct Effects: Hashable, Sendable {
    /// Stops: light is multiplied by 2 to this.
    public var exposure: Double
    /// 0 is grey of the same luminance, 1 as it was, above 1 more.
    public var saturation: Double
    /// 0 is as it was, 1 is brown all over.
    public var sepia: Double
    /// Colours that become transparent.
    public var chromaKey: ChromaKey?

    /// Effects; what is left out does nothing.
    public init(exposure: Double = 0, saturation: Double = 1, sepia: Double = 0, chromaKey: ChromaKey? = nil) {
        self.exposure = exposure
        self.saturation = saturation
        self.sepia = sepia
        self.chromaKey = chromaKey
    }

    /// Whether nothing changes.
    public var isNone: Bool { self == Effects() }

    /// Exposure, saturation and sepia in one: all are linear.
    func matrix(luminance: Triple) -> Matrix3 {
        if exposure == 0, saturation == 1, sepia == 0 { return .identity }
        let grey = Matrix3(luminance, luminance, luminance)
        // The usual tone, with rows summing to more than 1: highlights warm first.
        let brown = Matrix3([0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131])
        return .mix(.identity, brown, sepia) * .mix(grey, .identity, saturation)
            * .diagonal(Triple(repeating: exp2(exposure)))
    }
}

/// A colour that becomes transparent, by its distance in Cb and Cr of the source's nonlinear values.
public struct ChromaKey: Hashable, Sendable {
    /// The key's Cb, −0.5…0.5, in the source's matrix (BT.709's for RGB).
    public var cb: Double
    /// The key's Cr, −0.5…0.5.
    public var cr: Double
    /// Distance up to which alpha is 0.
    public var tolerance: Double
    /// Distance beyond `tolerance` over which alpha rises to 1; above 0.
    public var softness: Double

    /// A key and how far it reaches.
    public init(cb: Double, cr: Double, tolerance: Double = 0.1, softness: Double = 0.05) {
        self.cb = cb
        self.cr = cr
        self.tolerance = tolerance
        self.softness = softness
    }

    /// Alpha of a pixel: 0 near the key, 1 far from it.
    func alpha(cb: Double, cr: Double) -> Double {
        let distance = ((cb - self.cb) * (cb - self.cb) + (cr - self.cr) * (cr - self.cr)).squareRoot()
        return min(max((distance - tolerance) / softness, 0), 1)
    }
}
