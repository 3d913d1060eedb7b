// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import Testing

@testable import HWDLibAVReading
@testable import HWDMetadata

/// The time line of an input, with numbers and with files.
@Suite struct InputTimelineTests {
    typealias Times = InputTimeline.Times

    /// 25 frames per second in MPEG-TS ticks.
    private static func transport(startTicks: Int64, wrapBits: Int = 33) throws -> InputTimeline {
        let base = try #require(Rational(1, 90_000))
        let video = InputTimeline.Stream(timeBase: base, wrapBits: wrapBits, start: startTicks)
        return InputTimeline(start: startTicks * 100 / 9, followsJumps: true, streams: [0: video, 1: video])
    }

    private static func times(_ ticks: Int64) -> Times { Times(pts: ticks + 7200, dts: ticks, duration: 3600) }

    @Test func subtractsTheStart() throws {
        var line = try Self.transport(startTicks: 45_090_000)
        #expect(line.place(Self.times(45_090_000), stream: 0) == Self.times(0))
        #expect(line.place(Times(pts: 45_093_600), stream: 1) == Times(pts: 3600))
        #expect(line.jumps == 0)
    }

    @Test func beginsWithTheFirstStreamThatIsRead() throws {
        let base = try #require(Rational(1, 90_000))
        let video = InputTimeline.Stream(timeBase: base, wrapBits: 33, start: 180_000)
        var line = InputTimeline(start: 1_000_000, followsJumps: true, streams: [0: video])
        #expect(line.place(Times(pts: 180_000), stream: 0) == Times(pts: 0))
        #expect(line.initialOffset(in: try #require(Rational(1, 1000))) == -2000)
    }

    @Test func keepsANegativeStartWhereTimesDoNotJump() throws {
        let stream = InputTimeline.Stream(timeBase: try #require(Rational(1, 1000)), start: -21)
        var line = InputTimeline(start: -21_000, followsJumps: false, streams: [0: stream])
        #expect(line.place(Times(pts: -21, dts: -21), stream: 0) == Times(pts: -21, dts: -21))
        var late = InputTimeline(start: 10_000_000, followsJumps: false, streams: [0: stream])
        #expect(late.place(Times(pts: 10_040), stream: 0) == Times(pts: 40))
        // A jump is a long pause in such a format.
        #expect(late.place(Times(pts: 600_000, dts: 600_000), stream: 0).pts == 590_000)
        #expect(late.jumps == 0)
    }

    @Test func followsTheWrapOfTheCounter() throws {
        let wrap: Int64 = 1 << 33
        // libavformat reports a start before 0 for files that begin shortly before the wrap.
        var line = try Self.transport(startTicks: -9000)
        let placed = [wrap - 9000, wrap - 5400, -1800, 1800].map { line.place(Self.times($0), stream: 0).dts }
        #expect(placed == [0, 3600, 7200, 10_800])
        #expect(line.jumps == 0)
        // A wrap in the middle is a jump back.
        var long = try Self.transport(startTicks: 0)
        _ = long.place(Self.times(0), stream: 0)
        for hour in 1...4 { _ = long.place(Self.times(Int64(hour) * 3600), stream: 0) }
        let wrapped = long.place(Self.times(0), stream: 0)
        #expect(wrapped == Self.times(18_000))
    }

    @Test func joinsPartsAfterAJump() throws {
        var line = try Self.transport(startTicks: 126_000)
        for frame in 0..<Int64(3) { _ = line.place(Self.times(126_000 + frame * 3600), stream: 0) }
        for frame in 0..<Int64(3) { _ = line.place(Self.times(126_000 + frame * 3600), stream: 1) }
        #expect(line.place(Self.times(45_000_000), stream: 0) == Self.times(3 * 3600))
        // The other stream's last packet of the first part, and its first of the second: one discontinuity in all.
        #expect(line.place(Self.times(126_000 + 3 * 3600), stream: 1) == Self.times(3 * 3600))
        #expect(line.place(Self.times(45_003_600), stream: 1) == Self.times(4 * 3600))
        #expect(line.place(Self.times(45_003_600), stream: 0) == Self.times(4 * 3600))
        #expect(line.jumps == 1)
        // Nine seconds are a pause, a step back is a jump.
        #expect(line.place(Self.times(45_813_600), stream: 0) == Self.times(4 * 3600 + 810_000))
        #expect(line.place(Self.times(45_003_600), stream: 0) == Self.times(5 * 3600 + 810_000))
        #expect(line.jumps == 2)
    }

    @Test(arguments: [Int64.max, Int64.min + 1, Int64(1) << 57])
    func leavesImpossibleTimesAlone(_ time: Int64) throws {
        var line = try Self.transport(startTicks: 126_000)
        #expect(line.place(Times(pts: time, dts: time), stream: 0) == Times(pts: time, dts: time))
        #expect(line.place(Times(pts: 126_000, dts: 126_000, duration: time), stream: 0).pts == 0)
        #expect(line.place(Self.times(126_000), stream: 0) == Self.times(0))
        #expect(line.place(Times(pts: 5), stream: 9) == Times(pts: 5))
    }

    /// Files whose frames must begin at 0 and be one frame apart, in seconds by which ffmpeg moves the clip.
    @Test(arguments: ["0", "501", "93600", "95442.05"]) func transportStreamsBeginAtZero(_ offset: String) throws {
        let scratch = try Scratch()
        let input = scratch.file("in.ts")
        try run(
            "ffmpeg", "-v", "error", "-i", try Clips.path("bframes.mp4"), "-c", "copy", "-output_ts_offset", offset,
            input)
        #expect(try Self.frameTimes(input) == Self.frameTimes(Clips.path("bframes.mp4")))
    }

    @Test func concatenatedTransportStreamsAreJoined() throws {
        let scratch = try Scratch()
        var bytes = Data()
        for offset in ["0", "501", "20"] {
            let part = scratch.file("\(offset).ts")
            try run(
                "ffmpeg", "-v", "error", "-i", try Clips.path("bframes.mp4"), "-c", "copy", "-output_ts_offset",
                offset, part)
            bytes += try Data(contentsOf: URL(filePath: part))
        }
        let input = scratch.file("in.ts")
        try bytes.write(to: URL(filePath: input))
        let part = try Self.frameTimes(Clips.path("bframes.mp4"))
        let reader = try MediaReader(path: input)
        var times: [Double] = []
        try reader.forEachFrame { times.append(Double($0.pts) * reader.video.timeBase.value) }
        #expect(times.count == 3 * part.count)
        #expect(zip(times, times.dropFirst()).allSatisfy { ($1 - $0 - part[1]).magnitude < 0.0001 })
        #expect(reader.report.discontinuities == 2)
    }

    /// The times of a file's frames in seconds, to the millisecond.
    private static func frameTimes(_ path: String) throws -> [Double] {
        let reader = try MediaReader(path: path)
        var times: [Double] = []
        try reader.forEachFrame {
            times.append((Double($0.pts) * reader.video.timeBase.value * 1000).rounded() / 1000)
        }
        return times
    }
}
