// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.log2
internal import HWDCoding
internal import HWDModel

/// Orders frames by groups of the deep pyramid, and computes what x265's cu-tree would from the groups that follow.
struct DeepGroups {
    /// A frame of a group.
    struct Picture {
        /// In input order, from 0; also the picture order count.
        var number: Int
        var kind: PictureKind
        var level: Int
        fileprivate var half: HalfPicture
        fileprivate var before: HalfPicture?
        fileprivate var after: HalfPicture?
    }

    /// The offset of B pictures that are given to x265 as references and are none.
    private let offsetOfHighest: Double
    /// Frames that are not planned yet, by number.
    private var halves: [Int: HalfPicture] = [:]
    private var incomplete: [LevelPlanner.Frame] = []
    /// Groups that are planned and not taken, each in coding order.
    private var groups: [[Picture]] = []
    private var anchor: HalfPicture?
    private var plannedCount = 0

    /// - Parameter pbFactor: the ratio of x265's quantizers of B and P pictures.
    init(pbFactor: Double) {
        // x265 gives B pictures that are references half of the difference.
        offsetOfHighest = 3 * log2(pbFactor)
    }

    /// Adds a frame that the planner has not decided about.
    mutating func add(_ half: HalfPicture, as number: Int) { halves[number] = half }

    /// Adds the planner's decision about a frame, in input order.
    mutating func plan(_ frame: LevelPlanner.Frame) throws(SessionError) {
        incomplete.append(frame)
        plannedCount = frame.number + 1
        if frame.kind != .bidirectional { try complete() }
    }

    private mutating func complete() throws(SessionError) {
        let frames = incomplete
        incomplete.removeAll(keepingCapacity: true)
        let added = frames.compactMap { halves.removeValue(forKey: $0.number) }
        guard let last = frames.last, added.count == frames.count, added.count.nonzeroBitCount == 1 else {
            throw SessionError(.videoEncoderMalfunction, "a group of \(frames.count) pictures cannot be ordered")
        }
        // The picture at each position; the anchor before is at 0.
        func half(_ position: Int) -> HalfPicture? { position == 0 ? anchor : added[position - 1] }
        let group = DeepPyramid.codingOrder(frames.count).map { position in
            let (frame, isAnchor) = (frames[position - 1], position == frames.count)
            let distance = 1 << position.trailingZeroBitCount
            return Picture(
                number: frame.number, kind: isAnchor ? last.kind : .bidirectionalReference, level: frame.level,
                half: added[position - 1],
                before: isAnchor && last.kind != .predicted ? nil : half(position - distance),
                after: isAnchor ? nil : half(position + distance))
        }
        for picture in group { picture.half.predict(before: picture.before, after: picture.after) }
        groups.append(group)
        anchor = added.last
    }

    /// Removes the next group, in the order in which x265 takes it, when enough frames after it are planned.
    mutating func next(isFinished: Bool) -> [Picture]? {
        guard let group = groups.first, let end = group.first?.number else { return nil }
        guard isFinished || plannedCount > end + DeepPyramid.groupsAhead * DeepPyramid.groupSize else { return nil }
        for picture in groups.joined() { picture.half.clear() }
        for picture in groups.joined().reversed() {
            picture.half.propagate(before: picture.before, after: picture.after)
        }
        groups.removeFirst()
        return Array(group.dropFirst()) + group.prefix(1)
    }

    /// Writes the offsets of a picture's blocks, after `next` returned it.
    func writeOffsets(of picture: Picture, to offsets: UnsafeMutableBufferPointer<Float>) {
        let isHighest = picture.kind == .bidirectionalReference && picture.level == DeepPyramid.levelCount - 1
        picture.half.writeOffsets(base: isHighest ? Float(offsetOfHighest) : 0, to: offsets)
    }
}
