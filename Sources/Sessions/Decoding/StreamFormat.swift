// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC
public import HWDModel

/// An HEVC stream's format as a client describes it, checked: what can be decoded here, and how packets are framed.
public struct StreamFormat: Hashable, Sendable {
    /// How NAL units stand in a packet.
    public enum Framing: Hashable, Sendable {
        /// Behind their length, in so many bytes (ISO/IEC 14496-15).
        case lengthPrefixed(Int)
        /// Behind start codes (H.265 Annex B).
        case byteStream
    }

    /// Bytes a description may have: a message's payload.
    public static let maxDescription = 60_000
    /// Largest width and height of a coded picture.
    public static let maxDimension = CompressionRequest.maxDimension
    /// MaxLumaPs of level 6.2 (H.265 table A.8), which bounds every buffer of a decoder.
    public static let maxLumaSamples = 35_651_584

    /// How NAL units stand in a packet.
    public let framing: Framing
    /// The parameter sets of the base layer, for 4-byte lengths, as decoders are opened with them.
    public let record: DecoderConfigurationRecord
    /// The description's SEI NAL units, which hold for the whole stream.
    public let messages: [[UInt8]]
    /// What the description says of all layers: its NAL units as they came.
    let layers: [[UInt8]]
    /// Samples a row of the pictures, 0 when the parameter sets come in the packets only.
    public let width: Int
    /// Rows of the pictures, 0 when the parameter sets come in the packets only.
    public let height: Int
    /// Bits of a sample, 8 or 10.
    public let bitDepth: Int

    /// The layout libavcodec decodes to in software.
    public var planarFormat: PixelFormat { bitDepth > 8 ? .i010 : .yu12 }
    /// The layout hardware decodes to.
    public var semiPlanarFormat: PixelFormat { bitDepth > 8 ? .p010 : .nv12 }

    /// Reads an hvcC record (ISO/IEC 14496-15, 8.3.3.1) or Annex B parameter sets.
    ///
    /// - Throws: `VideoDecoderBadData` for bytes that are neither, `VideoDecoderUnsupportedDataFormat` for a stream
    ///   that is not 4:2:0 of 8 or 10 bits, or larger than level 6.2 allows.
    public init(description: [UInt8]) throws(SessionError) {
        guard !description.isEmpty, description.count <= Self.maxDescription else {
            throw SessionError(
                .videoDecoderBadData, "a format description of \(description.count) bytes is not possible")
        }
        var record: DecoderConfigurationRecord
        do throws(BitstreamError) {
            if description[0] == 1 {
                record = try DecoderConfigurationRecord(bytes: description)
                framing = .lengthPrefixed(record.lengthSize)
            } else {
                let kept = AnnexB.NALUnits(description).filter { nal in
                    guard let header = try? NALUnitHeader(nal: nal) else { return false }
                    return header.nalUnitType.isParameterSet || header.nalUnitType == .prefixSEI
                }
                record = try DecoderConfigurationRecord(nalUnits: kept.map { Array($0) }, completeness: false)
                framing = .byteStream
            }
        } catch {
            throw SessionError(.videoDecoderBadData, "the format description is damaged: \(error.reason)")
        }
        record.lengthSize = 4
        layers = record.nalUnits
        messages = record.nalUnits.filter { (try? NALUnitHeader(nal: $0))?.nalUnitType == .prefixSEI }
        // Layers above the base, and messages, are not the decoder's business.
        record.arrays = record.arrays.compactMap { array in
            var array = array
            array.nalUnits = array.nalUnits.filter { nal in
                guard let header = try? NALUnitHeader(nal: nal) else { return false }
                return header.nuhLayerId == 0 && header.nalUnitType.isParameterSet
            }
            if array.nalUnitType == .vps { array.nalUnits = array.nalUnits.map(Self.singleLayer) }
            return array.nalUnits.isEmpty ? nil : array
        }
        var sets: [SequenceParameterSet] = []
        for nal in record.nalUnits where (try? NALUnitHeader(nal: nal))?.nalUnitType == .sps {
            do throws(BitstreamError) { sets.append(try SequenceParameterSet(nal: nal)) } catch {
                throw SessionError(
                    .videoDecoderBadData, "the format description's SPS is damaged: \(error.reason)")
            }
        }
        for sps in sets { try Self.check(sps) }
        if let sps = sets.first {
            (width, height, bitDepth) = (sps.width, sps.height, sps.bitDepthLuma)
        } else {
            try Self.check(
                chroma: record.chromaFormatIdc, 8 + record.bitDepthLumaMinus8, 8 + record.bitDepthChromaMinus8)
            (width, height, bitDepth) = (0, 0, 8 + record.bitDepthLumaMinus8)
        }
        self.record = record
    }

