// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// Finishes a movie with fragments whose recorder died, in place, as `MovieRecorder.finish` does: no media is moved.
///
/// The file may be cut off at any byte behind its movie box. What of the last fragment is in the file is kept, and so are the chapters
/// that began before the end.
public struct MovieRepair: Sendable {
    /// What was found and done.
    public enum Outcome: Hashable, Sendable {
        /// The file is a plain movie already, and was not changed.
        case complete
        /// The file was finished.
        case finished
    }

    public let outcome: Outcome
    /// How long the movie is, in seconds.
    public let duration: Double
    /// Packets in all tracks.
    public let packetCount: Int
    /// Bytes that were written.
    public let bytesWritten: Int
    /// What is damaged and was left out, for people.
    public let remarks: [String]

    /// Finishes a file.
    /// - Throws: what `Movie` throws; `inUse` while it is recorded; `truncated` where no whole packet is in the file;
    ///   `malformed` for one that is cut off and has no fragments; `io`.
    public init(path: String) throws(MovieError) {
        let file = try RecordedFile(opening: path)
        let source = try MovieFile(path: path)
        guard file.isSame(as: source) else {
            throw MovieError(.inUse, "\(file.path) was replaced by another program while it was opened")
        }
        let movie = try Movie(source)
        guard movie.isFragmented else {
            remarks = movie.remarks
            guard !movie.isCutShort else {
                throw MovieError(.malformed, "\(file.path) is cut off and has no fragments: it cannot be finished")
            }
            outcome = .complete
            duration = movie.tracks.map { Double($0.duration) / Double($0.timeScale) }.max() ?? 0
            packetCount = movie.tracks.reduce(0) { $0 + $1.sampleCount }
            bytesWritten = 0
            return
        }
        let plan = try RepairPlan(movie, source, file.path)
        remarks = plan.remarks
        if let header = plan.lastHeader { try file.end(header.bytes, at: header.position) }
        try file.finish(plan.boxes, over: plan.start)
        (outcome, packetCount, duration) = (.finished, plan.packetCount, plan.duration)
        bytesWritten =
            plan.boxes.reduce(0) { $0 + $1.size } + Box.largeHeaderSize + (plan.lastHeader?.bytes.count ?? 0)
    }
}
