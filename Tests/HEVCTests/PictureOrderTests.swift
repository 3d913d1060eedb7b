// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

@testable import HWDHEVC

@Suite struct PictureOrderTests {
    /// One access unit as this module parses it.
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
        "Access units equal the file's samples, and POC orders them by presentation time",
        arguments: (Clips.hevc + Clips.layered).filter { !$0.hasSuffix(".hevc") })
    func ordersPicturesOfClips(name: String) throws { try checkOrder(name) }

    @Test(
        "Access units of large clips equal the file's samples, and POC orders them by presentation time",
        .needsMediaSet, arguments: (Clips.largeHEVC + Clips.largeLayered).filter { !$0.hasSuffix(".hevc") })
    func ordersPicturesOfLargeClips(name: String) throws { try checkOrder(name) }

    /// Compares with the packets that ffprobe lists.
    private func checkOrder(_ name: String) throws {
        let found = try Self.pictures(try Clips.annexB(name))
        let listing = try Clips.run([
            "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts,flags", "-of",
            "csv=p=0", try Clips.url(name).path,
        ]).output
        let packets = String(decoding: listing, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: ",")
            return fields.count >= 2 ? (pts: Int(fields[0]) ?? -1, isKey: fields[1].hasPrefix("K")) : nil
        }
        #expect(found.count == packets.count && found.count > 1)
        #expect(found.map(\.isIRAP) == packets.map(\.isKey))
        let byPoc = found.indices.sorted {
            (found[$0].sequence, found[$0].poc) < (found[$1].sequence, found[$1].poc)
        }
        #expect(byPoc == packets.indices.sorted { packets[$0].pts < packets[$1].pts })
    }

    @Test("POC equals the value that x265 logs", arguments: ["open GOPs", "closed GOPs", "defaults"])
    func matchesEncoderLog(name: String) throws {
        let variant = try #require(Variant.all.first { $0.name == name })
        let log = Clips.scratch("csv")
        defer { try? FileManager.default.removeItem(at: log) }
        let found = try Self.pictures(try variant.encode(more: ["--csv", log.path, "--csv-log-level", "1"]))
        let rows = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").map {
            $0.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let column = try #require(rows.first?.firstIndex(of: "POC"))
        let logged = rows.dropFirst().compactMap { $0.count > column ? Int($0[column]) : nil }.prefix(24)
        // x265 logs the distance to the last IDR picture or the frame number; both order pictures in the same way.
        var base = 0
        var ours: [Int] = []
        for picture in found {
            if picture.poc == 0, picture.isIRAP { base = ours.max().map { $0 + 1 } ?? 0 }
            ours.append(base + picture.poc)
        }
        #expect(found.map(\.poc) == Array(logged) || ours == Array(logged))
        #expect(logged.count == 24)
    }

    @Test func wrapsLSBInBothDirections() {
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
