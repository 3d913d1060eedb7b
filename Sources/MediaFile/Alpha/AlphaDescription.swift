// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel

extension VideoDescription {
    /// How the colours of a stream with an alpha layer stand to its alpha; nil when its description tells of none.
    ///
    /// Premultiplied where no message tells.
    public var alphaLayerMode: AlphaChannelMode? {
        guard codec == "hevc" else { return nil }
        return AlphaLayerInfo(nalUnits: AlphaLayerInfo.nalUnits(of: codecConfiguration) + leadingUnits).map(\.mode)
    }
}

extension MediaPacket {
    /// Whether a packet of a byte stream begins with a layer above the base.
    ///
    /// Demuxers that know no layers part the access units of raw streams there.
    public var beginsInUpperLayer: Bool {
        withBytes { bytes in
            var units = AnnexB.NALUnits(Array(bytes.prefix(64)))
            guard let nal = units.next(), let header = try? NALUnitHeader(nal: nal) else { return false }
            return header.nuhLayerId > 0
        }
    }
}

extension AlphaLayerInfo {
    /// Whether a description is the start of a byte stream that has an alpha layer and does not tell its mode.
    static func isUnsignaled(in configuration: [UInt8]) -> Bool {
        guard configuration.first != 1, let layer = AlphaLayerInfo(nalUnits: nalUnits(of: configuration)) else {
            return false
        }
        return layer.info == nil
    }

    /// How colours stand to alpha; premultiplied where no message tells.
    var mode: AlphaChannelMode { info?.alphaChannelUseIdc == 0 ? .straight : .premultiplied }

    /// The NAL units of a configuration record, or of the start of an elementary stream.
    static func nalUnits(of configuration: [UInt8]) -> [[UInt8]] {
        let record = configuration.first == 1 ? try? DecoderConfigurationRecord(bytes: configuration) : nil
        return record?.nalUnits ?? AnnexB.NALUnits(configuration).map { Array($0) }
    }
}
