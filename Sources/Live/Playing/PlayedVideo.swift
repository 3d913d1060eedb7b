// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDControlCommands
package import HWDModel
internal import HWMovies
package import HWOutput
internal import Synchronization

/// The times of the pictures that were read of a file.
package final class ReadTimes: Sendable {
    /// Ticks, and where the last picture ends.
    private let content = Mutex<(times: Set<Int64>, end: Int64, leftOut: Int)>(([], 0, 0))

    package init() {}

    func add(_ packet: VideoPacket) {
        guard packet.isShown else { return }
        content.withLock {
            $0.times.insert(packet.time)
            $0.end = max($0.end, packet.time + max(0, packet.duration))
        }
    }

    func leaveOut() { content.withLock { $0.leftOut += 1 } }

    /// In order, in ticks.
    package var sorted: [Int64] { content.withLock { $0.times.sorted() } }
    /// Pictures of levels that are not played.
    package var leftOutCount: Int { content.withLock { $0.leftOut } }
}

/// The video of a movie file, as far as it is played.
package struct PlayedVideo: VideoSource {
    package let times = ReadTimes()
    /// Its duration in nanoseconds.
    package let duration: Int64
    /// The size at which it is shown, in pixels.
    package let size: (width: Int, height: Int)
    private var movie: MovieVideo
    private let maxLevel: Int

    package var timeBase: Rational { movie.timeBase }
    package var formatDescription: [UInt8] { movie.formatDescription }

    /// Opens a file.
    /// - Throws: a failure with `noInput` or `badInput`.
    package init(path: String, maxLevel: Int?) throws(CommandFailure) {
        do throws(MovieError) {
            let file = try Movie(path: path)
            movie = try MovieVideo(file)
            let track = file.tracks.first { $0.isEnabled && $0.kind == .video } ?? file.tracks.first
            let scale = Int128(max(1, track?.timeScale ?? 1))
            duration = Int64(clamping: Int128(track?.duration ?? 0) * 1_000_000_000 / scale)
            size = (Int(track?.displaySize.width ?? 0) >> 16, Int(track?.displaySize.height ?? 0) >> 16)
        } catch {
            if error.code == .unreadable { throw CommandFailure(.noInput, error.reason) }
            throw CommandFailure(
                .badInput, "\(path) cannot be played: \(error.reason); play takes .mov and .mp4 files with HEVC")
        }
        self.maxLevel = maxLevel ?? 6
    }

    package mutating func next() throws -> VideoPacket? {
        while let packet = try movie.next() {
            if maxLevel < 6, let level = packet.temporalLevel, level > maxLevel {
                times.leaveOut()
                continue
            }
            times.add(packet)
            return packet
        }
        return nil
    }

    package mutating func seek(to time: Int64) -> VideoSeekPoint? { movie.seek(to: time) }

    package func seekPoint(after time: Int64) -> Int64? { movie.seekPoint(after: time) }
}
