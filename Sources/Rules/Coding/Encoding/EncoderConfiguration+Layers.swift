// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
internal import HWDPolicy

extension AlphaChannelMode {
    /// `alpha_channel_use_idc` (H.265 F.14.3.8).
    public var useIdc: Int { self == .premultiplied ? 1 : 0 }
}

extension EncoderConfiguration {
    /// The configuration of the base layer's encoder.
    ///
    /// - Parameter format: the pixel format of its color planes.
    public func baseLayer(_ format: PixelFormat) -> EncoderConfiguration {
        var layer = self
        layer.request.pixelFormat = format
        layer.request.hasAlpha = false
        layer.alpha = nil
        layer.maxFrameDelay = maxFrameDelay.map { $0 / 2 }
        return layer
    }

    /// The configuration of the alpha layer's encoder: full-range pictures with alpha as luma, at constant quality.
    ///
    /// The rate properties apply to the base layer only; each layer gets half of a frame delay. Everything that affects
    /// the picture structure is kept, so that encoders without look-ahead produce the same structure in both layers.
    public func alphaLayer(_ format: PixelFormat) -> EncoderConfiguration {
        var layer = baseLayer(format)
        layer.rateControl = .quality(alpha?.quality ?? AlphaSettings.defaultQuality)
        (layer.dataRateLimit, layer.minQP, layer.maxQP, layer.baseLevelFraction) = (nil, nil, nil, nil)
        layer.measuresError = false
        layer.color = ColorDescription(isFullRange: true)
        layer.pixelAspectRatio = nil
        (layer.masteringDisplay, layer.contentLight, layer.ambientViewing) = (nil, nil, nil)
        (layer.isInterlaced, layer.fieldDetail) = (false, nil)
        return layer
    }
}
