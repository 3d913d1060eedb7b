// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDWire

/// What a decompression session was sent and another process would need, in order: packets since the last key frame before which
/// every picture came, and the changes and requests among them.
struct PacketLog {
    struct Packet {
        var bytes: [UInt8]
        var pts: Int64
        var duration: Int64
        var isOutput: Bool
        /// What a decoder remembers of it.
        var units: [[UInt8]] = []
        /// Whether nothing more is expected of it: its picture came, or was reported as dropped, or it has none.
        var isDone = false
        /// Whether it was done before the present process, which decodes it as a reference of others.
        var isRepeated = false
        /// Reports that the app has.
        var reports: [PacketReport] = []
    }

    /// A change or request between packets.
    enum Mark {
        case properties([PropertyKey: PropertyValue])
        case format([UInt8])
        /// A request for all pictures, without an answer.
        case barrier
    }

    enum Entry {
        case packet(UInt64, Packet)
        case mark(Mark)
    }

    /// What the entries that were forgotten leave to another process.
    struct Settled {
        var properties: [PropertyKey: PropertyValue] = [:]
        /// Units of packets before the last change of format, that change, and units since.
        var earlier = StreamPreamble()
        var format: [UInt8]?
        var later = StreamPreamble()
    }

    /// The most bytes of packets that are kept.
    static let maxBytes = 64 << 20

    private(set) var settled = Settled()
    private var packets: [Packet] = []
    /// The number of the first of them; the app counts packets from 1.
    private var first: UInt64 = 1
    /// Each with the number of the packet that follows it.
    private var marks: [(next: UInt64, mark: Mark)] = []
    /// The next packet and mark for the present process.
    private var nextPacket: UInt64 = 1
    private var nextMark = 0
    private var byteCount = 0
    /// Every packet before this one is done.
    private var doneLimit: UInt64 = 1
    /// Key frames whose pictures came and that are not before `doneLimit`, rising.
    private var keyFrames: [UInt64] = []

    /// The number of the packet that follows the last one.
    var end: UInt64 { first + UInt64(packets.count) }
    /// Whether the present process was sent everything.
    var isSent: Bool { nextPacket == end && nextMark == marks.count }
    /// Packets that it was not sent.
    var unsentCount: Int { Int(end - nextPacket) }
    /// Whether another process could be sent everything.
    private(set) var isWhole = true

    /// The next entry for the present process.
    var nextUnsent: Entry? {
        if nextMark < marks.count, marks[nextMark].next <= nextPacket { return .mark(marks[nextMark].mark) }
        return nextPacket < end ? .packet(nextPacket, packets[index(nextPacket)]) : nil
    }

    private func index(_ number: UInt64) -> Int { Int(number - first) }

    private func contains(_ number: UInt64) -> Bool { number >= first && number < end }

    // MARK: - What is sent

    /// Adds a packet.
    ///
    /// - Returns: its number.
    mutating func append(_ packet: Packet) -> UInt64 {
        packets.append(packet)
        byteCount += packet.bytes.count
        return end - 1
    }

    mutating func append(_ mark: Mark) { marks.append((end, mark)) }

    /// Records that the next entry was sent.
    mutating func didSend() {
        if nextMark < marks.count, marks[nextMark].next <= nextPacket { nextMark += 1 } else { nextPacket += 1 }
        // Without key frames the packets would grow for ever. The next key frame makes the log whole again.
        guard byteCount > Self.maxBytes else { return }
        isWhole = false
        forget(before: nextPacket, marks: nextMark)
    }

    /// Forgets what was sent, where nothing is kept.
    mutating func forgetSent() {
        byteCount -= packets.prefix(index(nextPacket)).reduce(0) { $0 + $1.bytes.count }
        packets.removeFirst(index(nextPacket))
        marks.removeFirst(nextMark)
        (first, doneLimit, nextMark, keyFrames) = (nextPacket, nextPacket, 0, [])
    }

    /// Starts again for another process.
    mutating func rewind() {
        (nextPacket, nextMark) = (first, 0)
        for position in packets.indices { packets[position].isRepeated = packets[position].isDone }
    }

    // MARK: - What comes

    /// Whether a picture is one that the app does not have.
    mutating func take(pictureOf number: UInt64, isKeyFrame: Bool) -> Bool {
        guard contains(number) else { return true }
        guard !packets[index(number)].isRepeated else { return false }
        packets[index(number)].isDone = true
        if isKeyFrame {
            let place = keyFrames.lastIndex { $0 < number }.map { $0 + 1 } ?? 0
            keyFrames.insert(number, at: place)
        }
        settle()
        return true
    }

    /// Whether a report is one that the app does not have.
    mutating func take(_ report: PacketReport) -> Bool {
        guard contains(report.frameID) else { return true }
        let position = index(report.frameID)
        guard !packets[position].isRepeated, !packets[position].reports.contains(report) else { return false }
        packets[position].reports.append(report)
        guard report.flags.contains(.dropped) else { return true }
        packets[position].isDone = true
        settle()
        return true
    }

    /// Records the answer to the oldest request: no process needs what is before it.
    mutating func takeAnswer() {
        let found = marks.prefix(nextMark).firstIndex { if case .barrier = $0.mark { true } else { false } }
        guard let found else { return }
        doneLimit = max(doneLimit, marks[found].next)
        forget(before: marks[found].next, marks: found + 1)
        isWhole = true
    }

    /// Forgets what precedes the last key frame before which, itself included, every picture came: those that precede it in
    /// presentation order are given, and no other depends on what is before it in decoding order.
    private mutating func settle() {
        while doneLimit < end, packets[index(doneLimit)].isDone { doneLimit += 1 }
        guard let keyFrame = keyFrames.last(where: { $0 < min(doneLimit, nextPacket) }),
            keyFrame > first || !isWhole
        else {
            return
        }
        forget(before: keyFrame, marks: marks.prefix(nextMark).count { $0.next <= keyFrame })
        isWhole = true
    }

    private mutating func forget(before number: UInt64, marks count: Int) {
        var position = 0
        for mark in marks.prefix(count) {
            settle(packets[position..<index(mark.next)])
            position = index(mark.next)
            switch mark.mark {
            case .properties(let values): settled.properties.merge(values) { $1 }
            case .format(let format):
                settled.earlier.add(settled.later.units)
                (settled.format, settled.later) = (format, StreamPreamble())
            case .barrier: break
            }
        }
        settle(packets[position..<index(number)])
        marks.removeFirst(count)
        nextMark -= count
        byteCount -= packets.prefix(index(number)).reduce(0) { $0 + $1.bytes.count }
        packets.removeFirst(index(number))
        first = number
        doneLimit = max(doneLimit, number)
        keyFrames.removeAll { $0 < number }
    }

    private mutating func settle(_ packets: ArraySlice<Packet>) {
        for packet in packets where !packet.units.isEmpty { settled.later.add(packet.units) }
    }

    /// Takes the properties that another process gets when it is created.
    mutating func takeSettledProperties() -> [PropertyKey: PropertyValue] {
        defer { settled.properties = [:] }
        return settled.properties
    }
}
