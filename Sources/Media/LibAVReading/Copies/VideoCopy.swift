// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDHEVC
internal import HWDLibAV
public import HWDMetadata

/// Copies an HEVC track from one file into another without encoding.
///
/// Parameter sets are moved from the samples into the configuration record; all else in a sample is kept byte for byte.
/// Where they change, as at another sample entry of the source, another configuration follows.
public struct VideoCopy: Sendable {
    /// A packet for the output.
    public struct Sample: Sendable {
        /// Its contents; nil where they are the packet's own.
        public var bytes: [UInt8]?
        /// The configuration from this packet on; nil where it stays.
        public var configuration: TrackConfiguration?
    }

    /// The first record; where temporal levels are dropped, its parameter sets describe the kept ones alone.
    public let hvcC: [UInt8]
    /// `sps_max_num_reorder_pics` of the kept levels (H.265 7.4.3.2.1), the highest of all known parameter sets.
    public let reorderDepth: Int

    private let path: String
    /// The sample entries of a movie.
    private let entries: [Box]
    /// The sample entries in the order of the samples, and the number of the present one; nil before the first packet.
    private let entryRuns: [Box]
    private var run: Int?
    /// The highest temporal level of the parameter sets that are written; nil keeps them.
    private let keptLevel: Int?
    private var framing: SampleKind.Framing
    private var record: DecoderConfigurationRecord
    private var sets: CopiedParameterSets
    /// Whether the source's records have every parameter set, as those of an hvc1 track (ISO/IEC 14496-15 8.4.1).
    private let isComplete: Bool

    /// Prepares to copy the packets of a reader whose `decoding` is `disabled`.
    /// - Throws: `unsupported` for another codec than HEVC, `badInput` for a damaged configuration record.
    public init(_ reader: MediaReader) throws(MediaError) {
        path = reader.path
        guard let source = reader.libAV, reader.video.codec == "hevc" else {
            throw MediaError(
                .unsupported,
                "\(reader.path) is \(reader.video.codec): only HEVC can be copied; without --copy it is encoded")
        }
        (entries, entryRuns) = (source.sampleEntries, source.entryRuns)
        let tag = source.demuxer.video?.codecpar?.pointee.codec_tag ?? 0
        isComplete = tag == clibav_tag(0x68, 0x76, 0x63, 0x31)  // hvc1
        if let levels = reader.levels, let count = levels.levels, levels.limit + 1 < count {
            keptLevel = levels.limit
        } else {
            keptLevel = nil
        }
        let configuration = HEVCConfiguration(reader.video.codecConfiguration)
        framing = configuration.framing
        do throws(BitstreamError) {
            record = try Self.record(
                reader.video.codecConfiguration, configuration, messages: reader.video.alphaMessages)
            sets = CopiedParameterSets(record.nalUnits)
            let written = try Self.written(record, keptLevel)
            hvcC = try written.bytes()
            let others = entries.compactMap { $0.first("hvcC")?.fields }.flatMap { HEVCConfiguration($0).nalUnits }
            reorderDepth =
                HEVCConfiguration.baseLayerSets(written.nalUnits + others)
                .map(\.orderingInfo.highest.maxNumReorderPics).max() ?? 0
        } catch {
            throw Self.damagedDescription(path, error)
        }
        try checkSize(reader.video)
    }

    /// Refuses a damaged file whose pictures are larger than its record describes.
    private func checkSize(_ video: VideoDescription) throws(MediaError) {
        guard let sps = HEVCConfiguration.baseLayerSets(record.nalUnits).first, sps.width > 0, sps.height > 0,
            video.width > sps.width || video.height > sps.height
        else { return }
        throw MediaError(
            .badInput,
            "\(path): the format description is for \(sps.width)x\(sps.height), and the pictures have "
                + "\(video.width)x\(video.height)")
    }

    private static func damagedDescription(_ path: String, _ error: BitstreamError) -> MediaError {
        MediaError(.badInput, "\(path): the format description is damaged: \(error.reason)")
    }

    /// The record that the file has, or one made of a byte stream's parameter sets.
    private static func record(
        _ bytes: [UInt8], _ configuration: HEVCConfiguration, messages: [[UInt8]] = []
    ) throws(BitstreamError) -> DecoderConfigurationRecord {
        guard case .startCodes = configuration.framing else { return try DecoderConfigurationRecord(bytes: bytes) }
        return try DecoderConfigurationRecord(
            nalUnits: CopiedParameterSets(configuration.nalUnits).units + messages)
    }

    /// The record as it is written.
    private static func written(
        _ record: DecoderConfigurationRecord, _ keptLevel: Int?
    ) throws(BitstreamError) -> DecoderConfigurationRecord {
        var record = record
        record.lengthSize = 4
        // The output is hvc1: no parameter set is in its samples (ISO/IEC 14496-15 8.4.1).
        for index in record.arrays.indices where record.arrays[index].nalUnitType.isParameterSet {
            record.arrays[index].arrayCompleteness = true
        }
        return try keptLevel.map { (level) throws(BitstreamError) in try record.keepingSubLayers(upTo: level) }
            ?? record
    }

