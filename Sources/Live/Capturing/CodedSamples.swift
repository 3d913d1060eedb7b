// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDHEVC
internal import HWMovies

/// The access units of a source that codes itself, as samples of a movie: parameter sets are in the sample entry alone.
struct CodedSamples {
    /// An access unit as a sample.
    struct Sample {
        /// NAL units behind lengths of 4 bytes.
        var bytes: [UInt8]
        /// How it and what follows are coded, where that has changed.
        var configuration: CaptureFiles.Configuration?
        /// In pixels, with `configuration`.
        var size: (width: Int, height: Int)?
    }

    /// A parameter set's type and number.
    private struct Key: Hashable, Comparable {
        var type: UInt8
        var layer: UInt8 = 0
        var id: UInt32

        static func < (one: Key, other: Key) -> Bool {
            (one.type, one.layer, one.id) < (other.type, other.layer, other.id)
        }
    }

    private let codec: CaptureCodec
    /// The color that the source states, for streams that state none.
    private let color: MovieColor?
    private var sets: [Key: [UInt8]] = [:]
    private var isConfigured = false

    /// `nal_unit_type`s (H.264 table 7-1, H.265 table 7-1).
    private static let (h264SPS, h264PPS, vps, sps, pps): (UInt8, UInt8, UInt8, UInt8, UInt8) = (7, 8, 32, 33, 34)

    init(_ codec: CaptureCodec, color: MovieColor?) { (self.codec, self.color) = (codec, color) }

    /// Takes an access unit of Annex B.
    /// - Throws: where it cannot be written; nothing has changed then.
    mutating func take(_ unit: [UInt8]) throws(BitstreamError) -> Sample {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(unit.count + 16)
        var found: [(key: Key, bytes: [UInt8])] = []
        for nal in AnnexB.NALUnits(unit) {
            if let key = try key(of: nal) {
                found.append((key, Array(nal)))
            } else {
                try LengthPrefixedNALUnits.append(nal, to: &bytes)
            }
        }
        guard UInt64(bytes.count) <= MovieLimits.packetSize, hasPicture(bytes) else {
            throw BitstreamError(.malformed, "an access unit has no picture that a movie can hold")
        }
        var next = sets
        // Another sequence parameter set ends the picture parameter sets that referred to the one before (H.264 7.4.1.2.1).
        let types = codec == .h264 ? (Self.h264SPS, Self.h264PPS) : (Self.sps, Self.pps)
        let isOther = found.contains { set in
            set.key.type == types.0 && next[set.key].map { $0 != set.bytes } ?? false
        }
        if isOther, found.contains(where: { $0.key.type == types.1 }) {
            next = next.filter { $0.key.type != types.1 }
        }
        for (key, set) in found { next[key] = set }
        var sample = Sample(bytes: bytes)
        if !isConfigured || next != sets {
            (sample.configuration, sample.size) = try configuration(next)
            (sets, isConfigured) = (next, true)
        }
        return sample
    }

    /// The key of a parameter set; nil for other NAL units.
    private func key(of nal: ArraySlice<UInt8>) throws(BitstreamError) -> Key? {
        let first = nal[nal.startIndex]
        guard codec == .hevc else {
            let type = first & 31
            if type == Self.h264SPS { return Key(type: type, id: try H264SequenceSet(nal: nal).id) }
            guard type == Self.h264PPS else { return nil }
            var reader = BitReader(EmulationPrevention.remove(from: nal.dropFirst()))
            let id = try reader.readUE()
            guard id < 256 else { throw BitstreamError(.outOfRange, "a parameter set has the number \(id)") }
            return Key(type: type, id: id)
        }
        let type = first >> 1 & 63
        guard (Self.vps...Self.pps).contains(type) else { return nil }
        let layer = UInt8(try NALUnitHeader(nal: nal).nuhLayerId)
        let id: Int
        switch type {
        case Self.vps: id = try VideoParameterSet(nal: nal).vpsVideoParameterSetId
        case Self.sps: id = try SequenceParameterSet(nal: nal).spsSeqParameterSetId
        default: id = try PictureParameterSet(nal: nal).ppsPicParameterSetId
        }
        return Key(type: type, layer: layer, id: UInt32(id))
    }

    private func hasPicture(_ sample: [UInt8]) -> Bool {
        if codec == .hevc { return sample.withUnsafeBytes { SampleKind($0, .lengths(4)) != nil } }
        guard var units = try? LengthPrefixedNALUnits(sample[...]) else { return false }
        while let unit = try? units.next() {
            if let first = unit.first, first & 0x80 == 0, (1...5).contains(first & 31) { return true }
        }
        return false
    }

    private func configuration(
        _ sets: [Key: [UInt8]]
    ) throws(BitstreamError) -> (CaptureFiles.Configuration, (width: Int, height: Int)) {
        let ordered = sets.sorted { $0.key < $1.key }
        guard codec == .hevc else {
            let sequences = ordered.filter { $0.key.type == Self.h264SPS }.map(\.value)
            guard let first = sequences.first else {
                throw BitstreamError(.missingParameterSet, "there is no sequence parameter set")
            }
            let set = try H264SequenceSet(nal: first[...])
            let record = try set.record(sequences, ordered.filter { $0.key.type == Self.h264PPS }.map(\.value))
            var settings = CodedVideoTrackSettings(
                timeScale: CaptureFiles.timeScale, type: "avc1", width: UInt16(set.width),
                height: UInt16(set.height), configuration: Box("avcC", record))
            settings.color = set.color ?? color
            return (.coded(settings), (set.width, set.height))
        }
        let record = try DecoderConfigurationRecord(nalUnits: ordered.map(\.value))
        guard
            let set = record.nalUnits.lazy.compactMap({ try? SequenceParameterSet(nal: $0) })
                .first(where: { $0.header.nuhLayerId == 0 }), (1...0xFFFF).contains(set.width),
            (1...0xFFFF).contains(set.height)
        else { throw BitstreamError(.outOfRange, "the pictures have a size that no movie can hold") }
        let own = set.colourDescription.map {
            MovieColor(
                primaries: $0.colourPrimaries, transfer: $0.transferCharacteristics, matrix: $0.matrixCoeffs,
                isFullRange: set.isFullRange)
        }
        return (.hevc(try record.bytes(), color: own ?? color), (set.width, set.height))
    }
}
