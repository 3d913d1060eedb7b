// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

@testable import HWDHEVC

/// Streams divided into sub-layers decode to the same pictures, and so do their subsets.
@Suite struct TemporalRelabellerTests {
    private static let structure = [
        "--bframes", "7", "--b-adapt", "0", "--b-pyramid", "--scenecut", "0", "--ref", "1", "--rc-lookahead", "8",
        "--hash", "1",
    ]

    /// One slice and several, entry points of wavefronts, delimiters, weights, 10-bit samples, leading pictures.
    static let variants = [
        Variant(name: "plain", options: ["--aud"]), Variant(name: "slices", options: ["--slices", "3"]),
        Variant(name: "wavefronts", options: ["--wpp", "--ctu", "16", "--max-tu-size", "16"]),
        Variant(name: "weighted", options: ["--weightp", "--weightb", "--no-wpp"]),
        Variant(name: "ten bits", format: "yuv420p10le", options: ["--output-depth", "10"]),
        Variant(name: "open GOPs", options: ["--open-gop", "--keyint", "8", "--min-keyint", "8"]),
    ]

    private struct Stream {
        var parameterSets: [[UInt8]] = []
        /// Access units without parameter sets, as length-prefixed NAL units, and their picture order counts.
        var units: [(sample: [UInt8], poc: Int)] = []

        init(_ bytes: [UInt8]) throws {
            var (sets, detector, counter) = (ParameterSets(), AccessUnitDetector(), PictureOrderCount())
            for nal in AnnexB.NALUnits(bytes) {
                if try detector.startsAccessUnit(nal) { units.append(([], 0)) }
                if try sets.add(nal: nal) {
                    parameterSets.append(Array(nal))
                    continue
                }
                try LengthPrefixedNALUnits.append(nal, to: &units[units.count - 1].sample)
                guard try NALUnitHeader(nal: nal).nalUnitType.isSlice else { continue }
                let slice = try SliceSegment(nal: nal, parameterSets: sets).sliceHeader
                guard slice.firstSliceSegmentInPicFlag else { continue }
                let sps = try sets.active(ppsId: slice.slicePicParameterSetId).sps
                units[units.count - 1].poc = counter.next(slice, sps: sps)
            }
        }
    }

    /// The level of a frame of a group of eight.
    private func level(_ poc: Int) -> Int { poc % 8 == 0 ? 0 : 3 - (poc % 8).trailingZeroBitCount }

    private let subLayers = TemporalSubLayers(
        levelIdcs: [60, 60, 63],
        ordering: (1...4).map { SubLayerOrdering(maxDecPicBufferingMinus1: $0, maxNumReorderPics: min($0 - 1, 2)) })

    @Test(arguments: variants)
    func decodesEverySubset(variant: Variant) throws {
        let original = try variant.encode(more: Self.structure + ["--frames", "17"])
        let stream = try Stream(original)
        try #require(stream.units.count == 17)
        var relabeller = try TemporalRelabeller(parameterSets: stream.parameterSets)
        var head: [UInt8] = []
        for nal in stream.parameterSets { AnnexB.append(try divided(nal), to: &head) }
        var samples: [(level: Int, bytes: [UInt8])] = []
        for unit in stream.units {
            var sample: [UInt8] = []
            let level = level(unit.poc)
            let type = try relabeller.relabel(unit.sample[...], temporalID: level, into: &sample)
            let isLeading = type == .raslN || type == .raslR
            #expect(type.isTemporalSwitchingPoint == (level > 0 && !isLeading))
            samples.append((level, sample))
        }

        let whole = try frames(original)
        for top in 0...3 {
            var part = head
            for sample in samples where sample.level <= top {
                try AnnexB.append(lengthPrefixed: sample.bytes[...], to: &part)
            }
            let expected = whole.indices.filter { level($0) <= top }.map { whole[$0] }
            let found = try frames(part)
            #expect(found == expected, "up to sub-layer \(top): \(found.count) of \(expected.count) frames")
        }
    }

    private func divided(_ nal: [UInt8]) throws -> [UInt8] {
        switch try NALUnitHeader(nal: nal).nalUnitType {
        case .vps:
            var vps = try VideoParameterSet(nal: nal)
            try subLayers.divide(&vps)
            let bytes = try vps.nalUnit()
            #expect(try VideoParameterSet(nal: bytes) == vps)
            return bytes
        case .sps:
            var sps = try SequenceParameterSet(nal: nal)
            try subLayers.divide(&sps)
            let bytes = try sps.nalUnit()
            #expect(try SequenceParameterSet(nal: bytes) == sps)
            #expect(throws: BitstreamError.self) { try subLayers.divide(&sps) }
            return bytes
        default: return nal
        }
    }

    /// A checksum of every frame; ffmpeg verifies the picture hashes, too, and fails on errors.
    private func frames(_ stream: [UInt8]) throws -> [String] {
        let file = Clips.scratch("hevc")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(stream).write(to: file)
        let said = try Clips.run([
            "ffmpeg", "-v", "error", "-xerror", "-err_detect", "crccheck", "-f", "hevc", "-i", file.path,
            "-fps_mode",
            "passthrough", "-f", "framemd5", "-",
        ])
        #expect(said.errors.isEmpty, "\(said.errors.prefix(400))")
        return String(decoding: said.output, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { String($0.split(separator: ",").last ?? "") }
    }

    /// A picture that refers to a higher sub-layer is refused.
    @Test(arguments: [["--ref", "3"], ["--no-b-pyramid", "--bframes", "3"]])
    func refusesAStreamOfAnotherStructure(options: [String]) throws {
        let variant = Variant(name: "other", options: [])
        let stream = try Stream(try variant.encode(more: Self.structure + options + ["--frames", "24"]))
        var relabeller = try TemporalRelabeller(parameterSets: stream.parameterSets)
        let error = #expect(throws: BitstreamError.self) {
            for unit in stream.units {
                var sample: [UInt8] = []
                _ = try relabeller.relabel(unit.sample[...], temporalID: level(unit.poc), into: &sample)
            }
        }
        #expect(error?.code == .malformed)
    }

    @Test func refusesAKeyFrameInAHigherSubLayer() throws {
        let stream = try Stream(
            try Variant(name: "plain", options: []).encode(more: Self.structure + ["--frames", "1"]))
        var relabeller = try TemporalRelabeller(parameterSets: stream.parameterSets)
        var sample: [UInt8] = []
        #expect(throws: BitstreamError.self) {
            try relabeller.relabel(try #require(stream.units.first).sample[...], temporalID: 1, into: &sample)
        }
    }
}
