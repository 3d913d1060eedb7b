// SPDX-License-Identifier: GPL-2.0-or-later

/// Determines the temporal level and the kind of each frame for an encoder that orders pictures itself.
///
/// Such an encoder codes an anchor at a fixed distance and a pyramid between two anchors. If the frames end within a
/// group, it would make the last frame the anchor, which breaks the pattern of the levels. So an incomplete group is
/// divided at powers of two: of seven frames the 4th, 6th and 7th become anchors, each with the level of its position.
/// A group is therefore held until it is complete or known to be incomplete: the look-ahead either chooses all types
/// of a group itself or must be given every type.
public struct LevelPlanner: Sendable {
    /// The decision for a frame.
    public struct Frame: Hashable, Sendable {
        /// Its index in input order, from 0.
        public var number: Int
        /// `bidirectional` between two anchors, also where it becomes a reference.
        public var kind: PictureKind
        /// Whether it is in a complete group, whose kinds the encoder's own pattern produces.
        public var isRegular: Bool
        /// The temporal level.
        public var level: Int
    }

    private let levels: TemporalLevels
    private let keyFrameInterval: Int
    private let isOpenGOP: Bool
    private var next = 0
    private var lastKeyFrame = 0
    /// The anchor of level 0 before the group.
    private var start = 0
    /// The frames without a decision.
    private var waiting: Range<Int> = 0..<0

    /// Plans levels for key frames at a fixed interval, which must be a multiple of the levels' anchor distance.
    ///
    /// - Parameter isOpenGOP: whether leading pictures of key frames at the interval refer across them.
    public init(_ levels: TemporalLevels, keyFrameInterval: Int, isOpenGOP: Bool) {
        precondition(
            keyFrameInterval % levels.anchorDistance == 0, "the interval is not a multiple of the anchor distance")
        self.levels = levels
        self.keyFrameInterval = keyFrameInterval
        self.isOpenGOP = isOpenGOP
    }

    /// Frames without a decision, at most `TemporalLevels.framesHeld`.
    public var framesHeld: Int { waiting.count }

    /// Adds the next frame and appends the frames that it decides, in input order.
    public mutating func add(forceKeyFrame: Bool, to queue: inout [Frame]) {
        let frame = next
        next += 1
        let isDue = frame - lastKeyFrame >= keyFrameInterval
        if frame == 0 || forceKeyFrame || isDue && !isOpenGOP {
            finish(into: &queue)
            (lastKeyFrame, start) = (frame, frame)
            waiting = next..<next
            queue.append(Frame(number: frame, kind: .idr, isRegular: false, level: 0))
            return
        }
        waiting = waiting.lowerBound..<next
        guard waiting.count == levels.anchorDistance else { return }
        // With open GOPs a key frame at the interval is the last picture of its group.
        let last = waiting.count
        decide(&queue, isRegular: true) { $0 < last ? .bidirectional : isDue ? .intra : .predicted }
        if isDue { lastKeyFrame = frame }
        start = frame
    }

    /// Appends the held frames: no further frame follows in the group.
    public mutating func finish(into queue: inout [Frame]) {
        let count = waiting.count
        // A frame is an anchor when no later frame of its part of the pyramid exists.
        decide(&queue, isRegular: false) {
            $0 + (1 << $0.trailingZeroBitCount) <= count ? .bidirectional : .predicted
        }
    }

    /// Appends the held frames, each with the kind and level of its position in the group.
    private mutating func decide(_ queue: inout [Frame], isRegular: Bool, _ kind: (Int) -> PictureKind) {
        for frame in waiting {
            let position = frame - start
            queue.append(
                Frame(
                    number: frame, kind: kind(position), isRegular: isRegular,
                    level: levels.level(atPosition: position)))
        }
        waiting = waiting.upperBound..<waiting.upperBound
    }
}
