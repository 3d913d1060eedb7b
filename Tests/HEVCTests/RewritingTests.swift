// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

@testable import HWDHEVC

/// Streams with changed headers decode to the same pictures.
@Suite struct RewritingTests {
    static let variants = Variant.all.filter {
        ["defaults", "slices", "wavefronts", "weighted", "open GOPs", "five references"].contains($0.name)
    }

    @Test("Parameter set ids can be changed throughout a stream", arguments: variants)
    func changesIds(variant: Variant) throws {
        try check(variant) { nal, sets in
            switch try NALUnitHeader(nal: nal).nalUnitType {
            case .sps:
                var sps = try SequenceParameterSet(nal: nal)
                sps.spsSeqParameterSetId = 7
                return try sps.nalUnit()
            case .pps:
                var pps = try PictureParameterSet(nal: nal)
                (pps.ppsPicParameterSetId, pps.ppsSeqParameterSetId) = (33, 7)
                return try pps.nalUnit()
            case let type where type.isSlice:
                var slice = try SliceSegment(nal: nal, parameterSets: sets)
                slice.sliceHeader.slicePicParameterSetId = 33
                var renamed = sets
                var (sps, pps) = try sets.active(ppsId: 0)
                (sps.spsSeqParameterSetId, pps.ppsPicParameterSetId, pps.ppsSeqParameterSetId) = (7, 33, 7)
                renamed.add(sps)
                renamed.add(pps)
                return try slice.nalUnit(parameterSets: renamed)
            default: return Array(nal)
            }
        }
    }

    @Test("Reference picture sets can be moved into slice headers", arguments: variants)
    func movesReferenceSets(variant: Variant) throws {
        var moved = 0
        try check(variant) { nal, sets in
            guard try NALUnitHeader(nal: nal).nalUnitType.isSlice else { return Array(nal) }
            var slice = try SliceSegment(nal: nal, parameterSets: sets)
            if let references = slice.sliceHeader.references {
                let set = references.shortTermRefPicSet
                slice.sliceHeader.references?.shortTermRefPicSetIdx = nil
                slice.sliceHeader.references?.shortTermRefPicSet = ShortTermRefPicSet(
                    negativePics: set.negativePics, positivePics: set.positivePics)
                moved += 1
            }
            return try slice.nalUnit(parameterSets: sets)
        }
        #expect(moved > 10)
    }

    /// Changes each NAL unit of a stream and compares the checksums of the pictures that ffmpeg decodes.
    private func check(
        _ variant: Variant, _ change: (ArraySlice<UInt8>, ParameterSets) throws -> [UInt8]
    ) throws {
        let stream = try variant.encode()
        var (sets, changed) = (ParameterSets(), [UInt8]())
        for nal in AnnexB.NALUnits(stream) {
            try sets.add(nal: nal)
            AnnexB.append(try change(nal, sets), to: &changed)
        }
        #expect(changed != stream)
        let (before, after) = (try decode(stream), try decode(changed))
        #expect(before.count { $0 == "\n" } > 24)
        #expect(before == after)
    }

    private func decode(_ stream: [UInt8]) throws -> String {
        let file = Clips.scratch("hevc")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(stream).write(to: file)
        return String(
            decoding: try Clips.run([
                "ffmpeg", "-v", "error", "-xerror", "-f", "hevc", "-i", file.path, "-f", "framemd5", "-",
            ]).output, as: UTF8.self)
    }
}
