// SPDX-License-Identifier: GPL-2.0-or-later

@testable import HWOutput

/// A stream of numbered pictures with their packets in decoding order.
struct NumberedStream {
    var scale: TickScale
    var packets: [PacketFacts]

    /// The times of its pictures, ascending.
    var times: [Int64] { packets.map(\.time).sorted() }

    /// Pictures at given times; every group has `reordered` pictures that are decoded behind the one they precede.
    init(_ times: [Int64], end: Int64, scale: TickScale, group: Int = 30, reordered: Int = 0, opens: Bool = false) {
        self.scale = scale
        let count = times.count
        func facts(_ number: Int, isKey: Bool, isReference: Bool = true) -> PacketFacts {
            let next = number + 1 < count ? times[number + 1] : end
            return PacketFacts(
                time: times[number], decodeTime: 0, duration: next - times[number], isKey: isKey,
                isReference: isReference)
        }
        packets = []
        var number = 0
        while number < count {
            packets.append(facts(number, isKey: true))
            let last = min(count, number + group)
            var anchor = number
            while anchor + 1 < last {
                let next = min(anchor + 1 + reordered, last - 1)
                packets.append(facts(next, isKey: false))
                for between in anchor + 1..<next {
                    packets.append(facts(between, isKey: false, isReference: false))
                }
                anchor = next
            }
            number = last
        }
        if opens, reordered > 0 { open(group) }
        setDecodeTimes()
    }

    /// Moves the pictures before a key frame behind it: the group before stays open.
    private mutating func open(_ group: Int) {
        for index in packets.indices.filter({ packets[$0].isKey && $0 >= 2 }) { packets.swapAt(index - 1, index) }
    }

    /// Decode times: those of display, none after its picture's.
    mutating func setDecodeTimes() {
        let sorted = times
        let shift = packets.indices.map { sorted[$0] - packets[$0].time }.max() ?? 0
        for index in packets.indices { packets[index].decodeTime = sorted[index] - shift }
    }

    /// A constant rate, in exact ticks.
    static func constant(_ rate: (Int64, Int64), seconds: Int64, group: Int = 30, reordered: Int = 0)
        -> NumberedStream
    {
        let count = seconds * rate.0 / rate.1 + 4
        return NumberedStream(
            (0..<count).map { $0 * rate.1 }, end: count * rate.1,
            scale: TickScale(numerator: 1, denominator: rate.0),
            group: group, reordered: reordered)
    }
}

/// A playback whose decoder takes a time for each picture, on a clock that the test sets.
struct SimulatedPlayer {
    var playback: Playback<Int64>
    let stream: NumberedStream
    /// Nanoseconds for a picture.
    var cost: Int64 = 0
    /// Pictures that the decoder keeps until it has more packets.
    var depth = 0
    /// Times of pictures that the decoder drops.
    var lost: Set<Int64> = []
    private(set) var now: Int64 = 0
    private var cursor = 0
    private var freeAt: Int64 = 0
    private var inside: [(id: UInt64, number: Int, packet: PacketFacts, at: Int64)] = []
    private(set) var decodedCount = 0
    private(set) var readCount = 0
    private(set) var convertedMost = 0
    /// Pictures at once in the queue, at most.
    private(set) var mostWaiting = 0

    init(_ stream: NumberedStream, pictureBytes: Int = 1 << 20, refreshInterval: Duration? = nil) {
        self.stream = stream
        playback = Playback(stream.scale, pictureBytes: pictureBytes, refreshInterval: refreshInterval)
    }

    private mutating func deliver(keeping depth: Int) {
        while true {
            let decoded = inside.indices.filter { inside[$0].at <= now }
            guard decoded.count > depth,
                let first = decoded.min(by: { inside[$0].packet.time < inside[$1].packet.time })
            else { return }
            let picture = inside.remove(at: first)
            if lost.contains(picture.packet.time) {
                playback.didLose(picture.id)
                continue
            }
            let facts = DecodedFacts(
                id: picture.id, number: picture.number, time: picture.packet.time,
                duration: picture.packet.duration,
                byteCount: picture.packet.pictureBytes > 0 ? picture.packet.pictureBytes : playback.pictureBytes)
            _ = playback.didDecode(facts, picture.packet.time, at: now)
            mostWaiting = max(
                mostWaiting, playback.current.waitingCount + (playback.upcoming?.waitingCount ?? 0))
        }
    }

    /// Decodes until a time.
    mutating func run(until host: Int64) {
        while true {
            deliver(keeping: depth)
            guard freeAt <= now else {
                guard freeAt <= host else { break }
                now = freeAt
                continue
            }
            switch playback.nextWork() {
            case .seek(let time):
                inside = []
                var target = time
                while true {
                    let found = stream.packets.lastIndex { $0.isKey && $0.time <= target }
                    cursor = found ?? 0
                    let next = stream.packets.first { $0.isKey && $0.time > target }?.time
                    let isFirst = !stream.packets[..<cursor].contains { $0.isKey }
                    guard let again = playback.didSeek(stream.packets[cursor].time, next: next, isFirst: isFirst)
                    else { break }
                    target = again
                }
            case .read:
                guard cursor < stream.packets.count else {
                    playback.sourceEnded()
                    continue
                }
                let packet = stream.packets[cursor]
                cursor += 1
                readCount += 1
                guard case .decode(let id, let isOutput) = playback.read(packet, at: now) else { continue }
                decodedCount += 1
                freeAt = now + cost
                if isOutput { inside.append((id, playback.run.number, packet, freeAt)) }
            case .finish:
                deliver(keeping: 0)
                playback.didFinish(playback.run.number)
            case .wait:
                now = host
                return
            }
        }
        now = host
    }

    /// The time of the frame that a refresh shows anew; nil for none.
    mutating func ask(at host: Int64) -> (time: Int64, epoch: Int)? {
        run(until: host)
        convertedMost = max(convertedMost, playback.expected(at: host).count)
        var answer = playback.frame(at: host, isReady: { _ in true })
        // As an app that waits does, on a clock that stands meanwhile.
        for _ in 0..<(cost == 0 ? 1000 : 0) {
            guard case .none(let reason) = answer, reason == .notDecodedYet || reason == .seeking else { break }
            run(until: host)
            answer = playback.frame(at: host, isReady: { _ in true })
        }
        switch answer {
        case .frame(_, let time, _, let epoch, _): return (time, epoch)
        case .none(.notDecodedYet):
            playback.countLate()
            return nil
        case .none: return nil
        }
    }
}
