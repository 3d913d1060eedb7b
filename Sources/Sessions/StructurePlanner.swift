// SPDX-License-Identifier: GPL-2.0-or-later
internal import HEVC

/// Turns frames in the order they are shown into pictures in the order they are coded, each with its references.
///
/// Pure: the encoder asks it for every frame and does what it says. A group is what lies behind one anchor, up to and
/// with the next: the anchor is coded first, then the pyramid between the two.
public struct StructurePlanner: Sendable {
    private let structure: PictureStructure
    private var nextFrame = 0
    /// The frame with PicOrderCntVal 0: the last IDR picture.
    private var start = 0
    private var lastKeyFrame = 0
    /// Frames since the last anchor, waiting for the next.
    private var waiting: [Int] = []
    /// PicOrderCntVal of the anchors that are kept, the oldest first.
    private var anchors: [Int] = []

    /// Plans with this structure.
    public init(_ structure: PictureStructure) { self.structure = structure }

    /// Frames that were taken and not planned yet.
    public var framesHeld: Int { waiting.count }

    /// Takes the next frame and appends the pictures that are settled by it.
    public mutating func add(forceKeyFrame: Bool, to queue: inout [PlannedPicture]) {
        let frame = nextFrame
        nextFrame += 1
        let isDue = frame - lastKeyFrame >= structure.keyFrameInterval
        if frame == 0 || forceKeyFrame || isDue && !structure.isOpenGOP {
            finish(into: &queue)
            startSequence(frame, &queue)
        } else {
            waiting.append(frame)
            if isDue {
                lastKeyFrame = frame
                closeGroup(.cra, &queue)
            } else if waiting.count == structure.anchorDistance {
                closeGroup(.anchor, &queue)
            }
        }
    }

    /// Appends what is still held; the last frame becomes an anchor.
    public mutating func finish(into queue: inout [PlannedPicture]) {
        if !waiting.isEmpty { closeGroup(.anchor, &queue) }
    }

    private mutating func startSequence(_ frame: Int, _ queue: inout [PlannedPicture]) {
        (start, lastKeyFrame) = (frame, frame)
        // IDR_W_RADL promises nothing about leading pictures; some drivers know no other IDR type.
        queue.append(
            PlannedPicture(
                frame: frame, kind: .idr, poc: 0, level: 0, nalUnitType: .idrWRADL,
                isReference: structure.keyFrameInterval > 1, list0: [], list1: [], kept: []))
        anchors = structure.keyFrameInterval > 1 ? [0] : []
    }

    /// Plans the frames that wait, the last of them as an anchor of this kind.
    private mutating func closeGroup(_ kind: PlannedPicture.Kind, _ queue: inout [PlannedPicture]) {
        guard let last = waiting.last, let before = anchors.last else { return }
        let poc = last - start
        let first = queue.count
        let list0 = kind == .cra ? [] : Array(anchors.reversed().prefix(structure.anchorReferences))
        queue.append(
            PlannedPicture(
                frame: last, kind: kind, poc: poc, level: 0, nalUnitType: kind == .cra ? .craNUT : .trailR,
                isReference: true, list0: list0, list1: structure.isLowDelayB ? list0 : [], kept: []))
        addPyramid(between: before, and: poc, level: 1, isLeading: kind == .cra, &queue)

        // Nothing behind a CRA picture may refer to, or keep, what came before it (H.265 8.3.2).
        anchors = kind == .cra ? [poc] : (anchors + [poc]).suffix(structure.anchorReferences)
        waiting.removeAll(keepingCapacity: true)
        keep(&queue[first...])
    }

    private func addPyramid(
        between low: Int, and high: Int, level: Int, isLeading: Bool, _ queue: inout [PlannedPicture]
    ) {
        guard high - low > 1 else { return }
        let middle = low + (high - low) / 2
        let isReference = high - low > 2
        queue.append(
            PlannedPicture(
                frame: start + middle, kind: .bidirectional, poc: middle, level: level,
                nalUnitType: isLeading ? (isReference ? .raslR : .raslN) : (isReference ? .trailR : .trailN),
                isReference: isReference, list0: [low], list1: [high], kept: []))
        addPyramid(between: low, and: middle, level: level + 1, isLeading: isLeading, &queue)
        addPyramid(between: middle, and: high, level: level + 1, isLeading: isLeading, &queue)
    }

    /// Fills in what every picture of a group must keep: what it and the pictures after it refer to, and the anchors
    /// of the groups to come, as far as they are coded by then.
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
