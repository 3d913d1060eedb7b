// SPDX-License-Identifier: MIT
internal import HWDModel

/// What a compression session was sent and another process would need: frames without a delivered packet, and the changes
/// and requests among them, in order.
struct FrameLog {
    /// A frame without a delivered packet.
    struct Frame {
        /// How far processes are with it.
        enum Progress {
            /// No process has read it.
            case new
            /// An earlier process had read it, the present one has not.
            case repeated
            /// The present process has read it.
            case read
        }

        /// Where its samples are.
        enum Samples {
            /// In the app's memory, which the session has.
            case lent
            /// The app has its memory back, and the session a copy.
            case copied(FrameCopies.Copy)
            /// The app has its memory back, and the frame cannot be sent again.
            case returned
        }

        /// As the app sent it.
        let frame: EncodeFrame
        var progress = Progress.new
        var samples = Samples.lent

        var isRead: Bool { progress == .read }
        /// Whether the session has the app's memory.
        var isLent: Bool { if case .lent = samples { true } else { false } }
        /// The copy of its samples; nil where there is none.
        var copy: FrameCopies.Copy? { if case .copied(let copy) = samples { copy } else { nil } }
    }

    /// A change or request between frames.
    enum Mark {
        /// Properties that changed from the next frame on.
        case properties([PropertyKey: PropertyValue])
        /// A request for the packets of the frames up to a presentation time.
        case completion(until: Int64)
    }

    private var log = ReplayLog<Frame, Mark>(first: 0)
    /// Frames that the present process has not read.
    private(set) var unreadCount = 0
    /// Frames that no process has read.
    private(set) var newCount = 0
    /// Frames that the present process has read, wherever their samples are.
    private(set) var readCount = 0
    /// Those of them in the app's memory, by their pool.
    private var keptCounts: [UInt32: Int] = [:]

    /// Whether the present process was sent everything.
    var isSent: Bool { log.isSent }

    /// The next frame, with its number, or mark for the present process.
    var nextUnsent: ReplayLog<Frame, Mark>.Entry? { log.nextUnsent }

    /// Frames in the app's memory that the present process has read, in one pool.
    func keptCount(inPool poolID: UInt32) -> Int { keptCounts[poolID] ?? 0 }

    private mutating func count(_ frame: Frame, _ change: Int) {
        switch frame.progress {
        case .new:
            newCount += change
            unreadCount += change
        case .repeated: unreadCount += change
        case .read:
            readCount += change
            if frame.isLent { keptCounts[frame.frame.poolID, default: 0] += change }
        }
    }

    /// Adds a frame; frames are numbered from 0 in presentation order, and the worker knows them by these numbers.
    mutating func append(_ frame: EncodeFrame) {
        let added = Frame(frame: frame)
        log.append(added)
        count(added, 1)
    }

    mutating func append(_ mark: Mark) { log.append(mark) }

    /// Records that the next entry was sent.
    mutating func didSend() { log.didSend() }

    /// The frame with a number that the present process was sent; nil if there is none, or its packet was delivered.
    func sentFrame(_ number: UInt64) -> Frame? { number < log.nextItem ? log[number] : nil }

    /// The numbers of the frames in a pool of the app's.
    func lentNumbers(inPool poolID: UInt32) -> [UInt64] {
        log.numbers.filter { number in log[number].map { $0.isLent && $0.frame.poolID == poolID } ?? false }
    }

    /// The numbers of the frames in the app's memory that the present process has read.
    var keptNumbers: [UInt64] {
        log.numbers.filter { number in log[number].map { $0.isLent && $0.isRead } ?? false }
    }

    /// A frame, for changes; nil forgets it, whose packet was delivered.
    subscript(number: UInt64) -> Frame? {
        get { log[number] }
        set {
            guard let old = log[number] else { return }
            count(old, -1)
            log[number] = newValue
            if let newValue { count(newValue, 1) }
        }
    }

    /// The oldest request that the present process was sent and has not answered.
    func firstCompletion() -> Int64? {
        for case (_, .completion(let pts)) in log.marks.prefix(log.nextMark) { return pts }
        return nil
    }

    /// Forgets the oldest request.
    mutating func removeFirstCompletion() {
        let sent = log.marks.prefix(log.nextMark)
        if let index = sent.firstIndex(where: { if case .completion = $0.mark { true } else { false } }) {
            log.removeMark(at: index)
        }
    }

    /// Removes the properties that no remaining frame preceded, which a new process gets when it is created.
    mutating func takeSettledProperties() -> [[PropertyKey: PropertyValue]] {
        var settled: [[PropertyKey: PropertyValue]] = []
        while case .properties(let properties)? = log.takeFirstMark(where: {
            if case .properties = $0 { true } else { false }
        }) { settled.append(properties) }
        return settled
    }

    /// Starts again for another process.
    mutating func rewind() {
        for number in log.numbers {
            guard var frame = self[number], frame.isRead else { continue }
            frame.progress = .repeated
            self[number] = frame
        }
        log.rewind()
    }
}
