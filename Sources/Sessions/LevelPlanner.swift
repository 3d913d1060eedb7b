// SPDX-License-Identifier: GPL-2.0-or-later

/// Says of each frame, before it goes to an encoder that orders pictures itself, its temporal level and what it must be.
///
/// Such an encoder codes an anchor every so many frames, and what lies between two anchors by a pyramid. Where the
/// frames end in the middle of a group, its last frame would become the anchor, and level 0 and the levels
/// above it would lose their rhythm. So the rest of a group is divided at its powers of two: of seven frames the 4th,
/// 6th and 7th become anchors, each of the level that its place has anyway. A frame therefore waits until the
/// frame it would be predicted from on the other side is there, or is known not to come.
public struct LevelPlanner: Sendable {
    /// What is settled of a frame.
    public struct Frame: Hashable, Sendable {
        /// What the encoder must be told.
        public enum Kind: Hashable, Sendable {
            /// Nothing: its own rhythm makes of it what it should be.
            case regular
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
        let isWhole = frame - start == levels.groupSize
        while let first = waiting.first, isWhole || isSettled(first, by: frame) { settle(.regular, &queue) }
        guard isWhole else { return }
        // With open GOPs a key frame at the interval is the last picture of its group.
        if isDue { lastKeyFrame = frame }
        start = frame
    }

    /// Appends what waits: no frame follows in the group.
    public mutating func finish(into queue: inout [Frame]) {
        let last = waiting.upperBound - 1
        while let first = waiting.first { settle(isSettled(first, by: last) ? .regular : .anchor, &queue) }
    }

    /// Whether the frame that follows one in its part of the pyramid has come.
    private func isSettled(_ frame: Int, by last: Int) -> Bool {
        let place = frame - start
        return place + (1 << place.trailingZeroBitCount) <= last - start
    }

    private mutating func settle(_ kind: Frame.Kind, _ queue: inout [Frame]) {
        let frame = waiting.lowerBound
        queue.append(Frame(number: frame, kind: kind, level: levels.level(atPlace: frame - start)))
        waiting = (frame + 1)..<waiting.upperBound
    }
}
