// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC
public import HWDModel

/// What the samples of a stream's alpha layer mean.
public struct AlphaInterpretation: Hashable, Sendable {
    /// Whether the base layer's colours are multiplied by alpha.
    ///
    /// Premultiplied where no message tells: VideoToolbox's default.
    public let mode: AlphaChannelMode
    /// Whether a message told the mode.
    public let isModeSignaled: Bool
    /// The opacity, 0…255, that each decoded value of 8 bits stands for; nil where it is the value itself.
    public let opacities: [UInt8]?

    /// By the alpha_channel_info message (H.265 F.14.2.8) and the range of the layer's SPS, each nil where there is none.
    ///
    /// The message's values for transparent and opaque hold where there is one; else a video-range SPS (16…235) is
    /// expanded. Encoders are about that write full-range alpha with the message, and leave the SPS at video range.
    public init(_ info: AlphaChannelInfo?, isFullRange: Bool?) {
        switch info?.alphaChannelUseIdc {
        case 0: (mode, isModeSignaled) = (.straight, true)
        case 1: (mode, isModeSignaled) = (.premultiplied, true)
        default: (mode, isModeSignaled) = (.premultiplied, false)
        }
        if let info {
            opacities = Self.opacities(info)
        } else if isFullRange == false {
            opacities = Self.table(transparent: 16, opaque: 235) { $0 }
        } else {
            opacities = nil
        }
    }

    private static func opacities(_ info: AlphaChannelInfo) -> [UInt8]? {
        let shift = info.alphaChannelBitDepthMinus8
        let (transparent, opaque) = (info.alphaTransparentValue >> shift, info.alphaOpaqueValue >> shift)
        // A message that makes everything equal is not meant.
        guard transparent != opaque else { return nil }
        return table(transparent: transparent, opaque: opaque) { value in
            var value = value
            if info.alphaChannelIncrFlag, value > min(opaque, transparent) { value += 1 }
            // alpha_channel_clip_type_flag 0 leaves only the two ends; 1 clips to them, which happens anyway.
            if info.alphaChannelClipTypeFlag == false {
                value = 2 * value > transparent + opaque ? max(transparent, opaque) : min(transparent, opaque)
            }
            return value
        }
    }

    /// 256 opacities on the line through both ends; nil when each is its own value.
    private static func table(transparent: Int, opaque: Int, _ sample: (Int) -> Int) -> [UInt8]? {
        let span = opaque - transparent
        let table = (0...255).map { value -> UInt8 in
            let scaled = Double((sample(value) - transparent) * 255) / Double(span)
            return UInt8(max(0, min(255, scaled.rounded())))
        }
        return table.elementsEqual(0...255) ? nil : table
    }
}

/// The alpha layer's part of one packet, as a stream of its own.
public struct AlphaUnit: Hashable, Sendable {
    /// Its slices and parameter sets with `nuh_layer_id` 0, each behind its length in 4 bytes; empty without slices.
    public var bytes: [UInt8] = []
    /// `nal_unit_type` of its first slice segment; nil without one.
    public var pictureType: NALUnitType?
    /// What its samples mean.
    public var meaning: AlphaInterpretation
    /// Why its picture has no alpha, or none that can be trusted; nil when all is well.
    public var fault: String?

    /// Nothing yet.
    public init(meaning: AlphaInterpretation) { self.meaning = meaning }
}