    /// A packet for the output; call it for each in decoding order.
    /// - Throws: `badInput` for a damaged packet or record, `unsupported` where parameter sets change between key frames.
    public mutating func sample(_ packet: MediaPacket) throws(MediaError) -> Sample {
        var configuration = try packet.newConfiguration.map { (bytes) throws(MediaError) in try begin(bytes) }
        run = run ?? 0
        do throws(BitstreamError) {
            let (bytes, found, isKeyFrame) = try packet.withBytes { (bytes) throws(BitstreamError) in
                try split(bytes)
            }
            switch try sets.take(found, isKeyFrame: isKeyFrame) {
            case .none: break
            case .added(let new):
                record.add(new)
                let isExtension = configuration == nil
                configuration = configuration ?? TrackConfiguration(hvcC: [])
                configuration?.isExtension = isExtension
                configuration?.hvcC = try Self.written(record, keptLevel).bytes()
            case .replaced:
                // The SEI messages describe the content (alpha, HDR), not the parameter sets.
                record = try DecoderConfigurationRecord(nalUnits: sets.units + record.messages)
                configuration = TrackConfiguration(hvcC: try Self.written(record, keptLevel).bytes())
            }
            return Sample(bytes: bytes, configuration: configuration)
        } catch {
            guard error.code != .unsupported else { throw MediaError(.unsupported, "\(path): \(error.reason)") }
            throw MediaError(.badInput, "\(path): a packet is damaged: \(error.reason)")
        }
    }

    /// Begins another configuration of the source.
    private mutating func begin(_ bytes: [UInt8]) throws(MediaError) -> TrackConfiguration {
        let configuration = HEVCConfiguration(bytes)
        framing = configuration.framing
        do throws(BitstreamError) {
            record = try Self.record(bytes, configuration)
            sets = CopiedParameterSets(record.nalUnits)
            var result = TrackConfiguration(hvcC: try Self.written(record, keptLevel).bytes())
            result.boxes = nextEntry(bytes)?.children
            return result
        } catch {
            throw Self.damagedDescription(path, error)
        }
    }

    /// The sample entry that begins with a record.
    ///
    /// Several may have the same one, so it is the next one that has it.
    private mutating func nextEntry(_ record: [UInt8]) -> Box? {
        let isWanted = { (entry: Box) in entry.first("hvcC")?.fields == record }
        let next = entryRuns.indices.dropFirst(run.map { $0 + 1 } ?? 0).first { isWanted(entryRuns[$0]) }
        guard let next else { return entries.first(where: isWanted) }
        run = next
        return entryRuns[next]
    }

    /// A packet without its parameter sets (nil where it has none and its framing is the output's), the sets, and whether
    /// its picture is a key frame.
    private func split(
        _ packet: UnsafeRawBufferPointer
    ) throws(BitstreamError) -> (bytes: [UInt8]?, sets: [[UInt8]], isKeyFrame: Bool) {
        let isFramed = framing == .lengths(4)
        // A sample of an hvc1 track is kept as it is, damaged or not, unless it has parameter sets against the rules.
        if isComplete, isFramed, !SampleKind.hasParameterSets(packet, framing) { return (nil, [], false) }
        var sample: [UInt8] = []
        sample.reserveCapacity(packet.count + 64)
        var (sets, isKeyFrame) = ([[UInt8]](), false)
        func take(_ unit: ArraySlice<UInt8>) throws(BitstreamError) {
            guard !unit.isEmpty else { return }
            let header = try NALUnitHeader(nal: unit)
            if header.nalUnitType.isParameterSet { return sets.append(Array(unit)) }
            if header.nalUnitType.isIRAP, header.nuhLayerId == 0 { isKeyFrame = true }
            try LengthPrefixedNALUnits.append(unit, to: &sample)
        }
        switch framing {
        case .lengths(let size):
            var units = try LengthPrefixedNALUnits(Array(packet)[...], lengthSize: size)
            while let unit = try units.next() { try take(unit) }
        case .startCodes:
            for unit in AnnexB.NALUnits(Array(packet)) { try take(unit) }
        }
        return (sets.isEmpty && isFramed ? nil : sample, sets, isKeyFrame)
    }
}

extension DecoderConfigurationRecord {
    /// The NAL units that are no parameter sets.
    fileprivate var messages: [[UInt8]] {
        arrays.filter { !$0.nalUnitType.isParameterSet }.flatMap(\.nalUnits)
    }

    /// Adds the parameter sets that the record does not have.
    fileprivate mutating func add(_ sets: [[UInt8]]) {
        for nal in sets where !nalUnits.contains(nal) {
            guard let type = (try? NALUnitHeader(nal: nal))?.nalUnitType else { continue }
            if let index = arrays.firstIndex(where: { $0.nalUnitType == type }) {
                arrays[index].nalUnits.append(nal)
            } else {
                arrays.append(NALArray(arrayCompleteness: true, nalUnitType: type, nalUnits: [nal]))
            }
        }
    }
}
