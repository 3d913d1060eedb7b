// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDTransport
internal import Synchronization

/// What the signals of a terminal and of systemd ask of a recording.
package struct CaptureSignalRule: Sendable {
    package enum Action: Hashable, Sendable {
        case none
        /// A still is taken.
        case still
        /// The recording ends, and the file is finished.
        case endRecording
        /// What is not written of the stills is given up.
        case giveUpStills
        /// The program ends at once: the file is as after a crash.
        case endProgram
    }

    /// SIGRTMIN+1, which takes a still: signals of its kind are queued, so that each of a burst counts.
    package static let still = __libc_current_sigrtmin() + 1

    /// Whether there is a recording, whose file is finished before the program ends.
    package var isRecording = false
    /// Whether the files are finished, and only stills are waited for.
    package var isWaitingForStills = false
    private var hasEnded = false
    private var requests = 0

    package init() {}

    package mutating func take(_ signal: Int32) -> Action {
        if signal == Self.still { return .still }
        guard isRecording else { return .endProgram }
        // A terminal that closes, and systemd, send SIGHUP beside another signal, or twice.
        if signal != SIGHUP { requests += 1 }
        if requests > (isWaitingForStills ? 2 : 1) { return .endProgram }
        if requests > 1 { return signal == SIGHUP ? .none : .giveUpStills }
        defer { hasEnded = true }
        return hasEnded ? .none : .endRecording
    }
}

/// A thread that waits for signals, so that the second one ends the program whatever it waits for.
final class CaptureSignals: Sendable {
    private let signals: SignalFD
    private let rule = Mutex(CaptureSignalRule())
    /// Signaled for what is asked.
    private let request: EventFD
    private let isRequested = Atomic<Bool>(false)
    private let isGivenUp = Atomic<Bool>(false)
    private let stills = Atomic<Int>(0)

    /// To be created before other threads, which would take the signals.
    init() throws(SystemError) {
        signals = try SignalFD([SIGINT, SIGTERM, SIGHUP, CaptureSignalRule.still])
        request = try EventFD()
        let epoll = try Epoll()
        try epoll.add(signals.fileDescriptor, token: 0, events: .readable)
        // As long as the program.
        _ = try Thread.spawn(name: "signals") { [self] in
            while (try? epoll.wait(until: nil)) != nil {
                while let signal = try? signals.next() { take(signal) }
            }
        }
    }

    /// From now on the first signal ends the recording, and not the program.
    func beginRecording() { rule.withLock { $0.isRecording = true } }

    /// From now on the second signal gives up the stills, and the third ends the program.
    func beginWaitingForStills() { rule.withLock { $0.isWaitingForStills = true } }

    /// Whether the recording is to end.
    var hasRequest: Bool { isRequested.load(ordering: .acquiring) }

    /// Whether the stills that are not written are to be given up.
    var givesUpStills: Bool { isGivenUp.load(ordering: .acquiring) }

    /// How many stills are to be taken, each once.
    func takeStills() -> Int { stills.exchange(0, ordering: .acquiring) }

    /// Readable when something is asked, until `clear`.
    var fileDescriptor: Int32 { request.fileDescriptor }

    func clear() { request.clear() }

    private func take(_ signal: Int32) {
        switch rule.withLock({ $0.take(signal) }) {
        case .none: break
        case .still:
            stills.add(1, ordering: .releasing)
            request.signal()
        case .giveUpStills: isGivenUp.store(true, ordering: .releasing)
        case .endRecording:
            isRequested.store(true, ordering: .releasing)
            request.signal()
        case .endProgram: _exit(CommandFailure.interrupted.exitCode)
        }
    }
}
