// SPDX-License-Identifier: MIT
package import HWMovies

/// Where chapters of a recording begin, and those of each of its files.
package struct CaptureMarks: Sendable {
    /// Times are those of the recording in ticks, each later than the one before.
    private var marks: [(time: Int64, title: String)] = []
    /// More than the bytes that they take in a file.
    package private(set) var size = 0

    /// The most marks.
    package static let greatestCount = 10_000
    /// A reader's times of chapters are in milliseconds.
    private static let shortest = Int64(CaptureFiles.timeScale) / 1000
    /// The title of what precedes the first mark.
    private static let start = "Start"

    package init() {}

    package mutating func add(_ title: String, at time: Int64) {
        guard marks.count < Self.greatestCount else { return }
        marks.append((max(time, (marks.last?.time ?? -Self.shortest) + Self.shortest), title))
        size += 128 + title.utf8.count
    }

    /// The chapters of a file; the first one begins with the file, in the recording's chapter of that time.
    ///
    /// - Parameters:
    ///   - base: the time of the file's first picture.
    ///   - end: that of the next file's first picture.
    ///   - last: that of the file's last picture, where no file follows: it has what was marked later.
    package func chapters(from base: Int64, until end: Int64 = .max, last: Int64 = .max) -> [MovieChapter] {
        let begun = marks.last { $0.time <= base }?.title
        let inside = marks.filter { base < $0.time && $0.time < end }
        guard begun != nil || !inside.isEmpty else { return [] }
        return [MovieChapter(seconds: 0, title: begun ?? Self.start)]
            + inside.map {
                MovieChapter(
                    seconds: Double(min($0.time, last) - base) / Double(CaptureFiles.timeScale), title: $0.title)
            }
    }
}
