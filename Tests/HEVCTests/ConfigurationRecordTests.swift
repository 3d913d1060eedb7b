// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

@testable import HWDHEVC

@Suite struct ConfigurationRecordTests {
    @Test("The record of a stream equals the one of libavformat's muxer", arguments: Variant.all)
    func matchesMuxer(variant: Variant) throws {
        try compareWithMuxer(try variant.encode())
    }

    @Test(
        "A spatial segmentation in the VUI sets the parallelism type as libavformat does",
        arguments: [("wavefronts", 3), ("weighted", 1)])
    func parallelism(name: String, type: Int) throws {
        let variant = try #require(Variant.all.first { $0.name == name })
        var stream: [UInt8] = []
        for nal in AnnexB.NALUnits(try variant.encode()) {
            // Three-byte start codes: ffmpeg 5.1 appends the zero byte of a longer one to the parameter set before it.
            stream += [0, 0, 1]
            guard var sps = try? SequenceParameterSet(nal: nal) else {
                stream += nal
                continue
            }
            sps.vuiParameters = sps.vuiParameters ?? VUIParameters()
            sps.vuiParameters?.bitstreamRestriction = BitstreamRestriction()
            sps.vuiParameters?.bitstreamRestriction?.minSpatialSegmentationIdc = 40
            stream += try sps.nalUnit()
        }
        let record = try compareWithMuxer(stream)
        #expect(record.parallelismType == type && record.minSpatialSegmentationIdc == 40)
    }

    @Test func mergesSeveralParameterSetsAsTheStandardRequires() throws {
        let (vps, first, pps) = (SyntheticStream.vps(), try SyntheticStream.sps(), SyntheticStream.pps())
        var second = first
        second.spsSeqParameterSetId = 4
        second.profileTierLevel.generalLevelIdc = 150
        second.profileTierLevel.general?.frameOnlyConstraintFlag = false
        second.vuiParameters?.bitstreamRestriction?.minSpatialSegmentationIdc = 4
        var wavefronts = pps
        wavefronts.ppsPicParameterSetId = 6
        wavefronts.tiles = nil
        wavefronts.entropyCodingSyncEnabledFlag = true
        let units = [
            try wavefronts.nalUnit(), try second.nalUnit(), try pps.nalUnit(), try first.nalUnit(),
            try first.nalUnit(), try vps.nalUnit(),
        ]
        let record = try DecoderConfigurationRecord(nalUnits: units)
        #expect(record.arrays.map(\.nalUnitType) == [.vps, .sps, .pps])
        #expect(record.arrays.map(\.nalUnits.count) == [1, 2, 2])
        #expect(record.generalLevelIdc == 150 && !record.profile.frameOnlyConstraintFlag)
        #expect(record.minSpatialSegmentationIdc == 4 && record.parallelismType == 0)
        #expect(record.numTemporalLayers == 3 && !record.temporalIdNested && record.bitDepthLumaMinus8 == 2)
        second.profileTierLevel.general?.tierFlag = true
        second.profileTierLevel.generalLevelIdc = 120
        let tiled = try DecoderConfigurationRecord(
            nalUnits: [try vps.nalUnit(), try first.nalUnit(), try second.nalUnit(), try pps.nalUnit()],
            completeness: false)
        #expect(tiled.profile.tierFlag && tiled.generalLevelIdc == 120 && tiled.parallelismType == 2)
        #expect(tiled.arrays.allSatisfy { !$0.arrayCompleteness })
    }

    /// A record covers those that differ in what it promises more of, and in what no slice depends on.
    @Test func coversStreamsThatNeedNoOtherParameterSets() throws {
        func record(_ change: (inout SequenceParameterSet) -> Void) throws -> DecoderConfigurationRecord {
            var sps = try SyntheticStream.sps()
            change(&sps)
            return try DecoderConfigurationRecord(
                nalUnits: [
                    try SyntheticStream.vps().nalUnit(), try sps.nalUnit(), try SyntheticStream.pps().nalUnit(),
                ])
        }
        let level = try SyntheticStream.sps().profileTierLevel.generalLevelIdc
        let usual = try record { _ in }
        #expect(usual.covers(usual))
        let higher = try record { $0.profileTierLevel.generalLevelIdc = level + 30 }
        #expect(higher.covers(usual) && !usual.covers(higher))
        let highTier = try record { $0.profileTierLevel.general?.tierFlag.toggle() }
        #expect(highTier.covers(usual) != usual.covers(highTier))
        let faster = try record { $0.vuiParameters?.timingInfo?.timeScale = 12345 }
        #expect(faster.covers(usual) && usual.covers(faster))
        let deeper = try record { $0.orderingInfo.subLayers[0].maxDecPicBufferingMinus1 += 1 }
        #expect(deeper.covers(usual) && !usual.covers(deeper))
        let other = try record { $0.log2MaxPicOrderCntLsbMinus4 += 1 }
        #expect(!other.covers(usual) && !usual.covers(other))
        var described = usual
        let text = SEI(messages: [SEIMessage(payloadType: 5, payload: Array(repeating: 7, count: 20))])
        described.arrays.append(
            DecoderConfigurationRecord.NALArray(
                arrayCompleteness: false, nalUnitType: .prefixSEI, nalUnits: [try text.nalUnit()]))
        #expect(described.covers(usual) && usual.covers(described))
    }

