// SPDX-License-Identifier: GPL-2.0-or-later

/// Says of each frame, before it goes to an encoder that orders pictures itself, its temporal level and what it must be.
///
/// Such an encoder codes an anchor every so many frames, and what lies between two anchors by a pyramid. Where the
/// frames end in the middle of a group, its last frame would become the anchor, and level 0 and the levels
/// above it would lose their rhythm. So the rest of a group is divided at its powers of two: of seven frames the 4th,
/// 6th and 7th become anchors, each of the level that its place has anyway. A group therefore waits until it is whole,
/// or is known not to become so: a look-ahead wants no types where its own will do, and every type where not.
public struct LevelPlanner: Sendable {
    /// What is settled of a frame.
    public struct Frame: Hashable, Sendable {
        /// What the encoder must be told.
        public enum Kind: Hashable, Sendable {
            /// Nothing: its own rhythm makes of it what it should be.
            case regular
            /// That it lies between two anchors.
            case between
            /// That no picture shown before it may refer across it.
            case anchor
            /// That it begins anew: nothing after it may refer to what was before.
            case keyFrame
        }

        /// Its number, from 0, in the order frames came in.
        public var number: Int
        /// What it must be.
        public var kind: Kind
        /// Its temporal level.
        public var level: Int
    }

    private let levels: TemporalLevels
    private let keyFrameInterval: Int
    private let isOpenGOP: Bool
    private var next = 0
    private var lastKeyFrame = 0
    /// The picture of level 0 that the group lies behind.
    private var start = 0
    /// The frames that are not settled.
    private var waiting: Range<Int> = 0..<0

    /// Plans levels for key frames at a fixed interval, which must be a multiple of the levels' group.
    ///
    /// - Parameter isOpenGOP: whether leading pictures of key frames at the interval refer across them.
    public init(_ levels: TemporalLevels, keyFrameInterval: Int, isOpenGOP: Bool) {
        precondition(keyFrameInterval % levels.groupSize == 0, "an interval that is no multiple of the group")
        self.levels = levels
        self.keyFrameInterval = keyFrameInterval
        self.isOpenGOP = isOpenGOP
    }

    /// Frames that were taken and are not settled: at most `TemporalLevels.framesHeld`.
    public var framesHeld: Int { waiting.count }

    /// Takes the next frame and appends those that are settled by it, in the order they came in.
    public mutating func add(forceKeyFrame: Bool, to queue: inout [Frame]) {
        let frame = next
        next += 1
        let isDue = frame - lastKeyFrame >= keyFrameInterval
        if frame == 0 || forceKeyFrame || isDue && !isOpenGOP {
            finish(into: &queue)
            (lastKeyFrame, start) = (frame, frame)
            waiting = next..<next
            queue.append(Frame(number: frame, kind: .keyFrame, level: 0))
            return
        }
        waiting = waiting.lowerBound..<next
        guard waiting.count == levels.groupSize else { return }
        settle(&queue) { _ in .regular }
        // With open GOPs a key frame at the interval is the last picture of its group.
        if isDue { lastKeyFrame = frame }
        start = frame
    }

    /// Appends what waits: no frame follows in the group.
    public mutating func finish(into queue: inout [Frame]) {
        let count = waiting.count
        // An anchor is what has no anchor behind it in its part of the pyramid.
        settle(&queue) { $0 + (1 << $0.trailingZeroBitCount) <= count ? .between : .anchor }
    }

    /// Appends what waits, each frame what it is by its place in the group.
    private mutating func settle(_ queue: inout [Frame], _ kind: (Int) -> Frame.Kind) {
        for frame in waiting {
            let place = frame - start
            queue.append(Frame(number: frame, kind: kind(place), level: levels.level(atPlace: place)))
        }
        waiting = waiting.upperBound..<waiting.upperBound
    }
}
