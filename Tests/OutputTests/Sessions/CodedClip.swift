// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWMovies
import Synchronization
import Testing

/// Coded pictures of 64x64 that show their numbers, with groups of 30 and pictures that are decoded behind those they precede.
///
/// They are coded once, and written as movies with any times.
struct CodedClip: Sendable {
    private let record: DecoderConfigurationRecord
    /// In decoding order: the bytes, and the positions among the pictures in the order of display and of decoding.
    private let packets: [(bytes: [UInt8], number: Int64, decodes: Int64)]

    private static let made = Mutex<[Int: CodedClip]>([:])

    /// At least so many pictures.
    static func pictures(_ count: Int, _ service: PrivateService) throws -> CodedClip {
        try made.withLock { made in
            if let clip = made[count] { return clip }
            let clip = try CodedClip(count, service)
            made[count] = clip
            return clip
        }
    }

    private init(_ count: Int, _ service: PrivateService) throws {
        let path = "\(service.folder)/base-\(count).mp4"
        let bits = "geq=lum='16+219*mod(floor(N/pow(2\\,floor(X/16)+4*floor(Y/16)))\\,2)':cb=128:cr=128"
        try service.ffmpeg([
            "-f", "lavfi", "-i", "color=size=64x64:rate=100,format=yuv444p,\(bits)", "-frames:v", "\(count + 8)",
            "-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-tag:v", "hvc1", "-x265-params",
            "log-level=none:keyint=30:min-keyint=30:scenecut=0:open-gop=1:bframes=3", "-video_track_timescale",
            "100",
            path,
        ])
        let movie = try Movie(path: path)
        let track = try #require(movie.tracks.first)
        record = try #require(track.entries.first?.hevc)
        var (reader, read) = (try movie.packets(of: track), [(bytes: [UInt8], number: Int64, decodes: Int64)]())
        while let packet = try reader.next() { read.append((packet.bytes, packet.time, packet.decodeTime)) }
        packets = read
        let numbers = packets.map(\.number).sorted()
        try #require(numbers == (0..<Int64(count + 8)).map { $0 })
    }

    /// Writes the first pictures at some times.
    /// - Parameter time: that of a picture, in ticks; it is asked for pictures before the first one, too.
    func write(_ path: String, scale: UInt32, count: Int, time: (Int64) -> Int64) throws {
        let writer = try MovieWriter(path: path)
        let track = try writer.addVideo(
            VideoTrackSettings(timeScale: scale, configuration: record))
        // Further ones, so that none is missing among the first.
        for packet in packets.prefix(count + 8) {
            let (shown, decoded) = (time(packet.number), time(packet.decodes))
            try writer.append(
                WrittenPacket(
                    bytes: packet.bytes, time: shown, decodeTime: min(shown, decoded),
                    duration: max(0, time(packet.number + 1) - shown)), to: track)
        }
        try writer.finish(sync: false)
    }

    /// The same with a constant rate.
    func write(_ path: String, rate: (Int64, Int64), count: Int) throws {
        try write(path, scale: UInt32(rate.0), count: count) { $0 * rate.1 }
    }
}