    /// Muxes a stream, compares the record in the file with this module's, and returns that.
    @discardableResult
    private func compareWithMuxer(_ stream: [UInt8]) throws -> DecoderConfigurationRecord {
        let (raw, movie) = (Clips.scratch("hevc"), Clips.scratch("mp4"))
        defer { for file in [raw, movie] { try? FileManager.default.removeItem(at: file) } }
        try Data(stream).write(to: raw)
        _ = try Clips.run([
            "ffmpeg", "-v", "error", "-i", raw.path, "-c", "copy", "-tag:v", "hvc1", movie.path,
        ])
        let theirs = try #require(Self.records(in: [UInt8](try Data(contentsOf: movie))).first)
        let sets = try AnnexB.NALUnits(stream).map { Array($0) }
            .filter { try NALUnitHeader(nal: $0).nalUnitType.isParameterSet }
        let ours = try DecoderConfigurationRecord(nalUnits: sets)
        #expect(try ours.bytes() == theirs)
        #expect(try DecoderConfigurationRecord(bytes: theirs) == ours)
        return ours
    }

    @Test(
        "Rewrites the records of files byte for byte",
        arguments: [
            "bframes.mp4", "pq.mov", "hlg.mov", "two_tracks.mp4", "fps240.mp4", "bbb_720p_main10.mp4",
            "dolby_vision_84.mov", "bbb_alpha.mov", "still.heic",
        ])
    func rewritesRecordsOfFiles(name: String) throws { try checkRewriting(name) }

    @Test(
        "Rewrites the records of large files byte for byte", .needsMediaSet,
        arguments: [
            "natural_1024x768_hevc_2tracks.mp4", "hdr_hlg_1080p_real.mp4", "dv84_iphone_720p.MOV",
            "hevc_854x480_bframes.mp4", "made_sdr10bit_720p.mp4", "made_pq_hdr10_720p.mov",
            "made_hevc_alpha_x265v4.mov", "still_arrow.heic", "still_3images.heic", "still_exif_xmp.heic",
            "still_androidx.heic",
        ])
    func rewritesRecordsOfLargeFiles(name: String) throws { try checkRewriting(name) }

    private func checkRewriting(_ name: String) throws {
        let records = Self.records(in: try Clips.bytes(name))
        #expect(!records.isEmpty)
        for record in records {
            let parsed = try DecoderConfigurationRecord(bytes: record)
            #expect(try parsed.bytes() == record)
            let sps = try #require(parsed.arrays.first { $0.nalUnitType == .sps }?.nalUnits.first)
            let size = try SequenceParameterSet(nal: sps)
            #expect(size.width > 0 && size.height > 0 && size.bitDepthLumaMinus8 == parsed.bitDepthLumaMinus8)
        }
    }

    @Test func refusesARecordWithoutParameterSets() {
        #expect(throws: BitstreamError.self) { try DecoderConfigurationRecord(nalUnits: []) }
        #expect { try DecoderConfigurationRecord(nalUnits: [[0x02, 0x01, 0x80]]) } throws: {
            ($0 as? BitstreamError)?.code == .unsupported
        }
    }

    @Test func refusesALengthSizeOfThree() throws {
        var bytes = try DecoderConfigurationRecord().bytes()
        #expect(bytes.count == 23)
        bytes[21] = (bytes[21] & 0xFC) | 2
        #expect(throws: BitstreamError.self) { try DecoderConfigurationRecord(bytes: bytes) }
    }

    /// The bodies of all hvcC boxes of a file, found by their name.
    static func records(in file: [UInt8]) -> [[UInt8]] {
        let name = Array("hvcC".utf8)
        var result: [[UInt8]] = []
        var index = 4
        while index + 4 <= file.count {
            if file[index] == name[0], Array(file[index..<(index + 4)]) == name {
                let size = file[(index - 4)..<index].reduce(0) { $0 << 8 | Int($1) }
                if size >= 8 + 23, index - 4 + size <= file.count {
                    result.append(Array(file[(index + 4)..<(index - 4 + size)]))
                }
            }
            index += 1
        }
        return result
    }
}
