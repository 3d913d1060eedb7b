// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC
internal import HWDLibAV

/// Copies an HEVC track from one file into another without encoding.
///
/// The samples of an `hvc1` track have no parameter sets that its `hvcC` record has (ISO/IEC 14496-15 8.4.1): they are moved
/// there from those of `hev1` and byte streams, and repeated ones are left out. Other samples are kept byte for byte.
public struct VideoCopy: Sendable {
    /// The record; where temporal levels are dropped, its parameter sets describe the kept ones alone.
    public let hvcC: [UInt8]
    /// `sps_max_num_reorder_pics` of the kept levels (H.265 7.4.3.2.1).
    public let reorderDepth: Int

    private let path: String
    private let framing: SampleKind.Framing
    /// The record's parameter sets, which samples may repeat.
    private let known: Set<[UInt8]>
    /// Whether samples have the output's framing, and need no change unless they repeat parameter sets.
    private let isFramed: Bool
    /// Whether the record is declared to have every parameter set of the stream.
    private let isComplete: Bool
    /// Whether a sample of such a track had other parameter sets, after which all are kept where they are.
    private var keepsSets = false

    /// Prepares to copy the packets of a reader whose `decoding` is `disabled`.
    /// - Throws: `unsupported` for another codec than HEVC and for streams without timestamps, `badInput` for a damaged
    ///   configuration record.
    public init(_ reader: MediaReader) throws(MediaError) {
        path = reader.path
        guard case .libAV(let source) = reader.backend, reader.video.codec == "hevc" else {
            throw MediaError(.unsupported, "\(reader.path) is \(reader.video.codec): only HEVC can be copied")
        }
        guard !reader.isUntimed else {
            throw MediaError(
                .unsupported, "\(reader.path) has no timestamps: it can be encoded, or copied from a container")
        }
        let configuration = HEVCConfiguration(reader.video.codecConfiguration)
        framing = configuration.framing
        do throws(BitstreamError) {
            var record = try Self.record(reader.video.codecConfiguration, configuration)
            known = Set(record.nalUnits)
            let tag = source.demuxer.video?.codecpar?.pointee.codec_tag ?? 0
            // The record of an hvc1 track has every parameter set (ISO/IEC 14496-15 8.4.1).
            isComplete = tag == clibav_tag(0x68, 0x76, 0x63, 0x31)  // hvc1
            isFramed = isComplete && framing == .lengths(4)
            record.lengthSize = 4
            if let levels = reader.levels, let count = levels.levels, levels.limit + 1 < count {
                record = try record.keepingSubLayers(upTo: levels.limit)
            }
            hvcC = try record.bytes()
            reorderDepth =
                HEVCConfiguration.baseLayerSets(record.nalUnits)
                .map(\.orderingInfo.highest.maxNumReorderPics).max() ?? 0
        } catch {
            throw MediaError(.badInput, "\(reader.path): the format description is damaged: \(error.reason)")
        }
    }

    /// The record that the file has, or one made of a byte stream's parameter sets.
    private static func record(
        _ bytes: [UInt8], _ configuration: HEVCConfiguration
    ) throws(BitstreamError) -> DecoderConfigurationRecord {
        guard case .startCodes = configuration.framing else { return try DecoderConfigurationRecord(bytes: bytes) }
        let sets = AnnexB.NALUnits(bytes).filter {
            (try? NALUnitHeader(nal: $0))?.nalUnitType.isParameterSet ?? false
        }
        return try DecoderConfigurationRecord(nalUnits: sets.map { Array($0) })
    }

    /// A packet's contents for the output; nil where they are the packet's own.
    /// - Throws: `badInput` for a damaged packet, `unsupported` where parameter sets change.
    public mutating func sample(_ packet: UnsafeRawBufferPointer) throws(MediaError) -> [UInt8]? {
        if isFramed, keepsSets || !Self.hasParameterSets(packet) { return nil }
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

    /// Whether a sample with lengths of 4 bytes has parameter sets.
    private static func hasParameterSets(_ sample: UnsafeRawBufferPointer) -> Bool {
        var rest = sample[...]
        while rest.count > 4 {
            let length = Int(rest.prefix(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) })
            // nal_unit_type (H.265 7.3.1.2).
            let type = rest[rest.startIndex + 4] >> 1 & 63
            if (NALUnitType.vps.rawValue...NALUnitType.pps.rawValue).contains(type) { return true }
            rest = rest.dropFirst(4).dropFirst(length)
        }
        return false
    }

    private mutating func append(_ unit: ArraySlice<UInt8>, to sample: inout [UInt8]) throws(BitstreamError) {
        guard !unit.isEmpty else { return }
        guard try NALUnitHeader(nal: unit).nalUnitType.isParameterSet else {
            return try LengthPrefixedNALUnits.append(unit, to: &sample)
        }
        if !keepsSets, known.contains(Array(unit)) { return }
        guard !isComplete else {
            // Later repetitions of the record's sets undo this change, so they have a meaning.
            keepsSets = true
            return try LengthPrefixedNALUnits.append(unit, to: &sample)
        }
        throw BitstreamError(.unsupported, "its parameter sets change within the stream, so it cannot be copied")
    }
}
