// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel

extension VideoDescription {
    /// The alpha mode of a stream with an alpha layer; nil when its description has no such layer.
    ///
    /// Premultiplied without an alpha_channel_info message.
    public var alphaLayerMode: AlphaChannelMode? {
        guard codec == "hevc" else { return nil }
        return AlphaLayerInfo(nalUnits: HEVCConfiguration(codecConfiguration).nalUnits + leadingUnits)
            .map(\.mode)
    }
}

extension VideoDescription {
    /// The alpha_channel_info messages before the first picture, which belong in a configuration record.
    package var alphaMessages: [[UInt8]] {
        leadingUnits.filter { unit in
            (try? SEI(nal: unit))?.messages.contains { $0.payloadType == 165 } ?? false
        }
    }
}

extension AlphaLayerInfo {
    /// Whether a configuration is the start of a byte stream with an alpha layer and no alpha_channel_info.
    package static func isUnsignaled(in configuration: [UInt8]) -> Bool {
        guard configuration.first != 1,
            let layer = AlphaLayerInfo(nalUnits: HEVCConfiguration(configuration).nalUnits)
        else { return false }
        return layer.info == nil
    }

    /// The alpha mode; premultiplied without an alpha_channel_info message.
    package var mode: AlphaChannelMode { info?.alphaChannelUseIdc == 0 ? .straight : .premultiplied }
}
