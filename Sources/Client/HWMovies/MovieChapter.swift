// SPDX-License-Identifier: MIT

/// A chapter of a recording.
public struct MovieChapter: Hashable, Sendable {
    /// Where it begins, in seconds of the movie.
    public var seconds: Double
    public var title: String

    public init(seconds: Double, title: String) { (self.seconds, self.title) = (seconds, title) }
}
