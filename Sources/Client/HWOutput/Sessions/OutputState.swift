// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import Synchronization

/// What an output's callers and its thread share.
final class OutputState: Sendable {
    struct Content {
        var playback: Playback<HeldPicture>
        var devices = OutputDevices()
        var isStopped = false
        /// Whether the session has ended for good.
        var hasFailed = false
        var waiters: [OutputWaiter] = []
    }

    /// The answer to one question, or that a picture is not there yet.
    enum Reply {
        case answer(VideoOutput.Answer)
        case waits(NoFrame, OutputWaiter?)
    }

    private let content: Mutex<Content>
    let wakeUp: EventFD
    private let scale: TickScale

    init(_ timeBase: Rational, _ options: VideoOutput.Options) throws(SystemError) {
        wakeUp = try EventFD()
        scale = TickScale(
            numerator: Int64(max(1, timeBase.numerator)), denominator: Int64(max(1, timeBase.denominator)))
        var playback = Playback<HeldPicture>(
            scale, pictureBytes: 1,
            bounds: .init(bytes: max(1, options.queueBytes), reverseBytes: max(1, options.reverseBytes)),
            refreshInterval: options.refreshInterval)
        playback.isLooping = options.isLooping
        content = Mutex(Content(playback: playback))
    }

    func look<Value: Sendable>(_ body: (inout Content) -> Value) -> Value { content.withLock { body(&$0) } }

    /// Changes what is played.
    func change(_ body: (inout Content) -> Void) {
        content.withLock { body(&$0) }
        wakeUp.signal()
    }

    func stop() {
        content.withLock { $0.isStopped = true }
        wakeUp.signal()
    }

    /// Resumes everyone who waits for a picture.
    func resumeWaiters() {
        let waiters = content.withLock { content in
            defer { content.waiters = [] }
            return content.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// - Parameter registering: whether a caller waits for a picture that is not there.
    func ask(at host: Int64, registering: Bool) -> Reply {
        let reply: Reply = content.withLock { content in
            switch content.playback.frame(at: host, isReady: { $0.shown != nil }) {
            case .frame(_, let time, let duration, let epoch, let picture):
                guard let buffer = picture.shown else { return .answer(.none(.notDecodedYet)) }
                return .answer(
                    .frame(
                        VideoOutput.Frame(
                            buffer: buffer, displayTime: scale.nanoseconds(time), time: time, duration: duration,
                            epoch: epoch, description: picture.description)))
            case .none(let reason) where reason == .notDecodedYet || reason == .seeking:
                guard registering, !content.hasFailed, let waiter = OutputWaiter() else {
                    return .waits(reason, nil)
                }
                content.waiters.append(waiter)
                return .waits(reason, waiter)
            case .none(let reason): return .answer(.none(reason))
            }
        }
        wakeUp.signal()
        return reply
    }

    /// The answer to a question that nobody waits for any more.
    /// - Parameter waiter: of that question.
    func giveUp(_ reason: NoFrame, _ waiter: OutputWaiter?) -> VideoOutput.Answer {
        content.withLock { content in
            content.waiters.removeAll { $0 === waiter }
            if reason == .notDecodedYet { content.playback.countLate() }
        }
        return .none(reason)
    }
}

/// A caller that waits for a picture.
final class OutputWaiter: Sendable {
    private let event: EventFD

    /// Nil where the process has no descriptor left.
    init?() {
        guard let event = try? EventFD() else { return nil }
        self.event = event
    }

    func resume() { event.signal() }

    /// False at the deadline.
    func wait(until deadline: MonotonicTime) -> Bool {
        while true {
            var entry = pollfd(fd: event.fileDescriptor, events: Int16(POLLIN), revents: 0)
            if poll(&entry, 1, MonotonicTime.pollTimeout(until: deadline)) > 0 { return true }
            if MonotonicTime.now >= deadline { return false }
        }
    }
}
