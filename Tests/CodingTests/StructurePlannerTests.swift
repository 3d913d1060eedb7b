// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

/// The decoded picture buffer of H.265 C.5.2, which decodes a plan.
struct DecoderModel {
    let needs: SubLayerOrdering
    /// PicOrderCntVal of pictures in the buffer; true while one waits for output.
    var buffer: [Int: Bool] = [:]
    /// PicOrderCntVal of the pictures that a later one may refer to.
    var references: Set<Int> = []
    var shown: [Int] = []
    var start = 0
    var fullest = 0
    /// Of the last IRAP picture, and the pictures decoded before it.
    var randomAccess: (poc: Int, before: Set<Int>) = (0, [])
    var types: [Int: NALUnitType] = [:]

    mutating func decode(_ picture: PlannedPicture) throws {
        if picture.kind == .idr {
            bump(downTo: 0)
            buffer = [:]
            references = []
            types = [:]
            start = picture.frame
        }
        try #require(picture.frame == start + picture.poc)
        try checkReferences(picture)
        if picture.isKeyFrame { randomAccess = (picture.poc, Set(types.keys)) }

        let kept = Set(picture.kept)
        try #require(kept.isSubset(of: references), "\(picture) keeps what is not there")
        references = kept
        for poc in buffer.keys where buffer[poc] == false && !kept.contains(poc) { buffer[poc] = nil }
        // C.5.2.2: room for the picture, and at most sps_max_num_reorder_pics waiting for output.
        while waiting > needs.maxNumReorderPics || buffer.count > needs.maxDecPicBufferingMinus1 {
            try #require(waiting > 0, "the buffer is full of references")
            bumpOne()
        }
        buffer[picture.poc] = true
        references.insert(picture.poc)
        types[picture.poc] = picture.nalUnitType
        fullest = max(fullest, buffer.count)
        while waiting > needs.maxNumReorderPics { bumpOne() }
    }

    private var waiting: Int { buffer.values.count { $0 } }

    private mutating func bumpOne() {
        if let poc = buffer.filter(\.value).keys.min() {
            shown.append(start + poc)
            buffer[poc] = references.contains(poc) ? false : nil
        }
    }

    mutating func bump(downTo count: Int) { while waiting > count { bumpOne() } }

    /// The rules of 7.4.2.2, 8.3.2 and 8.3.4.
    private func checkReferences(_ picture: PlannedPicture) throws {
        let set = picture.referencePictureSet
        let before = set.negativePics.filter(\.usedByCurrPic).map { picture.poc + $0.deltaPoc }
        let after = set.positivePics.filter(\.usedByCurrPic).map { picture.poc + $0.deltaPoc }
        // Without list modification the lists are StCurrBefore, StCurrAfter and the other way round (8-8, 8-10).
        #expect(picture.list0 == Array((before + after).prefix(picture.list0.count)))
        #expect(picture.list1 == Array((after + before).prefix(picture.list1.count)))
        #expect(Set(picture.list0 + picture.list1) == Set(before + after), "used_by_curr_pic of unused pictures")
        #expect(picture.isIntra == picture.list0.isEmpty)
        for poc in picture.list0 + picture.list1 {
            let type = try #require(types[poc])
            #expect(!type.isSubLayerNonReference, "\(picture.poc) refers to \(poc), a \(type)")
        }
        let leads = picture.poc < randomAccess.poc
        #expect(picture.isKeyFrame || picture.nalUnitType.isRASL == leads)
        if !leads, !picture.isKeyFrame {
            // A trailing picture keeps neither pictures before the IRAP picture nor its leading pictures.
            #expect(picture.kept.allSatisfy { $0 >= randomAccess.poc && !randomAccess.before.contains($0) })
        }
        if picture.kind == .cra { #expect(before.isEmpty && after.isEmpty) }
    }
}

@Suite struct StructurePlannerTests {
    private func plan(_ structure: PictureStructure, frames: Int, forced: Set<Int> = []) -> [PlannedPicture] {
        var planner = StructurePlanner(structure)
        var queue: [PlannedPicture] = []
        for frame in 0..<frames {
            planner.add(forceKeyFrame: forced.contains(frame), to: &queue)
            #expect(planner.framesHeld < structure.anchorDistance)
            #expect(queue.count + planner.framesHeld == frame + 1)
        }
        planner.finish(into: &queue)
        return queue
    }

