// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDLibAV
import HWDLibAVReading
import HWDMetadata
import HWDModel
import Testing

/// Frames compared with ffmpeg's; serialized, because each test decodes with all cores.
@Suite(.serialized) struct DecodingTests {
    /// Clips whose decoder outputs one of our formats, with that format.
    static let native: [(String, PixelFormat)] = [
        ("bbb_720p.mp4", .yu12), ("vp8_vorbis.webm", .yu12), ("two_tracks.mp4", .yu12), ("bframes.mp4", .yu12),
        ("bframes.ts", .yu12), ("raw.hevc", .yu12), ("fps240.mp4", .yu12), ("bbb_alpha.mov", .yu12),
        ("bbb_720p_main10.mp4", .i010), ("hlg.mov", .i010), ("pq.mov", .i010), ("dolby_vision_84.mov", .i010),
        ("dolby_vision_81.hevc", .i010),
    ]

    /// Clips that swscale converts.
    static let converted: [(String, PixelFormat)] = [
        ("alpha_prores4444.mov", .i010), ("alpha_qtrle.mov", .yu12), ("odd_107x61.mkv", .yu12),
        ("odd_16x16.mkv", .yu12), ("odd_8x8.mkv", .yu12), ("odd_2x2.mkv", .yu12), ("odd_64x2.mkv", .yu12),
        ("odd_1x1.mkv", .yu12),
    ]

    @Test(arguments: native)
    func directFramesMatchFFmpeg(_ name: String, _ format: PixelFormat) throws {
        let path = try Clips.path(name)
        let opened = try MediaReader(path: path)
        let pool = TestPool(slots: opened.slotsHeldByDecoder + 1, slotSize: opened.slotByteCount)
        opened.use(pool)
        var reader: MediaReader? = consume opened
        #expect(reader?.video.format == format)
        #expect(reader?.video.conversion == nil)
        let reference = try Reference(path, stream: reader?.video.streamIndex ?? 0, options: [])
        var frames = 0
        try reader?.forEachFrame { frame in
            let direct = try #require(frame.direct)
            let ours = try pool.samples(direct.layout, frame)
            let theirs = try reference.next(ours.count)
            #expect(ours == theirs, "frame \(frame.index)")
            #expect(try copied(frame) == ours)
            frames += 1
        }
        #expect(try reference.next(1).isEmpty, "ffmpeg has more frames")
        #expect(reader?.report.directFrames == frames)
        #expect(reader?.report.errors == 0)
        #expect(pool.most <= (reader?.slotsHeldByDecoder ?? 0) + 1)
        reader = nil
        #expect(pool.lent == 0)
        #expect(pool.faults == 0)
    }

    @Test(arguments: native)
    func framesMatchFFmpegWhenThePoolRunsDry(_ name: String, _ format: PixelFormat) throws {
        let path = try Clips.path(name)
        // A pool of 3 runs dry at once, which tests direct frames, copied ones and the change between them.
        let pool = TestPool(slots: 3, slotSize: 64 << 20)
        let reader = try MediaReader(path: path, memory: pool)
        let reference = try Reference(path, stream: reader.video.streamIndex, options: [])
        try reader.forEachFrame { frame in
            let ours = try copied(frame)
            #expect(try reference.next(ours.count) == ours, "frame \(frame.index)")
        }
        #expect(try reference.next(1).isEmpty)
    }

    @Test(arguments: native + converted)
    func timestampsMatchFFprobe(_ name: String, _ format: PixelFormat) throws {
        let path = try Clips.path(name)
        let reader = try MediaReader(path: path)
        let rows = try probe(
            path, "-select_streams", "\(reader.video.streamIndex)", "-show_entries",
            "frame=best_effort_timestamp,pkt_duration,duration")
        // Of the durations, each version of ffprobe has one. Side data and sections add further lines and columns.
        let theirs = rows.filter { $0.count >= 2 }.map { ($0[0], $0[1]) }
        var ours: [(Int64, Int64)] = []
        try reader.forEachFrame { ours.append(($0.pts, $0.duration)) }
        #expect(ours.count == theirs.count)
        if name.hasSuffix(".hevc") {
            #expect(ours.map(\.0) == ours.indices.map { Int64($0) })
            #expect(reader.video.timeBase == Rational(1001, 24000))
            #expect(reader.video.averageFrameRate == Rational(24000, 1001))
        } else {
            // A transport stream's time line begins with its first frame.
            let start = name.hasSuffix(".ts") ? try #require(theirs.first.flatMap { Int64($0.0) }) : 0
            #expect(ours.map { "\($0.0 + start)" } == theirs.map(\.0))
            #expect(zip(ours, theirs).allSatisfy { $1.1 == "N/A" || $1.1 == "\($0.1)" })
        }
        #expect(reader.report.repairedTimestamps == 0)
    }

