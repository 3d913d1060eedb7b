// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDWire

/// What a decompression session was sent and another process would need, in order: packets since the last key frame before which
/// every picture came, and the changes and requests among them.
struct PacketLog {
    struct Packet {
        /// What is expected of it.
        enum Expectation {
            case result
            /// Nothing more: its picture came, or was reported as dropped, or it has none.
            case nothing
            /// Nothing, because that was so before the present process, which decodes it as a reference of others.
            case repetition
        }

        var bytes: [UInt8]
        var pts: Int64
        var duration: Int64
        var isOutput: Bool
        /// What a decoder remembers of it.
        var units: [[UInt8]] = []
        var expectation = Expectation.result
        /// Reports that the app has, up to `maxReports`.
        var reports: [PacketReport] = []

        static let maxReports = 64
        var isRepeated: Bool { expectation == .repetition }
    }

    /// A change or request between packets.
    enum Mark {
        case properties([PropertyKey: PropertyValue])
        case format([UInt8])
        /// A request for all pictures, without an answer.
        case barrier
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

    /// What is kept.
    enum Keeping {
        /// All that another process needs.
        case everything
        /// Less, because that is too much, until the next key frame.
        case rest
        /// What was not sent.
        case unsent
    }

    private(set) var settled = Settled()
    private(set) var keeping: Keeping
    /// The app counts packets from 1.
    private var log = ReplayLog<Packet, Mark>(first: 1)
    private var byteCount = 0
    /// Every packet before this one is done.
    private var doneLimit: UInt64 = 1
    /// Key frames whose pictures came and that are not before `doneLimit`, rising.
    private var keyFrames: [UInt64] = []

    /// - Parameter keeps: whether packets are kept that were sent.
    init(keeps: Bool = true) { keeping = keeps ? .everything : .unsent }

    /// Whether the present process was sent everything.
    var isSent: Bool { log.isSent }
    /// Packets that it was not sent.
    var unsentCount: Int { Int(log.end - log.nextItem) }
    /// Whether another process could be sent everything.
    var isWhole: Bool { keeping == .everything }
    /// Whether packets are kept that were sent.
    var keepsSent: Bool { keeping != .unsent }
    /// The next packet or mark for the present process.
    var nextUnsent: ReplayLog<Packet, Mark>.Entry? { log.nextUnsent }

    // MARK: - What is sent

    /// Changes whether packets are kept from now on.
    mutating func keep(_ keeps: Bool) {
        guard keeps != keepsSent else { return }
        keeping = keeps ? .everything : .unsent
        forgetSent()
    }

    /// Adds a packet.
    ///
    /// - Returns: its number.
    mutating func append(_ packet: Packet) -> UInt64 {
        byteCount += packet.bytes.count
        return log.append(packet)
    }

    mutating func append(_ mark: Mark) { log.append(mark) }

    /// Records that the next entry was sent.
    mutating func didSend() {
        log.didSend()
        forgetSent()
        // Without key frames the packets would grow for ever. The next key frame makes the log whole again.
        guard keepsSent, byteCount > Self.maxBytes else { return }
        keeping = .rest
        forget(before: log.nextItem, marks: log.nextMark)
    }

    private mutating func forgetSent() {
        if !keepsSent { forget(before: log.nextItem, marks: log.nextMark) }
    }

    /// Starts again for another process.
    mutating func rewind() {
        log.rewind()
        for number in log.numbers where log[number]?.expectation == .nothing {
            log[number]?.expectation = .repetition
        }
    }

    // MARK: - What comes

    /// Whether a picture is one that the app does not have.
    mutating func take(pictureOf number: UInt64, isKeyFrame: Bool) -> Bool {
        guard let packet = log[number] else { return true }
        guard !packet.isRepeated else { return false }
        log[number]?.expectation = .nothing
        if isKeyFrame {
            let place = keyFrames.lastIndex { $0 < number }.map { $0 + 1 } ?? 0
            keyFrames.insert(number, at: place)
        }
        settle()
        return true
    }

    /// Whether a report is one that the app does not have.
    mutating func take(_ report: PacketReport) -> Bool {
        guard var packet = log[report.frameID] else { return true }
        guard !packet.isRepeated, !packet.reports.contains(report) else { return false }
        if packet.reports.count < Packet.maxReports { packet.reports.append(report) }
        let isDropped = report.flags.contains(.dropped)
        if isDropped { packet.expectation = .nothing }
        log[report.frameID] = packet
        if isDropped { settle() }
        return true
    }

    /// Records the answer to the oldest request: no process needs what is before it.
    mutating func takeAnswer() {
        let sent = log.marks.prefix(log.nextMark)
        guard let found = sent.firstIndex(where: { if case .barrier = $0.mark { true } else { false } }) else {
            return
        }
        let next = log.marks[found].next
        doneLimit = max(doneLimit, next)
        forget(before: next, marks: found + 1)
        makeWhole()
    }

    private mutating func makeWhole() { if keeping == .rest { keeping = .everything } }

    /// Forgets what precedes the last key frame before which, itself included, every picture came: those that precede it in
    /// presentation order are given, and no other depends on what is before it in decoding order.
    private mutating func settle() {
        while let packet = log[doneLimit], packet.expectation != .result { doneLimit += 1 }
        guard let keyFrame = keyFrames.last(where: { $0 < min(doneLimit, log.nextItem) }),
            keyFrame > log.first || keeping == .rest
        else {
            return
        }
        forget(before: keyFrame, marks: log.marks.prefix(log.nextMark).count { $0.next <= keyFrame })
        makeWhole()
    }

    private mutating func forget(before number: UInt64, marks count: Int) {
        var next = log.first
        func leave(until number: UInt64) {
            while next < number {
                if let packet = log[next] {
                    if !packet.units.isEmpty { settled.later.add(packet.units) }
                    byteCount -= packet.bytes.count
                }
                next += 1
            }
        }
        for mark in log.marks.prefix(count) {
            leave(until: mark.next)
            switch mark.mark {
            case .properties(let values): settled.properties.merge(values) { $1 }
            case .format(let format):
                settled.earlier.add(settled.later.units)
                (settled.format, settled.later) = (format, StreamPreamble())
            case .barrier: break
            }
        }
        leave(until: number)
        log.forget(before: number, marks: count)
        doneLimit = max(doneLimit, number)
        keyFrames.removeAll { $0 < number }
    }

    /// Takes the properties that another process gets when it is created.
    mutating func takeSettledProperties() -> [PropertyKey: PropertyValue] {
        defer { settled.properties = [:] }
        return settled.properties
    }
}
