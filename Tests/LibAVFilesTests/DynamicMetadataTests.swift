// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDHEVC
import Testing

@testable import HWDLibAVReading
@testable import HWDMetadata

/// What `hwctl info` reports of single pictures' metadata.
@Suite struct DynamicMetadataTests {
    /// The NAL units of a clip's byte stream.
    private func units(_ name: String) throws -> [[UInt8]] {
        let path = try Clips.path(name)
        let bytes =
            name.hasSuffix(".hevc")
            ? try Data(contentsOf: URL(filePath: path))
            : try run(
                "ffmpeg", "-v", "error", "-i", path, "-map", "0:v:0", "-c", "copy", "-f",
                name.contains("bbb_720p.mp4") ? "h264" : "hevc", "-")
        return AnnexB.NALUnits([UInt8](bytes)).map { Array($0) }
    }

    private func info(_ units: [[UInt8]], _ name: String = "made.hevc") throws -> VideoTrackInfo {
        let scratch = try Scratch()
        var stream: [UInt8] = []
        for unit in units { AnnexB.append(unit, to: &stream) }
        try Data(stream).write(to: URL(filePath: scratch.file(name)))
        return try #require(try MediaInfo(path: scratch.file(name)).video.first)
    }

    @Test func describesAnIPhonesDolbyVision() throws {
        let video = try MediaInfo(path: Clips.path("dolby_vision_84.mov")).video[0]
        let vision = try #require(video.dolbyVision)
        #expect(vision.profile == "8.4" && vision.level == 2 && vision.compatibilityID == 4 && vision.hasRecord)
        #expect(vision.compatibility == "HLG" && vision.hasEnhancementLayer == false)
        #expect(vision.rpuFrames == 5 && vision.missingRPUs == 0 && vision.damagedRPUs == 0)
        #expect(video.ambientViewing?.illuminance == 314 && video.ambientViewing?.light == [0.3127, 0.329])
        #expect(video.searchedFrames == nil && video.colorSegments == nil && video.hdr10Plus == nil)
    }

