// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC

/// Reorders frames from presentation order into pictures in decoding order, each with its references.
///
/// It is pure: the encoder calls it for every frame and codes its result. A group consists of the frames after one
/// anchor up to and including the next: that anchor is coded first, then the pyramid between the two.
public struct StructurePlanner: Sendable {
    private var structure: PictureStructure
    private var nextFrame = 0
    /// The frame with PicOrderCntVal 0: the last IDR picture.
    private var start = 0
    private var lastKeyFrame = 0
    /// Frames since the last anchor, held until the next.
    private var waiting: [Int] = []
    /// PicOrderCntVal of the kept anchors, oldest first.
    private var anchors: [Int] = []
    /// PicOrderCntVal of the picture of level 0 before the group.
    private var groupStart = 0
    /// Whether the next frame begins a sequence, because the last group of temporal levels is incomplete.
    private var mustStartSequence = false

    public init(_ structure: PictureStructure) { self.structure = structure }

    /// Frames added and not yet planned.
    public var framesHeld: Int { waiting.count }

    /// Adds the next frame and appends the pictures that it completes.
    public mutating func add(forceKeyFrame: Bool, to queue: inout [PlannedPicture]) {
        let frame = nextFrame
        nextFrame += 1
        let isDue = frame - lastKeyFrame >= structure.keyFrameInterval
        if frame == 0 || forceKeyFrame || mustStartSequence || isDue && !structure.isOpenGOP {
            finish(into: &queue)
            startSequence(frame, &queue)
        } else if structure.isChain {
            addToChain(frame, &queue)
        } else {
            waiting.append(frame)
            let isWhole = waiting.count == structure.anchorDistance
            // A key frame ends a whole group of temporal levels, also where the interval has changed since the last.
            if isDue, isWhole || structure.temporalLevels == 1 {
                lastKeyFrame = frame
                closeGroup(.cra, &queue)
            } else if isWhole {
                closeGroup(.anchor, &queue)
            }
        }
    }

    /// Appends the held frames; the last one becomes an anchor.
    ///
    /// With temporal levels an incomplete group is divided at powers of two. The anchor of each part has the level of its
    /// position, so that every level keeps its pattern to the end. A frame that follows begins a new sequence.
    public mutating func finish(into queue: inout [PlannedPicture]) {
        while !waiting.isEmpty {
            let whole = 1 << (Int.bitWidth - 1 - waiting.count.leadingZeroBitCount)
            closeGroup(.anchor, frames: structure.temporalLevels > 1 ? whole : waiting.count, &queue)
            mustStartSequence = structure.temporalLevels > 1 && anchors.last != groupStart
        }
    }

    /// Sets the maximum of frames from a key frame to the next, at least 2, or 1 if it was 1, from the next frame on.
    public mutating func change(keyFrameInterval: Int) { structure.keyFrameInterval = keyFrameInterval }

    /// TemporalId of a picture by its position in the group.
    private func temporalID(_ poc: Int) -> Int {
        let position = (poc - groupStart) & (structure.groupSize - 1)
        return position == 0 ? 0 : structure.temporalLevels - 1 - position.trailingZeroBitCount
    }

    /// The type of a picture that is not a key frame: above level 0 always TSA, since it refers to lower levels only (H.265
    /// 7.4.2.2).
    private static func type(_ temporalID: Int, isReference: Bool, isLeading: Bool = false) -> NALUnitType {
        if isLeading { return isReference ? .raslR : .raslN }
        if temporalID > 0 { return isReference ? .tsaR : .tsaN }
        return isReference ? .trailR : .trailN
    }

