// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.exp2

/// Options of a conversion other than its two picture descriptions.
public struct ConversionOptions: Hashable, Sendable {
    /// The treatment of values outside R'G'B' 0…1.
    public enum OverRange: String, CaseIterable, Hashable, Sendable {
        /// Clamped, both before and after conversion to light.
        case clip
        /// Extended: mirrored below 0, by the curve's formula above 1 (PQ stops at 1).
        case extend
    }

    /// The filter for chroma downsampling.
    public enum ChromaDownsampling: String, CaseIterable, Hashable, Sendable {
        /// The mean of four samples, whatever the siting.
        case box
        /// A tent centred on the chroma position: [1 2 1]/4 where it is co-sited, [1 1]/2 between.
        case siting
    }

    /// cd/m² of 1.0 in linear light: 203 is BT.2408's, 100 Apple's `opticalOutputScale`.
    public var referenceWhite: Double
    /// Nominal peak luminance of the HLG display in cd/m²; determines the system gamma.
    public var hlgPeak: Double
    /// The treatment of values outside 0…1.
    public var overRange: OverRange
    /// The filter for chroma downsampling.
    public var chromaDownsampling: ChromaDownsampling
    /// Whether 8-bit targets of deeper sources are dithered (an ordered 8x8 pattern) instead of rounded.
    public var dither: Bool
    /// The target's peak in multiples of reference white, to which HDR sources are tone-mapped (BT.2390 5.4.1).
    ///
    /// nil: no tone mapping.
    public var targetHeadroom: Double?
    /// The source's peak for tone mapping in cd/m²: the mastering display's or MaxCLL.
    ///
    /// nil: the mapping's, else 1000, or `hlgPeak` for HLG.
    public var masteringPeak: Double?
    /// What replaces the source's range and matrix: a mapping of Y'CbCr codes to PQ.
    ///
    /// nil: none. The source is described as PQ of BT.2020, which is what it is after the mapping.
    public var mapping: SignalMapping?
    /// Picture effects.
    public var effects: Effects
    /// How pictures are scaled where sizes differ.
    public var scaling: ScalingOptions

    /// Creates options; omitted ones have their defaults.
    public init(
        referenceWhite: Double = 203, hlgPeak: Double = 1000, overRange: OverRange = .clip,
        chromaDownsampling: ChromaDownsampling = .box, dither: Bool = false, targetHeadroom: Double? = nil,
        masteringPeak: Double? = nil, mapping: SignalMapping? = nil, effects: Effects = Effects(),
        scaling: ScalingOptions = ScalingOptions()
    ) {
        self.referenceWhite = referenceWhite
        self.hlgPeak = hlgPeak
        self.overRange = overRange
        self.chromaDownsampling = chromaDownsampling
        self.dither = dither
        self.targetHeadroom = targetHeadroom
        self.masteringPeak = masteringPeak
        self.mapping = mapping
        self.effects = effects
        self.scaling = scaling
    }
}

/// Picture effects in linear light of the target's primaries, applied in this order.
public struct Effects: Hashable, Sendable {
    /// Exposure in stops: light is multiplied by 2 to this power.
    public var exposure: Double
    /// Saturation: 0 is grey of the same luminance, 1 leaves the picture unchanged, larger values increase it.
    public var saturation: Double
    /// Sepia: 0 leaves the picture unchanged, 1 is full sepia.
    public var sepia: Double
    /// The color that becomes transparent; nil for none.
    public var chromaKey: ChromaKey?

    /// Creates effects; omitted ones do nothing.
    public init(exposure: Double = 0, saturation: Double = 1, sepia: Double = 0, chromaKey: ChromaKey? = nil) {
        self.exposure = exposure
        self.saturation = saturation
        self.sepia = sepia
        self.chromaKey = chromaKey
    }

    /// Whether the effects leave a picture unchanged.
    public var isNone: Bool { self == Effects() }

    /// Exposure, saturation and sepia as one matrix, since all are linear.
    func matrix(luminance: Triple) -> Matrix3 {
        if exposure == 0, saturation == 1, sepia == 0 { return .identity }
        let grey = Matrix3(luminance, luminance, luminance)
        // The common sepia matrix; its rows sum to more than 1, so highlights become warm first.
        let brown = Matrix3([0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131])
        return .mix(.identity, brown, sepia) * .mix(grey, .identity, saturation)
            * .diagonal(Triple(repeating: exp2(exposure)))
    }
}

/// A color that becomes transparent, by distance in Cb and Cr of the source's nonlinear values.
public struct ChromaKey: Hashable, Sendable {
    /// The key's Cb, −0.5…0.5, in the source's matrix (BT.709's for RGB).
    public var cb: Double
    /// The key's Cr, −0.5…0.5.
    public var cr: Double
    /// The distance up to which alpha is 0.
    public var tolerance: Double
    /// The distance beyond `tolerance` over which alpha rises to 1; above 0.
    public var softness: Double

    /// Creates a key.
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