    @Test(arguments: converted)
    func convertedFramesAreCloseToFFmpeg(_ name: String, _ format: PixelFormat) throws {
        let path = try Clips.path(name)
        let pool = TestPool(slots: 2, slotSize: 16 << 20)
        let reader = try MediaReader(path: path, memory: pool)
        #expect(reader.video.format == format)
        #expect(reader.video.conversion != nil)
        let pixels = format == .i010 ? "yuv420p10le" : "yuv420p"
        let scale =
            "scale=flags=bicubic+accurate_rnd+full_chroma_inp+full_chroma_int:out_range=tv"
            + ":out_h_chr_pos=0:out_v_chr_pos=128"
        let reference = try Reference(
            path, stream: reader.video.streamIndex, options: ["-vf", scale, "-pix_fmt", pixels])
        var worst = Double.infinity
        try reader.forEachFrame { frame in
            #expect(frame.direct == nil)
            let slot = try #require(pool.allocate(byteCount: reader.slotByteCount))
            let ours = try pool.samples(frame.copy(to: slot), frame)
            pool.free(slot.id)
            let theirs = try reference.next(ours.count)
            #expect(theirs.count == ours.count)
            worst = min(worst, psnr(ours, theirs, wide: format == .i010))
        }
        #expect(try reference.next(1).isEmpty)
        #expect(worst > 50, "dB of the worst frame")
    }

    @Test(arguments: [
        ("alpha_prores4444.mov", ["yuva444p12le", "I010", "12 bits reduced to 10", "alpha dropped"]),
        ("alpha_qtrle.mov", ["argb", "YU12", "BT.601", "video range", "alpha dropped"]),
    ])
    func conversionsListWhatIsLost(_ name: String, _ parts: [String]) throws {
        let conversion = try #require(try MediaReader(path: Clips.path(name)).video.conversion)
        #expect(parts.allSatisfy { conversion.contains($0) }, "\(conversion)")
    }

    @Test func releasedFramesCannotBeCopied() throws {
        let reader = try MediaReader(path: Clips.h264)
        guard case .frame(let frame)? = try reader.next() else { throw ToolFailure(description: "no frame") }
        try frame.release()
        #expect(errorKind { _ = try copied(frame) } == .usage)
    }

    @Test func framesOutliveTheReader() throws {
        let pool = TestPool(slots: 40, slotSize: 4 << 20)
        var frames: [SourceFrame] = []
        do {
            let reader = try MediaReader(path: Clips.h264, memory: pool)
            while frames.count < 8, case .frame(let frame)? = try reader.next() { frames.append(frame) }
        }
        #expect(pool.lent == 8)
        let bytes = try frames.map { try pool.samples(#require($0.direct).layout, $0) }
        #expect(Set(bytes).count == 8)
        frames.removeAll()
        #expect(pool.lent == 0)
        #expect(pool.faults == 0)
    }
}

/// Peak signal to noise ratio of two pictures in dB.
func psnr(_ a: [UInt8], _ b: [UInt8], wide: Bool) -> Double {
    var sum = 0.0
    let count = wide ? a.count / 2 : a.count
    a.withUnsafeBytes { a in
        b.withUnsafeBytes { b in
            for index in 0..<min(count, b.count / (wide ? 2 : 1)) {
                let difference =
                    wide
                    ? Int(a.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self))
                        - Int(b.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self))
                    : Int(a[index]) - Int(b[index])
                sum += Double(difference * difference)
            }
        }
    }
    let peak = wide ? 1023.0 : 255.0
    return sum == 0 ? .infinity : 10 * log10(peak * peak * Double(count) / sum)
}
