// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDEdits
internal import HWDLibAV
public import HWDModel

/// A range on the time line of a video: which pictures it has, and the times of everything in the output.
///
/// Output times begin with the first picture that is kept.
public struct TimeCut: Sendable {
    /// Where a picture is.
    public enum Place: Hashable, Sendable { case before, inside, after }

    /// The time of the first picture that is kept, in ticks of the video; nil before it was found.
    public private(set) var origin: Int64?

    private let range: TimeRange
    private let timeBase: Rational
    /// Ticks of the video: the first possible time of a picture, and the end where it is known.
    let start: Int64
    private var end: Int64?

    /// What a decoder must have decoded before sound is right, in microseconds: 80 ms of Opus (RFC 7845 4.6), one packet
    /// of other codecs.
    private static let preroll: Int64 = 80_000

    /// A range of a video whose times are in `timeBase`.
    public init(_ range: TimeRange, timeBase: Rational) {
        (self.range, self.timeBase) = (range, timeBase)
        start = Self.ticks(range.start, timeBase)
        if case .time(let time) = range.end { end = Self.ticks(time, timeBase) }
    }

    /// The place of a picture; pictures come in presentation order.
    public mutating func place(picture pts: Int64) -> Place {
        guard pts >= start else { return .before }
        if let end, pts >= end { return .after }
        begin(at: pts)
        return .inside
    }

    /// Sets the beginning of the output's time line, once.
    mutating func begin(at pts: Int64) {
        guard origin == nil else { return }
        origin = pts
        if case .duration(let length) = range.end { end = pts + Self.ticks(length, timeBase) }
    }

    /// Whether a picture is at `start` or later.
    func isStarted(_ pts: Int64) -> Bool { pts >= start }

    /// Whether a picture is at the end or later.
    func isAfter(_ pts: Int64) -> Bool { end.map { pts >= $0 } ?? false }

    /// The duration of a picture, cut at the end of the range.
    public func duration(_ duration: Int64, at pts: Int64) -> Int64 {
        end.map { min(duration, $0 - pts) } ?? duration
    }

    /// Whether a picture is so far behind the end that no packet before the end follows it in any file.
    public func isFarBehind(_ pts: Int64) -> Bool {
        end.map { pts - $0 > Self.ticks(10_000_000, timeBase) } ?? false
    }

    /// Whether a packet of another stream is behind the end.
    public func isBehind(_ packet: MediaPacket) -> Bool {
        guard let end, let time = Self.time(packet) else { return false }
        return time >= moved(end, to: packet.timeBase)
    }

    /// Whether a packet of another stream may be needed; `origin` need not be known.
    public func mayNeed(_ packet: MediaPacket) -> Bool {
        guard let time = Self.time(packet) else { return origin != nil }
        let first = moved(origin ?? start, to: packet.timeBase) - Self.ticks(Self.preroll, packet.timeBase)
        return time + max(1, Self.duration(packet)) > first && !isBehind(packet)
    }

    /// A packet of sound at its time in the output: those before 0 are for the decoder and not heard.
    /// - Returns: nil where it is not needed, and before `origin` is known.
    public func sound(_ packet: MediaPacket) -> MediaPacket? {
        guard let origin, mayNeed(packet) else { return nil }
        return packet.moved(by: -moved(origin, to: packet.timeBase))
    }

    /// A packet of text at its time in the output, cut to the range; nil where it is not needed, and before `origin`.
    public func text(_ packet: MediaPacket) -> MediaPacket? {
        guard let origin, let time = Self.time(packet), !isBehind(packet) else { return nil }
        let first = moved(origin, to: packet.timeBase)
        let stop = min(time + Self.duration(packet), end.map { moved($0, to: packet.timeBase) } ?? .max)
        guard stop > first || time >= first else { return nil }
        let begin = max(time, first)
        return packet.moved(by: -first, pts: begin - first, duration: max(0, stop - begin))
    }

    /// The time of a packet; nil for an impossible one.
    private static func time(_ packet: MediaPacket) -> Int64? {
        (packet.pts ?? packet.dts).flatMap { Ticks.isPossible($0) ? $0 : nil }
    }

    private static func duration(_ packet: MediaPacket) -> Int64 { max(0, min(packet.duration, Ticks.bound)) }

    private func moved(_ ticks: Int64, to base: Rational) -> Int64 {
        Self.bounded(av_rescale_q(ticks, timeBase.libAV, base.libAV))
    }

    private static func ticks(_ microseconds: Int64, _ base: Rational) -> Int64 {
        bounded(av_rescale_q(microseconds, clibav_time_base(), base.libAV))
    }

    /// Time bases of different files can make a time overflow.
    private static func bounded(_ ticks: Int64) -> Int64 { max(-Ticks.bound, min(ticks, Ticks.bound)) }
}
