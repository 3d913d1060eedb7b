// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes
package import HWDHEVC
internal import HWDModel

/// The parameter sets of an HEVC stream: its configuration record, or the start of its byte stream.
package struct HEVCConfiguration {
    /// The `hvcC` record; nil for byte streams and damaged records.
    package let record: DecoderConfigurationRecord?
    /// The NAL units of the record or byte stream, SEI messages among them.
    package let nalUnits: [[UInt8]]
    /// How the stream's access units are framed.
    package let framing: SampleKind.Framing

    package init(_ bytes: [UInt8]) {
        // configurationVersion is 1 (ISO/IEC 14496-15 8.3.3.1); a byte stream begins with a zero.
        let isRecord = bytes.first == 1
        record = isRecord ? try? DecoderConfigurationRecord(bytes: bytes) : nil
        nalUnits = record?.nalUnits ?? AnnexB.NALUnits(bytes).map { Array($0) }
        // lengthSizeMinusOne (ISO/IEC 14496-15 8.3.3.1).
        framing = isRecord && bytes.count > 21 ? .lengths(Int(bytes[21] & 3) + 1) : .startCodes
    }

    /// Whether sessions may decode it: 4:2:0 of 8 or 10 bits; true where the record is not known.
    package var isForSessions: Bool {
        guard let record else { return true }
        let depths = [record.bitDepthLumaMinus8, record.bitDepthChromaMinus8]
        return record.chromaFormatIdc == 1 && (depths == [0, 0] || depths == [2, 2])
    }

    /// The sequence parameter sets of the base layer.
    package static func baseLayerSets(_ nalUnits: [[UInt8]]) -> [SequenceParameterSet] {
        nalUnits.compactMap { try? SequenceParameterSet(nal: $0) }.filter { $0.header.nuhLayerId == 0 }
    }

    /// The number of temporal sub-layers in the parameter sets; nil without an SPS.
    package var subLayerCount: Int? { Self.baseLayerSets(nalUnits).map { $0.spsMaxSubLayersMinus1 + 1 }.max() }
}

extension ColorDescription {
    /// The color that the VUI describes; nil for one that does not.
    package init?(_ sps: SequenceParameterSet) {
        guard let points = sps.colourDescription else { return nil }
        self.init(
            primaries: UInt8(clamping: points.colourPrimaries),
            transfer: UInt8(clamping: points.transferCharacteristics),
            matrix: UInt8(clamping: points.matrixCoeffs), isFullRange: sps.isFullRange)
    }
}

extension SampleKind.Framing {
    /// The framing of H.264 with this `avcC` record or start of a byte stream, which begins with a zero.
    package init(h264 configuration: [UInt8]) {
        // lengthSizeMinusOne (ISO/IEC 14496-15 5.3.3.1).
        let isRecord = configuration.first == 1 && configuration.count > 4
        self = isRecord ? .lengths(Int(configuration[4] & 3) + 1) : .startCodes
    }
}

extension SEI {
    /// An H.264 SEI NAL unit as one of HEVC: the same syntax behind a header of one byte (H.264 7.3.2.3).
    package static func hevcUnit(h264 nal: ArraySlice<UInt8>) -> ArraySlice<UInt8> { [0x4E, 1] + nal.dropFirst() }
}
