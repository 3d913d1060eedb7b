// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC
public import HWDModel

/// How to interpret the samples of a stream's alpha layer.
public struct AlphaInterpretation: Hashable, Sendable {
    /// Whether the base layer's colors are multiplied by alpha.
    ///
    /// Premultiplied without a message, as in VideoToolbox.
    public let mode: AlphaChannelMode
    /// Whether a message signals the mode.
    public let isModeSignaled: Bool
    /// The opacity, 0…255, of each decoded 8-bit value; nil when it equals the value.
    public let opacities: [UInt8]?

    /// Takes the alpha_channel_info message (H.265 F.14.2.8) and the range of the layer's SPS, each nil when absent.
    ///
    /// The message's values for transparent and opaque take precedence; without a message, a video-range SPS (16…235)
    /// is expanded. Some encoders write the message and full-range alpha, but an SPS with video range.
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
        // A message with equal values is an error.
        guard transparent != opaque else { return nil }
        return table(transparent: transparent, opaque: opaque) { value in
            var value = value
            if info.alphaChannelIncrFlag, value > min(opaque, transparent) { value += 1 }
            // alpha_channel_clip_type_flag 0 rounds to the two values; 1 clips to them, which `table` does in any case.
            if info.alphaChannelClipTypeFlag == false {
                value = 2 * value > transparent + opaque ? max(transparent, opaque) : min(transparent, opaque)
            }
            return value
        }
    }

    /// 256 opacities, linear between transparent and opaque; nil when each equals its index.
    private static func table(transparent: Int, opaque: Int, _ sample: (Int) -> Int) -> [UInt8]? {
        let span = opaque - transparent
        let table = (0...255).map { value -> UInt8 in
            let scaled = Double((sample(value) - transparent) * 255) / Double(span)
            return UInt8(max(0, min(255, scaled.rounded())))
        }
        return table.elementsEqual(0...255) ? nil : table
    }
}

/// The alpha layer's part of one packet, as a separate stream.
public struct AlphaUnit: Hashable, Sendable {
    /// Slices and parameter sets with `nuh_layer_id` 0 and 4-byte lengths; empty without slices.
    public var bytes: [UInt8] = []
    /// `nal_unit_type` of the first slice segment; nil without one.
    public var pictureType: NALUnitType?
    public var interpretation: AlphaInterpretation
    /// Why its picture's alpha is missing or damaged; nil otherwise.
    public var fault: String?

    public init(interpretation: AlphaInterpretation) { self.interpretation = interpretation }
}