    /// A stream of 8 bits whose parameter sets all come in its packets, behind 4-byte lengths.
    ///
    /// - Throws: as `init(description:)`, which takes what it is given here.
    public static func inBand() throws(SessionError) -> StreamFormat {
        let bytes: [UInt8]
        do throws(BitstreamError) { bytes = try DecoderConfigurationRecord().bytes() } catch {
            throw SessionError(.videoDecoderBadData, error.reason)
        }
        return try StreamFormat(description: bytes)
    }

    /// What the alpha layer's samples mean; nil when the description tells of none.
    public var alpha: AlphaInterpretation? {
        var reader = AlphaLayerReader()
        for nal in layers { reader.take(nal[...]) }
        return reader.meaning
    }

    /// A VPS as a stream without further layers has it, so that no decoder looks for them; as it is where it cannot be read.
    static func singleLayer(_ nal: [UInt8]) -> [UInt8] {
        guard let vps = try? VideoParameterSet(nal: nal), vps.vpsMaxLayersMinus1 > 0 || vps.vpsExtension != nil
        else {
            return nal
        }
        return (try? vps.singleLayer.nalUnit()) ?? nal
    }

    /// Whether pictures of an SPS can be decoded here.
    ///
    /// - Throws: `VideoDecoderUnsupportedDataFormat`, saying what stands in the way; `VideoDecoderBadData` for a
    ///   conformance window that leaves nothing.
    static func check(_ sps: SequenceParameterSet) throws(SessionError) {
        try check(chroma: sps.chromaFormatIdc, sps.bitDepthLuma, sps.bitDepthChroma)
        let (width, height) = (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples)
        guard (1...maxDimension).contains(width), (1...maxDimension).contains(height),
            width * height <= maxLumaSamples
        else {
            throw SessionError(
                .videoDecoderUnsupportedDataFormat,
                "a picture of \(width)x\(height) is outside what H.265 level 6.2 allows")
        }
        let cropped = sps.croppedLumaSamples
        guard (0..<width).contains(cropped.left), (0..<width).contains(cropped.right),
            (0..<height).contains(cropped.top), (0..<height).contains(cropped.bottom), sps.width > 0, sps.height > 0
        else {
            throw SessionError(.videoDecoderBadData, "the SPS's conformance window leaves nothing of the picture")
        }
    }

    private static func check(chroma: Int, _ luma: Int, _ chromaDepth: Int) throws(SessionError) {
        let names = ["4:0:0", "4:2:0", "4:2:2", "4:4:4"]
        guard chroma == 1 else {
            throw SessionError(
                .videoDecoderUnsupportedDataFormat,
                "the stream is \((0..<4).contains(chroma) ? names[chroma] : "of an unknown chroma format"); "
                    + "4:2:0 is decoded here")
        }
        guard luma == chromaDepth, luma == 8 || luma == 10 else {
            throw SessionError(
                .videoDecoderUnsupportedDataFormat,
                "the stream has \(luma) bits a luma and \(chromaDepth) a chroma sample; 8 and 10 are decoded here")
        }
    }
}
