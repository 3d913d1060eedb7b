// SPDX-License-Identifier: GPL-2.0-or-later

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
