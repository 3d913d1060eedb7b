// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDControlCommands
package import HWDModel
package import HWMovies
package import HWOutput
internal import Synchronization

/// The times of the pictures that were read of a file.
package final class ReadTimes: Sendable {
    /// In ticks; a seek reads packets again.
    private let content = Mutex<(times: Set<Int64>, leftOut: Set<Int64>)>(([], []))

    package init() {}

    func add(_ packet: VideoPacket) {
        guard packet.isShown else { return }
        content.withLock { _ = $0.times.insert(packet.time) }
    }

    func leaveOut(_ packet: VideoPacket) { content.withLock { _ = $0.leftOut.insert(packet.time) } }

    /// In order, in ticks.
    package var sorted: [Int64] { content.withLock { $0.times.sorted() } }
    /// Pictures of levels that are not played.
    package var leftOutCount: Int { content.withLock { $0.leftOut.count } }
}

/// The video of a movie file, as far as it is played.
package struct PlayedVideo: VideoSource {
    package let times = ReadTimes()
    /// Its duration in nanoseconds.
    package let duration: Int64
    /// The size at which it is shown, in pixels.
    package let size: (width: Int, height: Int)
    /// Degrees by which its pictures are rotated clockwise to be shown; nil for a matrix that is no rotation.
    package let rotation: Int?
    /// The file, for its sound.
    package let file: Movie
    /// Whether its samples have more than 8 bits.
    package let isDeep: Bool
    private var movie: MovieVideo
    private let maxLevel: Int

    package var timeBase: Rational { movie.timeBase }
    package var formatDescription: [UInt8] { movie.formatDescription }

    /// Opens a file.
    /// - Throws: a failure with `noInput` or `badInput`.
    package init(path: String, maxLevel: Int?) throws(CommandFailure) {
        do throws(MovieError) {
            file = try Movie(path: path)
            movie = try MovieVideo(file)
            let track = movie.track
            isDeep = track.entries.contains { ($0.hevc?.bitDepthLumaMinus8 ?? 0) > 0 }
            duration = Int64(clamping: Int128(track.duration) * 1_000_000_000 / Int128(max(1, track.timeScale)))
            rotation = track.rotation
            let (width, height) = (Int(track.displaySize.width) >> 16, Int(track.displaySize.height) >> 16)
            size = (rotation ?? 0) % 180 == 0 ? (width, height) : (height, width)
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
                times.leaveOut(packet)
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
