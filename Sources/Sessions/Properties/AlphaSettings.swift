// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

extension AlphaChannelMode {
    /// `alpha_channel_use_idc` (H.265 F.14.3.8).
    public var useIdc: Int { self == .premultiplied ? 1 : 0 }
}

/// What a session of hevc-with-alpha does with its alpha.
public struct AlphaSettings: Hashable, Sendable {
    /// The stream's mode.
    public var mode: AlphaChannelMode
    /// The mode of the frames that come.
    public var sourceMode: AlphaChannelMode
    /// Quality of the alpha layer, 0…1.
    public var quality: Double

    /// Quality when nobody sets one: CRF 11.5, some 65 dB for a mask with soft edges.
    public static let defaultQuality = 0.75

    static let modeNames = AlphaChannelMode.allCases.map(\.rawValue)

    /// By its parts.
    public init(mode: AlphaChannelMode, sourceMode: AlphaChannelMode, quality: Double) {
        self.mode = mode
        self.sourceMode = sourceMode
        self.quality = quality
    }

    /// Resolves the properties.
    init(_ properties: PropertyStore) {
        mode = properties.string(.alphaChannelMode).flatMap(AlphaChannelMode.init) ?? .premultiplied
        sourceMode = properties.string(.sourceAlphaMode).flatMap(AlphaChannelMode.init) ?? mode
        quality = properties.number(.targetQualityForAlpha) ?? Self.defaultQuality
    }
}

extension EncoderConfiguration {
    /// What the base layer's encoder is opened with.
    ///
    /// - Parameter format: of the colour planes it gets.
    public func baseLayer(_ format: PixelFormat) -> EncoderConfiguration {
        var layer = self
        layer.request.pixelFormat = format
        layer.request.hasAlpha = false
        layer.alpha = nil
        layer.maxFrameDelay = maxFrameDelay.map { $0 / 2 }
        return layer
    }

    /// What the alpha layer's encoder is opened with: a picture whose luma is alpha, at full range, in constant quality.
    ///
    /// The rate properties govern the base alone; a frame delay is shared, half of it each. Everything that the
    /// structure depends on stays, so that encoders without a look-ahead make the same of both layers.
    public func alphaLayer(_ format: PixelFormat) -> EncoderConfiguration {
        var layer = baseLayer(format)
        layer.rateControl = .quality(alpha?.quality ?? AlphaSettings.defaultQuality)
        (layer.dataRateLimit, layer.minQP, layer.maxQP, layer.baseLevelFraction) = (nil, nil, nil, nil)
        layer.color = ColorDescription(isFullRange: true)
        (layer.pixelAspectRatio, layer.masteringDisplay, layer.contentLight) = (nil, nil, nil)
        return layer
    }
}
