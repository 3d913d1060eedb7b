// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The alpha settings of a hevc-with-alpha session.
public struct AlphaSettings: Hashable, Sendable {
    /// The mode of the stream.
    public var mode: AlphaChannelMode
    /// The mode of the source frames.
    public var sourceMode: AlphaChannelMode
    /// Quality of the alpha layer, 0…1.
    public var quality: Double

    /// About 64 dB for a mask with soft edges.
    public static let defaultQuality = 0.625

    static let modeNames = AlphaChannelMode.allCases.map(\.rawValue)

    public init(mode: AlphaChannelMode, sourceMode: AlphaChannelMode, quality: Double) {
        self.mode = mode
        self.sourceMode = sourceMode
        self.quality = quality
    }

    /// Resolves the properties.
    public init(_ properties: PropertyStore) {
        mode = properties.string(.alphaChannelMode).flatMap(AlphaChannelMode.init) ?? .premultiplied
        sourceMode = properties.string(.sourceAlphaMode).flatMap(AlphaChannelMode.init) ?? mode
        quality = properties.number(.targetQualityForAlpha) ?? Self.defaultQuality
    }
}
