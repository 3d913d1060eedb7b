// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
package import HWDModel

/// Maps the timestamps of a file's packets to a continuous time line that begins with the file.
///
/// The rules are those of the ffmpeg program, so that its output and ours have the same times: the file's start time is
/// subtracted, 33-bit counters are followed past their wrap, and in formats whose timestamps may jump (AVFMT_TS_DISCONT,
/// such as MPEG-TS) a packet after a jump continues where its stream ended. Offsets are in microseconds and shared by all
/// streams, which keeps them synchronous.
package struct InputTimeline: Sendable {
    /// What is known of a stream.
    struct Stream: Sendable {
        /// Seconds per tick.
        var timeBase: Rational
        /// Bits of the format's timestamps; 64 where they do not wrap.
        var wrapBits = 64
        /// Microseconds per packet; nil where the packet's own duration counts.
        var packetDuration: Int64?
        /// Whether packets follow each other without gaps, as those of video and audio do.
        var isContinuous = true
        /// The first timestamp in ticks; nil when not known.
        var start: Int64?
    }

    /// The timestamps of a packet in ticks of its stream; nil where it has none.
    package struct Times: Hashable, Sendable {
        var pts: Int64?
        var dts: Int64?
        var duration: Int64 = 0
    }

    /// The number of jumps that were removed.
    private(set) var jumps = 0

    private let streams: [Int: Stream]
    private var progress: [Int: Progress] = [:]
    private let followsJumps: Bool
    /// The file's start time, from which wraps are measured.
    private let start: Int64?
    private var offset: Int64 = 0
    /// The offset before the last jump.
    private var previousOffset: Int64?
    private var lastTime: Int64?

    private struct Progress {
        var isUnwrapped = false
        /// The last decode time, and the expected next one; in microseconds.
        var last: Int64 = .min
        var next: Int64?
    }

    /// The smallest jump of decode times (ffmpeg's `-dts_delta_threshold`), in microseconds.
    private static let threshold: Int64 = 10_000_000
    /// The step back in one stream that is a jump too.
    private static let stepBack: Int64 = 100_000
    /// How closely a jump returns to an earlier offset for both to belong to one discontinuity: at a cut the streams'
    /// last packets and first packets are interleaved.
    private static let sameOffset: Int64 = 1_000_000

    /// - Parameters:
    ///   - start: the file's start time in microseconds; nil when not known.
    ///   - followsJumps: whether the format's timestamps may jump.
    ///   - streams: the streams that are read.
    init(start: Int64?, followsJumps: Bool, streams: [Int: Stream]) {
        let start = start.flatMap { Ticks.isPossible($0) ? $0 : nil }
        self.start = start
        self.followsJumps = followsJumps
        self.streams = streams
        guard let start else { return }
        // Elsewhere a negative start is audio that is decoded before the video begins, and not heard.
        offset = -(followsJumps ? Self.firstStart(of: streams, notBefore: start) : max(0, start))
    }

    /// The start of the first stream that is read; streams that are not read may begin earlier.
    private static func firstStart(of streams: [Int: Stream], notBefore start: Int64) -> Int64 {
        let starts = streams.values.compactMap { stream in
            stream.start.flatMap { microseconds($0, stream) }
        }
        return max(start, starts.min() ?? start)
    }

    /// The offset that a time of the file, in ticks of `timeBase`, has on the time line before the first jump.
    package func initialOffset(in timeBase: Rational) -> Int64 { jumps == 0 ? Self.ticks(offset, timeBase) : 0 }

    /// The times of the next packet of `stream` on the time line.
    ///
    /// Impossible timestamps are returned as they are.
    mutating func place(_ times: Times, stream index: Int) -> Times {
        guard let stream = streams[index], Self.arePossible(times) else { return times }
        var state = progress[index] ?? Progress()
        defer { progress[index] = state }
        var placed = unwrapped(times, stream, &state)
        placed.shift(by: Self.ticks(offset, stream.timeBase))
        if let delta = jump(placed, stream, state) {
            // The packet is moved by the same rounding as all later ones.
            move(by: -delta)
            placed.shift(by: -Self.ticks(delta, stream.timeBase))
        }
        guard Self.arePossible(placed) else { return times }
        if let dts = placed.dts, let time = Self.microseconds(dts, stream) {
            lastTime = time
            state.last = time
            let duration = stream.packetDuration ?? Self.microseconds(placed.duration, stream) ?? 0
            state.next = time + max(0, duration)
        }
        return placed
    }

    /// The distance of a packet from where it is expected if that is a jump; nil otherwise.
    private func jump(_ times: Times, _ stream: Stream, _ state: Progress) -> Int64? {
        guard followsJumps, stream.isContinuous, let dts = times.dts, let time = Self.microseconds(dts, stream),
            let expected = state.next ?? lastTime
        else { return nil }
        let delta = time - expected
        let isStepBack = state.next != nil && time + Self.stepBack < state.last
        return delta.magnitude > Self.threshold.magnitude || isStepBack ? delta : nil
    }

    private mutating func move(by delta: Int64) {
        let next = offset + delta
        let isReturn = previousOffset.map { (next - $0).magnitude <= Self.sameOffset.magnitude } ?? false
        if !isReturn { jumps += 1 }
        previousOffset = offset
        offset = next
    }

    /// Moves times past the counter's wrap to the side of the start, until a packet needs no correction.
    private func unwrapped(_ times: Times, _ stream: Stream, _ state: inout Progress) -> Times {
        guard !state.isUnwrapped, let start, (2..<56).contains(stream.wrapBits) else { return times }
        let limit = Self.ticks(start, stream.timeBase) + 1 << (stream.wrapBits - 1)
        var result = times
        if let dts = times.dts, dts > limit { result.dts = dts - 1 << stream.wrapBits }
        if let pts = times.pts, pts > limit { result.pts = pts - 1 << stream.wrapBits }
        state.isUnwrapped = result == times
        return result
    }

    private static func arePossible(_ times: Times) -> Bool {
        (times.pts.map(Ticks.isPossible) ?? true) && (times.dts.map(Ticks.isPossible) ?? true)
    }

    /// A time in microseconds; nil where it is out of range.
    private static func microseconds(_ ticks: Int64, _ stream: Stream) -> Int64? {
        let time = av_rescale_q(ticks, stream.timeBase.libAV, clibav_time_base())
        return Ticks.isPossible(time) ? time : nil
    }

    private static func ticks(_ microseconds: Int64, _ timeBase: Rational) -> Int64 {
        av_rescale_q(microseconds, clibav_time_base(), timeBase.libAV)
    }
}

extension InputTimeline.Times {
    fileprivate mutating func shift(by ticks: Int64) {
        pts = pts.map { $0 &+ ticks }
        dts = dts.map { $0 &+ ticks }
    }
}

extension InputTimeline {
    /// Moves a packet's timestamps to the time line.
    mutating func place(_ packet: UnsafeMutablePointer<AVPacket>) {
        let times = Times(
            pts: MediaPacket.timestamp(packet.pointee.pts), dts: MediaPacket.timestamp(packet.pointee.dts),
            duration: packet.pointee.duration)
        let placed = place(times, stream: Int(packet.pointee.stream_index))
        packet.pointee.pts = placed.pts ?? clibav_no_pts()
        packet.pointee.dts = placed.dts ?? clibav_no_pts()
    }
}
