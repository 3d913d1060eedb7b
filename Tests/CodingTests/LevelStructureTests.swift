// SPDX-License-Identifier: GPL-2.0-or-later
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

@testable import HWDCoding

/// Temporal levels of streams whose picture order the session determines (hardware).
@Suite struct LevelStructureTests {
    private func plan(_ structure: PictureStructure, frames: Int, forced: Set<Int>) -> [PlannedPicture] {
        var planner = StructurePlanner(structure)
        var queue: [PlannedPicture] = []
        for frame in 0..<frames { planner.add(forceKeyFrame: forced.contains(frame), to: &queue) }
        planner.finish(into: &queue)
        return queue
    }

    static let structures: [PictureStructure] = [2, 3, 4, 5].flatMap { levels in
        (levels == 2 ? [1, 2, 4] : [1, 1 << (levels - 1)]).flatMap { distance in
            [1, 2].flatMap { references in
                [false, true].flatMap { isOpen in
                    [1, 3, 100].map {
                        PictureStructure(
                            anchorDistance: distance, anchorReferences: references,
                            keyFrameInterval: $0 * max(distance, 1 << (levels - 1)), isOpenGOP: isOpen,
                            isLowDelayB: !isOpen,
                            temporalLevels: levels)
                    }
                }
            }
        }
    }

    /// With any structure, length and forced key frames, every subset of lower levels can be decoded with the buffer size
    /// in the parameter sets, and shows every second, fourth, … frame.
    @Test(arguments: structures)
    func decodesEverySubset(structure: PictureStructure) throws {
        let group = structure.groupSize
        for frames in [1, 2, 3, 7, 8, 9, 16, 30, 41] {
            for forced in [[], [1], [5, 6], [3, 9, 10, 30]] as [Set<Int>] {
                let pictures = plan(structure, frames: frames, forced: forced)
                try #require(pictures.count == frames)
                let starts = forced.union([0])
                for picture in pictures {
                    let place = (picture.frame - (starts.filter { $0 <= picture.frame }.max() ?? 0)) % group
                    let level = place == 0 ? 0 : structure.temporalLevels - 1 - place.trailingZeroBitCount
                    #expect(picture.temporalID == level, "\(picture)")
                    let isLeading = picture.nalUnitType.isRASL
                    #expect(picture.nalUnitType.isTemporalSwitchingPoint == (level > 0 && !isLeading))
                }
                for (top, needs) in structure.subLayers.enumerated() {
                    var decoder = DecoderModel(needs: needs)
                    let part = pictures.filter { $0.temporalID <= top }
                    for picture in part { try decoder.decode(picture) }
                    decoder.bump(downTo: 0)
                    #expect(
                        decoder.shown == part.map(\.frame).sorted(), "\(structure), \(frames) frames, \(forced)")
                }
            }
        }
    }

    @Test func chainRefersToLowerLevels() {
        let pictures = plan(PictureStructure(anchorReferences: 2, temporalLevels: 4), frames: 10, forced: [])
        #expect(pictures.map(\.frame) == Array(0..<10))
        #expect(pictures.map(\.temporalID) == [0, 3, 2, 3, 1, 3, 2, 3, 0, 3])
        #expect(pictures.map(\.list0) == [[], [0], [0], [2, 0], [0], [4, 0], [4, 0], [6, 0], [0], [8]])
        #expect(pictures[4].nalUnitType == .tsaR && pictures[7].nalUnitType == .tsaN)
        #expect(PictureStructure.chainReferences(8) == 2 && PictureStructure.chainReferences(16) == 3)
    }

    private func structure(
        _ properties: [String: PropertyValue], _ limits: ReferenceLimits
    ) throws -> PictureStructure {
        var store = PropertyStore(backend: .vaapi)
        try store.set(["ExpectedFrameRate": .int(240)].merging(properties) { $1 }, isOpen: false)
        return PictureStructure(
            try EncoderConfiguration(request: .sample, properties: store), limits: limits)
    }

    @Test func choosesTheStructureByPropertiesAndLimits() throws {
        let plain = ReferenceLimits(list0: 8, list1: 8)
        let four: [String: PropertyValue] = ["BaseLayerFrameRate": .int(30)]
        var found = try structure(four, plain)
        #expect(found.anchorDistance == 8 && found.temporalLevels == 4 && found.maxDecPicBufferingMinus1 == 5)
        found = try structure(four.merging(["RealTime": .bool(true)]) { $1 }, plain)
        #expect(found.isChain && found.temporalLevels == 4 && found.reorderDepth == 0)
        found = try structure(four.merging(["MaxFrameDelayCount": .int(7)]) { $1 }, plain)
        #expect(found.isChain)
        found = try structure(four.merging(["MaxFrameDelayCount": .int(8)]) { $1 }, plain)
        #expect(found.anchorDistance == 8)
        // Two levels are in groups of four where latency and references allow.
        let two: [String: PropertyValue] = ["BaseLayerFrameRate": .int(120)]
        found = try structure(two, plain)
        #expect(found.anchorDistance == 4 && found.temporalLevels == 2 && found.reorderDepth == 2)
        #expect(found.subLayers.map(\.maxNumReorderPics) == [1, 2])
        found = try structure(two.merging(["MaxFrameDelayCount": .int(2)]) { $1 }, plain)
        #expect(found.anchorDistance == 2 && found.temporalLevels == 2)
        #expect(try structure(two, ReferenceLimits(list0: 1, list1: 1)).anchorDistance == 2)
        // Intel's low-power encoder: low-delay B pictures, three references in total.
        let low = ReferenceLimits(list0: 3, list1: 3, total: 3, allowsFuture: false, requiresLowDelayB: true)
        found = try structure(four, low)
        #expect(found.isChain && found.isLowDelayB && found.maxReferences <= 3)
        found = try structure(["BaseLayerFrameRate": .int(15)], plain)
        #expect(found.isChain && found.temporalLevels == 5)
        // One reference is not enough for a third level.
        #expect(try structure(four, ReferenceLimits(list0: 1)).temporalLevels == 1)
        #expect(try structure(["BaseLayerFrameRate": .int(120)], ReferenceLimits(list0: 1)).temporalLevels == 2)
        #expect(try structure(four, ReferenceLimits(list0: 0)).temporalLevels == 1)
    }
}
