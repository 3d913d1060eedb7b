// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// Leaves out what a part of a file does not have, and moves the rest to the part's time line.
struct PacketTrimmer {
    /// The beginning of the part, in seconds of the file.
    let start: Double
    /// Nil for a file that is such a part.
    private var cut: TimeCut?
    private let texts: Set<Int>
    /// Packets that came before the first picture.
    private var held: [MediaPacket] = []

    init(_ reader: MediaReader, _ range: TimeRange?) {
        cut = range.map { TimeCut($0, timeBase: reader.video.timeBase) }
        start = Double(range?.start ?? 0) / 1_000_000
        texts = Set(reader.otherStreams.filter(\.isText).map(\.index))
    }

    /// The time of a picture in the part, in ticks; nil for one that it does not have.
    mutating func place(_ pts: Int64) -> Int64? {
        guard cut != nil else { return pts }
        guard cut?.place(picture: pts) == .inside, let origin = cut?.origin else { return nil }
        return pts - origin
    }

    /// The packets that were held until the first picture was known.
    mutating func release() -> [MediaPacket] {
        guard cut?.origin != nil, !held.isEmpty else { return [] }
        defer { held = [] }
        return held.compactMap(placed)
    }

    /// The packets to compare, given the next one of the file.
    mutating func add(_ packet: MediaPacket) -> [MediaPacket] {
        guard let cut else { return isHeard(packet) ? [packet] : [] }
        guard cut.origin == nil else { return [placed(packet)].compactMap { $0 } }
        if texts.contains(packet.streamIndex) || cut.mayNeed(packet) { held.append(packet) }
        return []
    }

    private func placed(_ packet: MediaPacket) -> MediaPacket? {
        let moved = texts.contains(packet.streamIndex) ? cut?.text(packet) : cut?.sound(packet)
        return moved.flatMap { isHeard($0) ? $0 : nil }
    }

    /// Whether a packet does not end before the part begins.
    private func isHeard(_ packet: MediaPacket) -> Bool { (packet.pts ?? 0) + max(1, packet.duration) > 0 }
}
