// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDEdits
internal import HWDMetadata
internal import HWDModel

/// Cuts a video that is copied, with its sound and text: packets in, packets at their times in the output out.
///
/// A copy begins with the last key frame that is not after the start. Its time line begins there too, or where it is exact
/// with the first picture at the start or later: an edit list then hides the pictures before.
public struct CopyCut {
    /// Whether nothing of the rest of the file is needed.
    public private(set) var isEnded = false
    /// The seconds by which the copy begins before the start that was requested; nil before that is known.
    public private(set) var lead: Double?

    private let range: TimeRange
    private let isExact: Bool
    private let video: (index: Int, timeBase: Rational)
    private let texts: Set<Int>
    private var openSound: Set<Int>
    private var cut: TimeCut
    /// The time of the key frame that the copy begins with, in ticks of the video; not final before `lead` is known.
    package private(set) var keyTime: Int64?
    /// What follows the key frame.
    private var isPastLeading = false
    private var pictures: [MediaPacket] = []
    private var others: [MediaPacket] = []
    /// Pictures at the start and later among `pictures`.
    private var following = 0
    private var isBegun = false
    /// A configuration of pictures that are left out.
    private var configuration: [UInt8]?
    /// Pictures behind the end that pictures before it may refer to.
    private var hidden: [MediaPacket] = []

    /// More pictures than any stream reorders.
    private static let reordered = 17

    /// - Parameter isExact: whether an edit list hides what is before the start.
    public init(_ reader: MediaReader, _ range: TimeRange, isExact: Bool) {
        var range = range
        if !isExact, case .duration(let length) = range.end { range.end = .time(range.start + length) }
        (self.range, self.isExact) = (range, isExact)
        video = (reader.video.streamIndex, reader.video.timeBase)
        cut = TimeCut(range, timeBase: reader.video.timeBase)
        texts = Set(reader.otherStreams.filter(\.isText).map(\.index))
        openSound = Set(reader.otherStreams.filter { $0.content == .audio }.map(\.index))
    }

    /// The packets that the next one of the file completes.
    public mutating func add(_ packet: MediaPacket) -> [MediaPacket] {
        guard packet.streamIndex == video.index else { return add(other: packet) }
        guard isBegun else {
            collect(packet)
            return following >= Self.reordered ? begin() : []
        }
        return place(packet)
    }

    /// The packets that are left at the end of the file; none where it has no picture in the range.
    public mutating func finish() -> [MediaPacket] { isBegun ? [] : begin() }

    /// Keeps what may belong to the copy, until its first picture is known.
    private mutating func collect(_ packet: MediaPacket) {
        guard let pts = packet.pts, Ticks.isPossible(pts) else { return }
        let isStarted = cut.isStarted(pts)
        if packet.isSync, keyTime == nil || !isStarted || pts == cut.start {
            configuration = pictures.compactMap(\.newConfiguration).last ?? configuration
            (keyTime, isPastLeading, pictures, following) = (pts, false, [packet], isStarted ? 1 : 0)
            let time = Double(pts) * video.timeBase.value - 0.2
            others.removeAll { other in
                guard let begin = other.pts else { return false }
                let end = (Double(begin) + Double(other.duration)) * other.timeBase.value
                return !texts.contains(other.streamIndex) && end < time
            }
            return
        }
        guard let keyTime else { return }
        // Leading pictures refer to pictures before the key frame.
        if !isPastLeading, pts < keyTime { return }
        isPastLeading = true
        pictures.append(packet)
        if isStarted { following += 1 }
    }

    private mutating func begin() -> [MediaPacket] {
        let times = pictures.compactMap(\.pts)
        guard let keyTime, let first = times.filter(cut.isStarted).min() else { return [] }
        isBegun = true
        cut.begin(at: isExact ? first : keyTime)
        lead = Double(first - keyTime) * video.timeBase.value
        if let configuration, let key = pictures.first {
            _ = MediaPacket.set(newConfiguration: configuration, of: key.packet)
        }
        let sound = others.compactMap(placed)
        defer { (pictures, others) = ([], []) }
        return sound + pictures.flatMap { place($0) }
    }

    /// A picture at its time, after those behind the end that are before it in decoding order.
    private mutating func place(_ packet: MediaPacket) -> [MediaPacket] {
        guard let origin = cut.origin, let pts = packet.pts, Ticks.isPossible(pts) else { return [] }
        if cut.isAfter(pts) {
            hidden.append(packet)
            if hidden.count >= Self.reordered, openSound.isEmpty || cut.isFarBehind(pts) { isEnded = true }
            if hidden.count > 4 * Self.reordered { hidden.removeFirst() }
            return []
        }
        let needed = hidden.compactMap { $0.moved(by: -origin) }
        for picture in needed { picture.hide() }
        hidden = []
        return needed
            + [packet.moved(by: -origin, duration: cut.duration(packet.duration, at: pts))].compactMap { $0 }
    }

    private mutating func add(other packet: MediaPacket) -> [MediaPacket] {
        if cut.isBehind(packet) { openSound.remove(packet.streamIndex) }
        guard isBegun else {
            others.append(packet)
            return []
        }
        return [placed(packet)].compactMap { $0 }
    }

    private func placed(_ packet: MediaPacket) -> MediaPacket? {
        texts.contains(packet.streamIndex) ? cut.text(packet) : cut.sound(packet)
    }
}
