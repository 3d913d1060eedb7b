// SPDX-License-Identifier: MIT

/// Why a frame is not in the file.
public enum DropCause: String, Encodable, CaseIterable, Sendable {
    /// The encoder or the disk was behind, so that there was no room for it.
    case queue
    /// The rate is halved.
    case rate
    /// The source lost it, and said so or left a gap in its numbers.
    case source
    /// Its planes were too short for its format, or the source said that it is damaged.
    case damaged
    /// Its time was not behind that of the frame before.
    case clock
    /// It was not coded when the recording ended.
    case end
    /// A copied stream's unit without its key frame: before the first one, and up to the next one after a pause, a backlog or a
    /// reconnection.
    case keyFrame = "key-frame"
}

/// The frames that were dropped, with times and causes.
public struct DropLog: Sendable {
    /// Frames that were dropped one after another, for one cause.
    public struct Drop: Encodable, Hashable, Sendable {
        /// Seconds of the recording.
        public var time: Double
        public var frames: Int
        public var cause: DropCause
        /// The source's own word for the cause.
        public var detail: String?

        /// Frames with the time of the first.
        package init(time: Double, frames: Int, cause: DropCause, detail: String? = nil) {
            (self.time, self.frames, self.cause, self.detail) = (time, frames, cause, detail)
        }

        enum CodingKeys: String, CodingKey {
            case frames, cause, detail
            case time = "time_s"
        }
    }

    package private(set) var drops: [Drop] = []
    package private(set) var counts: [DropCause: Int] = [:]
    /// Whether drops have no entry of their own, because there are too many.
    package private(set) var isCut = false
    private var last: Double?

    /// The most entries.
    private static let limit = 10_000

    package init() {}

    package var total: Int { counts.values.reduce(0, +) }

    /// - Parameters:
    ///   - time: of the first, in seconds of the recording.
    ///   - step: seconds between two of them.
    ///   - period: seconds of a frame: what follows within one and a half continues an entry.
    package mutating func add(
        _ frames: Int, at time: Double, step: Double = 0, _ cause: DropCause, detail: String? = nil,
        period: Double = 0
    ) {
        counts[cause, default: 0] += frames
        defer { last = time + step * Double(frames - 1) }
        if let last, let index = drops.indices.last, drops[index].cause == cause, drops[index].detail == detail,
            time - last <= period * 1.5
        {
            drops[index].frames += frames
        } else if drops.count < Self.limit {
            drops.append(Drop(time: (time * 1000).rounded() / 1000, frames: frames, cause: cause, detail: detail))
        } else {
            isCut = true
        }
    }
}