    static let structures: [PictureStructure] = [1, 2, 4, 8].flatMap { distance in
        [1, 2, 3].flatMap { references in
            [1, 2, 7, 8, 30, 1000].flatMap { interval in
                [false, true].flatMap { isOpen in
                    [false, true].map {
                        PictureStructure(
                            anchorDistance: distance, anchorReferences: references, keyFrameInterval: interval,
                            isOpenGOP: isOpen && distance > 1, isLowDelayB: $0)
                    }
                }
            }
        }
    }

    /// With any structure, length and forced key frames, a decoder outputs every frame once and in order.
    @Test(arguments: structures)
    func decodesEveryPlan(structure: PictureStructure) throws {
        for frames in [1, 2, 3, 4, 5, 9, 16, 31, 64] {
            for forced in [[], [1], [5, 6], [3, 9, 10, 30]] as [Set<Int>] {
                let pictures = plan(structure, frames: frames, forced: forced)
                #expect(pictures.count == frames)
                var decoder = DecoderModel(needs: try #require(structure.subLayers.last))
                for picture in pictures { try decoder.decode(picture) }
                decoder.bump(downTo: 0)
                #expect(decoder.shown == Array(0..<frames), "\(structure), \(frames) frames, \(forced)")
                #expect(pictures.allSatisfy { $0.kept.count <= structure.maxReferences })
                #expect(decoder.fullest <= 6 || structure.anchorDistance == 8, "\(decoder.fullest) pictures")
                checkKeyFrames(pictures, structure, forced: forced)
            }
        }
    }

    private func checkKeyFrames(_ pictures: [PlannedPicture], _ structure: PictureStructure, forced: Set<Int>) {
        let keys = pictures.filter(\.isKeyFrame)
        for (one, next) in zip(keys, keys.dropFirst()) {
            #expect(next.frame - one.frame <= structure.keyFrameInterval)
        }
        #expect(pictures.count - (keys.last?.frame ?? 0) <= structure.keyFrameInterval)
        #expect(forced.filter { $0 < pictures.count }.isSubset(of: Set(keys.map(\.frame))))
        // No picture after a forced key frame, or any key frame of closed GOPs, is shown before it.
        var latest = 0
        for picture in pictures {
            if picture.kind == .idr { latest = picture.frame }
            #expect(picture.frame >= latest)
        }
        if !structure.isOpenGOP { #expect(keys.allSatisfy { $0.kind == .idr }) }
    }

    @Test func plansTheUsualPyramid() {
        let pictures = plan(PictureStructure(anchorDistance: 4, anchorReferences: 2), frames: 9)
        #expect(pictures.map(\.poc) == [0, 4, 2, 1, 3, 8, 6, 5, 7])
        #expect(pictures.map(\.level) == [0, 0, 1, 2, 2, 0, 1, 2, 2])
        #expect(pictures[3].list0 == [0] && pictures[3].list1 == [2])
        #expect(pictures[5].list0 == [4, 0])
        #expect(
            pictures.map(\.nalUnitType) == [
                .idrWRADL, .trailR, .trailR, .trailN, .trailN, .trailR, .trailR, .trailN, .trailN,
            ])
    }

    @Test func plansLeadingPicturesOfOpenGOPs() {
        let pictures = plan(
            PictureStructure(anchorDistance: 4, keyFrameInterval: 6, isOpenGOP: true), frames: 11)
        #expect(pictures.map(\.poc) == [0, 4, 2, 1, 3, 6, 5, 10, 8, 7, 9])
        #expect(pictures[5].nalUnitType == .craNUT && pictures[5].kept == [4])
        #expect(pictures[6].nalUnitType == .raslN && pictures[6].list0 == [4] && pictures[6].list1 == [6])
        #expect(pictures[7].list0 == [6])
    }

    private func configuration(_ properties: [String: PropertyValue]) throws -> EncoderConfiguration {
        let request = try CompressionRequest(
            codec: "hevc", width: 64, height: 64, pixelFormat: "NV12", timeBase: try #require(Rational(1, 25)))
        var store = PropertyStore(backend: .vaapi)
        try store.set(properties, isOpen: false)
        return try EncoderConfiguration(request: request, properties: store)
    }

    @Test func choosesTheStructureByPropertiesAndLimits() throws {
        let plain = ReferenceLimits(list0: 3, list1: 1)
        var structure = PictureStructure(try configuration([:]), limits: plain)
        #expect(structure.anchorDistance == 4 && structure.isOpenGOP && structure.picturesInFlight == 2)
        structure = PictureStructure(try configuration(["AllowFrameReordering": .bool(false)]), limits: plain)
        #expect(structure.anchorDistance == 1 && structure.anchorReferences == 3 && !structure.isOpenGOP)
        structure = PictureStructure(try configuration(["RealTime": .bool(true)]), limits: plain)
        #expect(structure.anchorDistance == 1 && structure.picturesInFlight == 1)
        structure = PictureStructure(try configuration(["AllowTemporalCompression": .bool(false)]), limits: plain)
        #expect(structure.keyFrameInterval == 1)
        structure = PictureStructure(try configuration([:]), limits: ReferenceLimits(list0: 1))
        #expect(structure.anchorDistance == 1 && structure.anchorReferences == 1)
        structure = PictureStructure(try configuration([:]), limits: ReferenceLimits(list0: 0))
        #expect(structure.keyFrameInterval == 1)
        structure = PictureStructure(
            try configuration([:]),
            limits: ReferenceLimits(list0: 3, list1: 3, total: 3, allowsFuture: false, requiresLowDelayB: true))
        #expect(structure.isLowDelayB && structure.anchorDistance == 1 && structure.anchorReferences == 3)
    }

    /// iHD: more than three references in total corrupt the picture.
    @Test(arguments: 1...5) func respectsTheTotalOfReferences(total: Int) throws {
        for list0 in 1...4 {
            for list1 in 0...4 {
                for isLowDelayB in [false, true] where list1 > 0 || !isLowDelayB {
                    let structure = PictureStructure(
                        try configuration([:]),
                        limits: ReferenceLimits(
                            list0: list0, list1: list1, total: total, requiresLowDelayB: isLowDelayB))
                    let pictures = plan(structure, frames: 30)
                    #expect(pictures.allSatisfy { $0.kept.count <= total })
                    #expect(pictures.allSatisfy { $0.list0.count <= list0 && $0.list1.count <= list1 })
                }
            }
        }
    }

    @Test(arguments: 1...5) func respectsReferenceBufferCount(count: Int) throws {
        let properties: [String: PropertyValue] = ["ReferenceBufferCount": .int(Int64(count))]
        for limits in [ReferenceLimits(list0: 8, list1: 8), ReferenceLimits(list0: 4)] {
            let structure = PictureStructure(try configuration(properties), limits: limits)
            let pictures = plan(structure, frames: 30)
            #expect(pictures.allSatisfy { $0.kept.count <= count })
            if limits.list1 == 0 { #expect(pictures.contains { $0.list0.count == min(count, 4) }) }
        }
        #expect(throws: SessionError.self) {
            try configuration(
                properties.merging(["BaseLayerFrameRate": .int(15), "ExpectedFrameRate": .int(30)]) { $1 })
        }
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5, 20])
    func respectsTheDelay(delay: Int) throws {
        let structure = PictureStructure(
            try configuration(["MaxFrameDelayCount": .int(Int64(delay))]),
            limits: ReferenceLimits(list0: 2, list1: 2))
        #expect(structure.anchorDistance - 1 + structure.picturesInFlight - 1 <= delay)
        #expect(delay < 4 || structure.anchorDistance == 4)
    }
}
