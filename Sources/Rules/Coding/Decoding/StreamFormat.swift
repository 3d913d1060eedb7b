// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC
public import HWDModel
public import HWDPolicy

/// A validated format description of an HEVC stream that can be decoded here, with the framing of its packets.
public struct StreamFormat: Hashable, Sendable {
    /// How packets delimit NAL units.
    public enum Framing: Hashable, Sendable {
        /// By a length of this many bytes before each (ISO/IEC 14496-15).
        case lengthPrefixed(Int)
        /// By start codes (H.265 Annex B).
        case byteStream
    }

    /// Limit of a description in bytes, so that it fits a message.
    public static let maxDescription = 60_000
    /// Limit of a coded picture's width and height.
    public static let maxDimension = CompressionRequest.maxDimension
    /// Limit of a coded picture's luma samples.
    public static let maxLumaSamples = CompressionRequest.maxLumaSamples

    public let framing: Framing
    /// The base layer's parameter sets for opening a decoder, with `lengthSize` 4.
    public let record: DecoderConfigurationRecord
    /// The description's SEI NAL units, which apply to the whole stream.
    public let messages: [[UInt8]]
    /// The description's NAL units of all layers, unchanged.
    let layers: [[UInt8]]
    /// Width in luma samples; 0 when all parameter sets are in the packets.
    public let width: Int
    /// Height in luma samples; 0 when all parameter sets are in the packets.
    public let height: Int
    /// Bits of a sample, 8 or 10.
    public let bitDepth: Int

    /// Nil when all parameter sets are in the packets.
    public var size: PictureSize? { width > 0 ? PictureSize(width: width, height: height) : nil }

    /// The format that libavcodec decodes to in software.
    public var planarFormat: PixelFormat { bitDepth > 8 ? .i010 : .yu12 }
    /// The format that hardware decodes to.
    public var semiPlanarFormat: PixelFormat { bitDepth > 8 ? .p010 : .nv12 }

    /// Reads an hvcC record (ISO/IEC 14496-15, 8.3.3.1) or Annex B parameter sets.
    ///
    /// - Throws: `VideoDecoderBadData` for bytes that are neither, `VideoDecoderUnsupportedDataFormat` for a stream
    ///   that is not 4:2:0 of 8 or 10 bits, or larger than level 6.2 allows.
    public init(description: [UInt8]) throws(SessionError) {
        let full: DecoderConfigurationRecord
        (full, framing) = try Self.parse(description)
        layers = full.nalUnits
        messages = full.nalUnits.filter { (try? NALUnitHeader(nal: $0))?.nalUnitType == .prefixSEI }
        record = Self.baseLayer(of: full)
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
    }

    private static func parse(
        _ description: [UInt8]
    ) throws(SessionError) -> (record: DecoderConfigurationRecord, framing: Framing) {
        guard !description.isEmpty, description.count <= maxDescription else {
            throw SessionError(
                .videoDecoderBadData,
                "the format description of \(description.count) bytes is empty or exceeds \(maxDescription) bytes")
        }
        do throws(BitstreamError) {
            // configurationVersion is 1; a byte stream starts with 0.
            if description[0] == 1 {
                let record = try DecoderConfigurationRecord(bytes: description)
                return (record, .lengthPrefixed(record.lengthSize))
            }
            let kept = AnnexB.NALUnits(description).filter { nal in
                guard let header = try? NALUnitHeader(nal: nal) else { return false }
                return header.nalUnitType.isParameterSet || header.nalUnitType == .prefixSEI
            }
            let record = try DecoderConfigurationRecord(nalUnits: kept.map { Array($0) }, completeness: false)
            return (record, .byteStream)
        } catch {
            throw SessionError(.videoDecoderBadData, "the format description is damaged: \(error.reason)")
        }
    }

    /// The record without other layers and messages, which decoders do not need.
    private static func baseLayer(of record: DecoderConfigurationRecord) -> DecoderConfigurationRecord {
        var record = record
        record.lengthSize = 4
        record.arrays = record.arrays.compactMap { array in
            var array = array
            array.nalUnits = array.nalUnits.filter { nal in
                guard let header = try? NALUnitHeader(nal: nal) else { return false }
                return header.nuhLayerId == 0 && header.nalUnitType.isParameterSet
            }
            if array.nalUnitType == .vps { array.nalUnits = array.nalUnits.map(singleLayer) }
            return array.nalUnits.isEmpty ? nil : array
        }
        return record
    }

    /// The format of an 8-bit stream with 4-byte lengths whose parameter sets are all in its packets.
    ///
    /// - Throws: as `init(description:)`; this description is valid.
    public static func inBand() throws(SessionError) -> StreamFormat {
        let bytes: [UInt8]
        do throws(BitstreamError) { bytes = try DecoderConfigurationRecord().bytes() } catch {
            throw SessionError(.videoDecoderBadData, error.reason)
        }
        return try StreamFormat(description: bytes)
    }

    /// How to interpret the alpha layer; nil when the description declares none.
    public var alpha: AlphaInterpretation? {
        var reader = AlphaLayerReader()
        for nal in layers { reader.take(nal[...]) }
        return reader.interpretation
    }

    /// The VPS reduced to its base layer, so that decoders do not look for others; unchanged when it cannot be parsed.
    static func singleLayer(_ nal: [UInt8]) -> [UInt8] {
        guard let vps = try? VideoParameterSet(nal: nal), vps.vpsMaxLayersMinus1 > 0 || vps.vpsExtension != nil
        else {
            return nal
        }
        return (try? vps.singleLayer.nalUnit()) ?? nal
    }

    /// Checks that pictures of an SPS can be decoded here.
    ///
    /// - Throws: `VideoDecoderUnsupportedDataFormat`, naming the obstacle; `VideoDecoderBadData` for a conformance window
    ///   that leaves no samples.
    static func check(_ sps: SequenceParameterSet) throws(SessionError) {
        try check(chroma: sps.chromaFormatIdc, sps.bitDepthLuma, sps.bitDepthChroma)
        let (width, height) = (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples)
        guard (1...maxDimension).contains(width), (1...maxDimension).contains(height),
            width * height <= maxLumaSamples
        else {
            throw SessionError(
                .videoDecoderUnsupportedDataFormat,
                "a picture of \(width)x\(height) exceeds H.265 level 6.2")
        }
        let cropped = sps.croppedLumaSamples
        guard (0..<width).contains(cropped.left), (0..<width).contains(cropped.right),
            (0..<height).contains(cropped.top), (0..<height).contains(cropped.bottom), sps.width > 0, sps.height > 0
        else {
            throw SessionError(.videoDecoderBadData, "the SPS's conformance window leaves no samples")
        }
    }

    private static func check(chroma: Int, _ luma: Int, _ chromaDepth: Int) throws(SessionError) {
        let names = ["4:0:0", "4:2:0", "4:2:2", "4:4:4"]
        guard chroma == 1 else {
            throw SessionError(
                .videoDecoderUnsupportedDataFormat,
                "the stream is \((0..<4).contains(chroma) ? names[chroma] : "of an unknown chroma format"), not 4:2:0"
            )
        }
        guard luma == chromaDepth, luma == 8 || luma == 10 else {
            throw SessionError(
                .videoDecoderUnsupportedDataFormat,
                "the stream has luma of \(luma) and chroma of \(chromaDepth) bits; only 8 or 10 bits for both are supported"
            )
        }
    }
}
