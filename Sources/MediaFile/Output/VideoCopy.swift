// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC
internal import HWDLibAV

/// How an HEVC track gets from one file into another without being coded anew.
///
/// Samples stay as they are wherever the output can hold them so: of a length-prefixed `hvc1` track not a byte changes.
/// From other kinds (`hev1`, byte streams) the parameter sets move out of the samples into the `hvcC` record.
public struct VideoCopy: Sendable {
    /// The record of what is left: where temporal levels are dropped, its parameter sets speak of the others alone.
    public let hvcC: [UInt8]
    /// Pictures that precede one in decoding and follow it in output order, of what is left (H.265 7.4.3.2.1).
    public let reorderDepth: Int

    private let path: String
    private let framing: SampleKind.Framing
    /// Parameter sets that may stand in samples, as they come.
    private let known: Set<[UInt8]>
    private let staysAsIs: Bool

    /// Prepares to copy the packets of a reader whose `decoding` is `disabled`.
    /// - Throws: `unsupported` for another codec than HEVC and for streams without timestamps, `badInput` for a damaged
    ///   format description.
    public init(_ reader: MediaReader) throws(MediaError) {
        path = reader.path
        guard case .libAV(let source) = reader.source, reader.video.codec == "hevc" else {
            throw MediaError(.unsupported, "\(reader.path) is \(reader.video.codec): HEVC alone is copied")
        }
        guard !reader.isUntimed else {
            throw MediaError(
                .unsupported, "\(reader.path) has no timestamps: it can be encoded, or copied from a container")
        }
        let configuration = reader.video.codecConfiguration
        framing = SampleKind.framing(configuration)
        do throws(BitstreamError) {
            var record: DecoderConfigurationRecord
            switch framing {
            case .lengths: record = try DecoderConfigurationRecord(bytes: configuration)
            case .startCodes:
                let sets = AnnexB.NALUnits(configuration).filter {
                    (try? NALUnitHeader(nal: $0))?.nalUnitType.isParameterSet ?? false
                }
                record = try DecoderConfigurationRecord(nalUnits: sets.map { Array($0) })
            }
            known = Set(record.nalUnits)
            let tag = source.demuxer.video?.codecpar?.pointee.codec_tag ?? 0
            // Of these the record has every parameter set (ISO/IEC 14496-15 8.4.1).
            let isComplete = tag == clibav_tag(0x68, 0x76, 0x63, 0x31)  // hvc1
            staysAsIs = isComplete && framing == .lengths(4)
            record.lengthSize = 4
            if let levels = reader.levels, let count = levels.levels, levels.limit + 1 < count {
                record = try record.keepingSubLayers(upTo: levels.limit)
            }
            hvcC = try record.bytes()
            reorderDepth =
                record.nalUnits.lazy.compactMap { try? SequenceParameterSet(nal: $0) }
                .filter { $0.header.nuhLayerId == 0 }.map(\.orderingInfo.highest.maxNumReorderPics).max() ?? 0
        } catch {
            throw MediaError(.badInput, "\(reader.path): the format description is damaged: \(error.reason)")
        }
    }

    /// A packet as the output has it; nil where that is as it came.
    /// - Throws: `badInput` for one that cannot be taken apart, `unsupported` where parameter sets change.
    public func sample(_ packet: UnsafeRawBufferPointer) throws(MediaError) -> [UInt8]? {
        if staysAsIs { return nil }
        var sample: [UInt8] = []
        sample.reserveCapacity(packet.count + 64)
        do throws(BitstreamError) {
            switch framing {
            case .lengths(let size):
                var units = try LengthPrefixedNALUnits(Array(packet)[...], lengthSize: size)
                while let unit = try units.next() { try append(unit, to: &sample) }
            case .startCodes:
                for unit in AnnexB.NALUnits(Array(packet)) { try append(unit, to: &sample) }
            }
        } catch {
            guard error.code != .unsupported else { throw MediaError(.unsupported, "\(path): \(error.reason)") }
            throw MediaError(.badInput, "\(path): a packet is damaged: \(error.reason)")
        }
        return sample
    }

    private func append(_ unit: ArraySlice<UInt8>, to sample: inout [UInt8]) throws(BitstreamError) {
        guard !unit.isEmpty else { return }
        guard try NALUnitHeader(nal: unit).nalUnitType.isParameterSet else {
            return try LengthPrefixedNALUnits.append(unit, to: &sample)
        }
        guard known.contains(Array(unit)) else {
            throw BitstreamError(.unsupported, "Its parameter sets change on the way, which a copy cannot hold.")
        }
    }
}