    /// Plans a frame of a stream with temporal levels and without reordering.
    private mutating func addToChain(_ frame: Int, _ queue: inout [PlannedPicture]) {
        let (poc, group) = (frame - start, structure.groupSize)
        let position = poc - groupStart
        let level = temporalID(poc)
        let kept = PictureStructure.chain(at: position, group).map { groupStart + $0 }.sorted()
        let isReference = position == group || (position + 1..<group).contains { $0 & ($0 - 1) == position }
        // All kept pictures are of lower levels.
        let list0 = Array(kept.reversed().prefix(structure.anchorReferences))
        queue.append(
            PlannedPicture(
                frame: frame, kind: .anchor, poc: poc, temporalID: level, level: level,
                nalUnitType: Self.type(level, isReference: isReference), isReference: isReference, list0: list0,
                list1: structure.isLowDelayB ? list0 : [], kept: kept))
        if position == group { groupStart = poc }
    }

    private mutating func startSequence(_ frame: Int, _ queue: inout [PlannedPicture]) {
        (start, lastKeyFrame, mustStartSequence) = (frame, frame, false)
        // IDR_W_RADL allows, but does not require, leading pictures; some drivers support no other IDR type.
        queue.append(
            PlannedPicture(
                frame: frame, kind: .idr, poc: 0, level: 0, nalUnitType: .idrWRADL,
                isReference: structure.keyFrameInterval > 1, list0: [], list1: [], kept: []))
        anchors = structure.keyFrameInterval > 1 ? [0] : []
        groupStart = 0
    }

    /// Plans the first `frames` held frames (all when nil), the last of them as an anchor of this kind.
    private mutating func closeGroup(
        _ kind: PlannedPicture.Kind, frames: Int? = nil, _ queue: inout [PlannedPicture]
    ) {
        let count = frames ?? waiting.count
        guard let before = anchors.last, count > 0 else { return }
        let last = waiting[count - 1]
        let poc = last - start
        let first = queue.count
        let temporalID = temporalID(poc)
        // An anchor of an incomplete group refers to the one before it, which is of a lower level.
        let maxReferences = temporalID > 0 ? 1 : structure.anchorReferences
        let list0 = kind == .cra ? [] : Array(anchors.reversed().prefix(maxReferences))
        queue.append(
            PlannedPicture(
                frame: last, kind: kind, poc: poc, temporalID: temporalID, level: temporalID,
                nalUnitType: kind == .cra ? .craNUT : Self.type(temporalID, isReference: true), isReference: true,
                list0: list0, list1: structure.isLowDelayB ? list0 : [], kept: []))
        addPyramid(between: before, and: poc, level: 1, isLeading: kind == .cra, &queue)

        // No picture after a CRA picture may refer to, or keep, pictures before it (H.265 8.3.2).
        anchors = kind == .cra || temporalID > 0 ? [poc] : (anchors + [poc]).suffix(structure.anchorReferences)
        if temporalID == 0 { groupStart = poc }
        waiting.removeFirst(count)
        keep(&queue[first...])
    }

    private func addPyramid(
        between low: Int, and high: Int, level: Int, isLeading: Bool, _ queue: inout [PlannedPicture]
    ) {
        guard high - low > 1 else { return }
        let middle = low + (high - low) / 2
        let isReference = high - low > 2
        let temporalID = temporalID(middle)
        queue.append(
            PlannedPicture(
                frame: start + middle, kind: .bidirectional, poc: middle, temporalID: temporalID,
                level: max(level, temporalID),
                nalUnitType: Self.type(temporalID, isReference: isReference, isLeading: isLeading),
                isReference: isReference, list0: [low], list1: [high], kept: []))
        addPyramid(between: low, and: middle, level: level + 1, isLeading: isLeading, &queue)
        addPyramid(between: middle, and: high, level: level + 1, isLeading: isLeading, &queue)
    }

    /// Sets the pictures that every picture of a group must keep: the references of it and of later pictures, and the
    /// anchors for later groups that are coded before it.
    private func keep(_ group: inout ArraySlice<PlannedPicture>) {
        var needed = Set(anchors)
        for index in group.indices.reversed() {
            needed.remove(group[index].poc)
            needed.formUnion(group[index].list0)
            needed.formUnion(group[index].list1)
            group[index].kept = needed.sorted()
        }
    }
}