    /// Two of its RPUs follow an end of sequence, where libavformat's parser has ended the access unit.
    @Test func countsTheRPUsOfAByteStream() throws {
        let vision = try #require(try MediaInfo(path: Clips.path("dolby_vision_81.hevc")).video[0].dolbyVision)
        #expect(
            vision.profile == "8.1" && vision.level == nil && vision.compatibility == "HDR10" && !vision.hasRecord)
        #expect(vision.rpuFrames == 259 && vision.missingRPUs == 0 && vision.damagedRPUs == 0)
    }

    /// The bytes in front of a picture that belong to the one before it.
    @Test func accessUnitsAreCompleted() throws {
        let (eos, rpu, suffix): ([UInt8], [UInt8], [UInt8]) = (
            [0, 0, 1, 0x48, 1], [0, 0, 1, 0x7C, 1, 0x19], [0, 0, 1, 0x50, 1, 9]
        )
        let (aud, slice): ([UInt8], [UInt8]) = ([0, 0, 0, 1, 0x46, 1, 0x50], [0, 0, 1, 0x26, 1, 0xAF])
        let cases: [([UInt8], Int)] = [
            ([], 0), ([0, 0, 1], 0), (aud + slice + rpu, 0), (slice, 0), (eos + rpu + aud + slice + rpu, 11),
            (rpu + slice, 6), (suffix + eos + slice, 11), (eos, 5), (eos + rpu, 11), ([1, 2, 3, 4, 5, 6], 0),
            ([0] + eos + aud, 6),
        ]
        for (bytes, count) in cases {
            #expect(bytes.withUnsafeBytes { AccessUnitRemainder.byteCount($0) } == count, "\(bytes)")
        }
        var options = MediaReader.Options()
        options.decoding = .disabled
        let reader = try MediaReader(path: Clips.path("dolby_vision_81.hevc"), options: options)
        var packets = 0
        while case .packet(let packet)? = try reader.next() {
            let types = packet.withBytes { AnnexB.NALUnits(Array($0)).map { $0[$0.startIndex] >> 1 } }
            #expect(types.count { $0 == 62 } == 1 && types.last == 62, "packet \(packets): \(types)")
            packets += 1
        }
        #expect(packets == 259)
    }

    @Test func namesMissingAndDamagedRPUs() throws {
        var units = try units("dolby_vision_84.mov")
        let places = units.indices.filter { units[$0][0] == 0x7C }
        units[places[1]][50] ^= 1
        units.remove(at: places[3])
        let vision = try #require(try info(units).dolbyVision)
        #expect(vision.profile == "8.4" && !vision.hasRecord)
        #expect(vision.rpuFrames == 3 && vision.missingRPUs == 1 && vision.damagedRPUs == 1)
    }

    @Test func otherClipsHaveNoDolbyVision() throws {
        let video = try MediaInfo(path: Clips.path("hlg.mov")).video[0]
        #expect(video.dolbyVision == nil && video.ambientViewing == nil && video.captions == nil)
    }

    @Test func readsTheRecordOfMatroska() throws {
        let scratch = try Scratch()
        // libavformat writes the BlockAdditionMapping only on request.
        try run(
            "ffmpeg", "-v", "error", "-i", Clips.path("dolby_vision_84.mov"), "-map", "0:v", "-c", "copy",
            "-strict",
            "unofficial", scratch.file("a.mkv"))
        let vision = try #require(try MediaInfo(path: scratch.file("a.mkv")).video[0].dolbyVision)
        #expect(vision.profile == "8.4" && vision.hasRecord && vision.missingRPUs == 0)
    }

    /// Inserts a message before the first slice of every picture but the last.
    private func adding(_ message: SEIMessage, to units: [[UInt8]]) throws -> [[UInt8]] {
        let slices = units.indices.filter { units[$0][0] >> 1 < 32 && units[$0][2] >= 0x80 }
        let nal = try SEI(messages: [message]).nalUnit()
        return units.indices.flatMap { slices.dropLast().contains($0) ? [nal, units[$0]] : [units[$0]] }
    }

    @Test func countsHDR10Plus() throws {
        let units = try units("pq.mov")
        let pictures = units.count { $0[0] >> 1 < 32 && $0[2] >= 0x80 }
        let plus = try info(try adding(SEIMessage(.hdr10Plus(HDR10PlusMetadata())), to: units)).hdr10Plus
        #expect(plus?.frames == pictures - 1 && plus?.missing == 1 && plus?.damaged == 0)
        let cut = SEIMessage(payloadType: 4, payload: HDR10PlusMetadata.identifier + [1])
        #expect(try info(try adding(cut, to: units)).hdr10Plus?.damaged == pictures - 1)
    }

    @Test func namesCaptionsOfHEVCAndH264() throws {
        let captions = ClosedCaptions(constructs: [.init(type: 0, bytes: [0x94, 0x20]), .init(type: 3)])
        let message = try SEIMessage(.closedCaptions(captions))
        #expect(try info(try adding(message, to: units("raw.hevc"))).captions == ["CEA-608", "CEA-708"])
        // H.264's NAL unit header has one byte.
        let nal = [6] + (try SEI(messages: [message]).nalUnit().dropFirst(2))
        var h264 = try units("bbb_720p.mp4")
        let slice = try #require(h264.firstIndex { [1, 5].contains($0[0] & 31) })
        h264.insert(nal, at: slice)
        #expect(try info(h264, "made.h264").captions == ["CEA-608", "CEA-708"])
        #expect(try info(units("bbb_720p.mp4"), "made.h264").captions == nil)
    }

    @Test func listsColorsWhereTheyChange() throws {
        let (sdr, pq) = (try units("bbb_720p_main10.mp4"), try units("pq.mov"))
        let video = try info(sdr + pq)
        let segments = try #require(video.colorSegments)
        #expect(!video.hdr && segments.map(\.hdr) == [false, true])
        #expect(segments[0].firstFrame == 0 && segments[1].firstFrame == segments[0].frames)
        #expect(segments[1].color.transfer.code == 16 && segments[1].color.primaries.code == 9)
        let scratch = try Scratch()
        var stream: [UInt8] = []
        for unit in sdr + pq { AnnexB.append(unit, to: &stream) }
        try Data(stream).write(to: URL(filePath: scratch.file("joined.hevc")))
        #expect(try MediaInfo(path: scratch.file("joined.hevc")).containsHDRVideo)
    }

    @Test func sampleEntriesOfAMovieAreSegments() throws {
        let video = try MediaInfo(path: Clips.path("entries/depth.mov"))
        #expect(video.video[0].sampleEntries == 2 && video.video[0].colorSegments == nil)
    }
}
