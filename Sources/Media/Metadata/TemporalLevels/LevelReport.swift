// SPDX-License-Identifier: GPL-2.0-or-later

/// The result of dropping temporal levels while reading.
public struct LevelReport: Hashable, Sendable {
    /// Where the level of a picture was read.
    public enum LevelSource: String, Hashable, Sendable {
        /// The file's sample groups (`tscl`, ISO/IEC 14496-15 8.4).
        case annotations
        /// The pictures' NAL unit headers.
        case headers = "nal-headers"
    }

    /// The highest level that is kept.
    public let limit: Int
    /// How many levels the stream has; nil when not known.
    public let levels: Int?
    /// Where the levels were read, as of the last packet.
    public package(set) var source = LevelSource.headers
    /// Whether every packet is passed on: the file does not annotate its levels, and a session drops them.
    public package(set) var isLeftToSession = false
    /// Packets that were passed on.
    public package(set) var kept = 0
    /// Packets that were dropped.
    public package(set) var dropped = 0
    /// Whether the stream has levels above the limit, or may have.
    public var dropsSome: Bool { levels.map { $0 > limit + 1 } ?? true }
    /// The end of the last picture, kept or dropped, in ticks of the video; nil when the file has no timestamps.
    public package(set) var end: Int64?
    /// The fault in the file's annotations; nil where there are none, or they agree with the pictures.
    public package(set) var warning: String?

    package init(limit: Int, levels: Int?) {
        self.limit = limit
        self.levels = levels
    }

    /// A notice to show before reading begins; nil where the file's annotations decide what is dropped.
    public var note: String? {
        if let levels, levels <= 1 { return "the stream has one temporal level: nothing can be dropped" }
        if let levels, levels <= limit + 1 {
            return "the stream has \(levels) temporal levels, 0 to \(levels - 1): nothing is dropped"
        }
        return source == .headers && warning == nil
            ? "the file does not annotate its temporal levels: NAL unit headers decide" : nil
    }
}
