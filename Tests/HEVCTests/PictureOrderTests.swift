// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

@testable import HWDHEVC

@Suite struct PictureOrderTests {
    /// One access unit as this module finds it.
    struct Picture {
        var bytes = 0
        var sequence = 0
        var poc = 0
        var isIRAP = false
    }

    static func pictures(_ stream: [UInt8]) throws -> [Picture] {
        var (sets, detector, counter) = (ParameterSets(), AccessUnitDetector(), PictureOrderCount())
        var (pictures, sequence): ([Picture], Int) = ([], 0)
        for nal in AnnexB.NALUnits(stream) {
            if try detector.startsAccessUnit(nal) { pictures.append(Picture()) }
            try sets.add(nal: nal)
            let header = try NALUnitHeader(nal: nal)
            if header.nalUnitType == .eos { counter.endOfSequence() }
            pictures[pictures.count - 1].bytes += nal.count
            guard header.nalUnitType.isSlice, header.nuhLayerId == 0 else { continue }
            let slice = try SliceSegment(nal: nal, parameterSets: sets).sliceHeader
            guard slice.firstSliceSegmentInPicFlag else { continue }
            if header.nalUnitType.isIDR { sequence += 1 }
            let sps = try sets.active(ppsId: slice.slicePicParameterSetId).sps
            pictures[pictures.count - 1].sequence = sequence
            pictures[pictures.count - 1].poc = counter.next(slice, sps: sps)
            pictures[pictures.count - 1].isIRAP = header.nalUnitType.isIRAP
        }
        return pictures
    }

    @Test(
        "access units are the file's samples, and POC orders them as their presentation times do",
        arguments: [
            "natural_1024x768_hevc_2tracks.mp4", "hdr_hlg_1080p_real.mp4", "hevc_854x480_bframes.mp4",
            "made_sdr10bit_720p.mp4", "made_pq_hdr10_720p.mov", "made_hlg_720p.mov", "hevc_854x480.ts",
            "dv84_iphone_720p.MOV", "made_hevc_alpha_x265v4.mov",
        ])
    func clips(name: String) throws {
        guard let shared = Clips.shared, let stream = try Clips.annexB(name) else { return }
        let found = try Self.pictures(stream)
        let listing = try Clips.run([
            "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts,flags", "-of",
            "csv=p=0", shared.appendingPathComponent(name).path,
        ]).output
        let packets = String(decoding: listing, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: ",")
            return fields.count >= 2 ? (pts: Int(fields[0]) ?? -1, isKey: fields[1].hasPrefix("K")) : nil
        }
        #expect(found.count == packets.count)
        #expect(found.map(\.isIRAP) == packets.map(\.isKey))
        let byPoc = found.indices.sorted {
            (found[$0].sequence, found[$0].poc) < (found[$1].sequence, found[$1].poc)
        }
        #expect(byPoc == packets.indices.sorted { packets[$0].pts < packets[$1].pts })
    }

    @Test("POC is the one x265 logs", arguments: ["open GOPs", "closed GOPs", "defaults"])
    func encoderLog(name: String) throws {
        let variant = try #require(Variant.all.first { $0.name == name })
        let log = Clips.scratch("csv")
        defer { try? FileManager.default.removeItem(at: log) }
        let found = try Self.pictures(try variant.encode(more: ["--csv", log.path, "--csv-log-level", "1"]))
        let rows = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").map {
            $0.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let column = try #require(rows.first?.firstIndex(of: "POC"))
        let logged = rows.dropFirst().compactMap { $0.count > column ? Int($0[column]) : nil }.prefix(24)
        // x265 logs the distance to the last IDR picture or the frame number; both give the same order.
        var base = 0
        var ours: [Int] = []
        for picture in found {
            if picture.poc == 0, picture.isIRAP { base = ours.max().map { $0 + 1 } ?? 0 }
            ours.append(base + picture.poc)
        }
        #expect(found.map(\.poc) == Array(logged) || ours == Array(logged))
        #expect(logged.count == 24)
    }

    @Test func lsbWrapsBothWays() {
        var counter = PictureOrderCount()
        let sps = SequenceParameterSet()  // MaxPicOrderCntLsb 16
        let steps: [(NALUnitType, lsb: Int, expected: Int)] = [
            (.idrWRADL, 0, 0), (.trailR, 8, 8), (.trailN, 4, 4), (.trailR, 15, 15), (.trailR, 3, 19),
            (.raslR, 14, 14), (.trailR, 10, 26), (.craNUT, 2, 34), (.raslN, 15, 31), (.trailR, 9, 41),
        ]
        for step in steps {
            var slice = SliceSegmentHeader(NALUnitHeader(step.0))
            slice.slicePicOrderCntLsb = step.lsb
            #expect(counter.next(slice, sps: sps) == step.expected)
        }
        counter.endOfSequence()
        var slice = SliceSegmentHeader(NALUnitHeader(.craNUT))
        slice.slicePicOrderCntLsb = 5
        #expect(counter.next(slice, sps: sps) == 5)
    }
}
