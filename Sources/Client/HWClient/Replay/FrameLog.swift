// SPDX-License-Identifier: MIT
internal import HWDModel

/// What a compression session was sent and another process would need: frames without a delivered packet, and the changes
/// and requests among them, in order.
struct FrameLog {
    /// A frame without a delivered packet.
    struct Frame {
        /// As the app sent it.
        var frame: EncodeFrame
        /// Its number in the session, from 0, in presentation order; the worker knows it by this number.
        var number: UInt64
        /// Where the session copied it; nil while it is in the app's memory.
        var copy: FrameCopies.Copy?
        /// Whether the present process has read it.
        var isRead = false
        /// Whether an earlier process had read it.
        var wasRead = false
        /// Whether the app knows that its memory is free.
        var isReturned = false
        /// Whether the present process has sent its packet.
        var isCoded = false
    }

    enum Entry {
        case frame(Frame)
        /// Properties that changed from the next frame on.
        case properties([PropertyKey: PropertyValue])
        /// A request for the packets of the frames up to a presentation time.
        case completion(until: Int64)
    }

    private(set) var entries: [Entry] = []
    /// Entries that the present process was sent.
    private(set) var sentCount = 0
    private var frameCount: UInt64 = 0

    /// Whether the present process was sent everything.
    var isSent: Bool { sentCount == entries.count }

    /// The next entry for the present process.
    var nextUnsent: Entry? { isSent ? nil : entries[sentCount] }

    /// Frames that the present process has not read.
    var unreadCount: Int {
        entries.count { if case .frame(let frame) = $0 { !frame.isRead } else { false } }
    }

    /// Frames that no process has read.
    var newCount: Int {
        entries.count { if case .frame(let frame) = $0 { !frame.isRead && !frame.wasRead } else { false } }
    }

    /// Frames that the present process has read, wherever they are kept.
    var readCount: Int {
        entries.count { if case .frame(let frame) = $0 { frame.isRead } else { false } }
    }

    /// Frames in the app's memory that the present process has read, in one pool.
    func keptCount(inPool poolID: UInt32) -> Int {
        entries.count {
            if case .frame(let frame) = $0 {
                frame.isRead && !frame.isReturned && frame.frame.poolID == poolID
            } else {
                false
            }
        }
    }

    mutating func append(_ frame: EncodeFrame) {
        entries.append(.frame(Frame(frame: frame, number: frameCount)))
        frameCount += 1
    }

    mutating func append(_ entry: Entry) { entries.append(entry) }

    /// Records that the next entry was sent.
    mutating func didSend() { sentCount += 1 }

    /// The frame with a number; nil if there is none, or its packet was delivered.
    func frame(_ number: UInt64) -> Frame? {
        guard let index = index(of: number), case .frame(let frame) = entries[index] else { return nil }
        return frame
    }

    /// Replaces a frame.
    mutating func update(_ frame: Frame) {
        if let index = index(of: frame.number) { entries[index] = .frame(frame) }
    }

    private func index(of number: UInt64) -> Int? {
        entries.firstIndex { if case .frame(let frame) = $0 { frame.number == number } else { false } }
    }

    /// The oldest request that the present process was sent and has not answered.
    func firstCompletion() -> Int64? {
        for case .completion(let pts) in entries.prefix(sentCount) { return pts }
        return nil
    }

    /// Forgets the oldest request.
    mutating func removeFirstCompletion() {
        let index = entries.firstIndex { if case .completion = $0 { true } else { false } }
        if let index { remove(at: index) }
    }

    /// Forgets a frame whose packet was delivered and whose memory is the app's.
    mutating func remove(_ number: UInt64) {
        if let index = index(of: number) { remove(at: index) }
    }

    private mutating func remove(at index: Int) {
        entries.remove(at: index)
        if index < sentCount { sentCount -= 1 }
    }

    /// Removes the properties that no remaining frame preceded, which a new process gets when it is created.
    mutating func takeSettledProperties() -> [[PropertyKey: PropertyValue]] {
        var settled: [[PropertyKey: PropertyValue]] = []
        while sentCount > 0, case .properties(let properties)? = entries.first {
            settled.append(properties)
            remove(at: 0)
        }
        return settled
    }

    /// Starts again for another process.
    mutating func rewind() {
        sentCount = 0
        for index in entries.indices {
            guard case .frame(var frame) = entries[index] else { continue }
            frame.wasRead = frame.wasRead || frame.isRead
            frame.isRead = false
            frame.isCoded = false
            entries[index] = .frame(frame)
        }
    }
}
