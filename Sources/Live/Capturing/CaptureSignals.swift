// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDTransport
internal import Synchronization

/// What the signals of a terminal and of systemd ask of a recording.
package struct CaptureSignalRule: Sendable {
    package enum Action: Hashable, Sendable {
        case none
        /// The recording ends, and the file is finished.
        case endRecording
        /// What is not written of the stills is given up.
        case giveUpStills
        /// The program ends at once: the file is as after a crash.
        case endProgram
    }

    /// Whether there is a recording, whose file is finished before the program ends.
    package var isRecording = false
    /// Whether the files are finished, and only stills are waited for.
    package var isWaitingForStills = false
    private var hasEnded = false
    private var requests = 0

    package init() {}

    /// How many further signals give up the stills that are waited for: SIGHUP and the control `stop` are none of them.
    package var signalsToGiveUp: Int { max(0, 2 - requests) }

    package mutating func take(_ signal: Int32) -> Action {
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
    /// Signaled where the recording is to end, and for each control.
    private let request: EventFD
    private let isRequested = Atomic<Bool>(false)
    private let isGivenUp = Atomic<Bool>(false)
    private let controls: CaptureControls
    private let input = Mutex<CaptureInput?>(nil)

    /// To be created before other threads, which would take the signals.
    init() throws(SystemError) {
        signals = try SignalFD([SIGINT, SIGTERM, SIGHUP] + CaptureControl.bindings.compactMap(\.signal))
        request = try EventFD()
        controls = CaptureControls(wake: request)
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
    /// - Parameter control: how standard input has controls; nil for the keys of a terminal.
    func beginRecording(_ control: CaptureArguments.Control?) {
        rule.withLock { $0.isRecording = true }
        guard control != .off else { return }
        let started = CaptureInput(isLines: control == .stdin) { [self] in take($0) }
        input.withLock { $0 = started }
    }

    /// Gives a terminal back.
    func endRecording() { input.withLock { $0?.restore() } }

    /// Whether keys are controls.
    var hasKeys: Bool { input.withLock { $0?.isTerminal ?? false } }

    /// From now on the second signal gives up the stills, and the third ends the program.
    func beginWaitingForStills() { rule.withLock { $0.isWaitingForStills = true } }

    /// How many further signals give up the stills.
    var signalsToGiveUp: Int { rule.withLock { $0.signalsToGiveUp } }

    /// Whether the recording is to end.
    var hasRequest: Bool { isRequested.load(ordering: .acquiring) }

    /// Whether the stills that are not written are to be given up.
    var givesUpStills: Bool { isGivenUp.load(ordering: .acquiring) }

    /// Readable where the recording is to end, and where controls wait.
    var fileDescriptor: Int32 { request.fileDescriptor }

    /// Takes the controls that wait.
    func takeControls() -> [CaptureControls.Request] {
        request.clear()
        let (requests, ignored) = controls.take()
        if ignored > 0 {
            Console.note(
                "warning: \(Console.count(ignored, "control")) ignored: \(CaptureControls.greatestCount) wait already"
            )
        }
        return requests
    }

    private func take(_ control: CaptureControl) {
        // As by a terminal that closes: only signals end the program at once.
        if control == .stop { take(SIGHUP) } else { controls.add(control) }
    }

    private func take(_ signal: Int32) {
        if let control = CaptureControl(signal: signal) { return take(control) }
        switch rule.withLock({ $0.take(signal) }) {
        case .none: break
        case .giveUpStills: isGivenUp.store(true, ordering: .releasing)
        case .endRecording:
            isRequested.store(true, ordering: .releasing)
            request.signal()
        case .endProgram:
            endRecording()
            _exit(CommandFailure.interrupted.exitCode)
        }
    }
}
