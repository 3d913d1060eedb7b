// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire

/// A probe process: one request, one answer, within a timeout.
final class ProbeChild {
    /// The result of a probe.
    enum Outcome {
        /// It answered.
        case answer(ProbeAnswer)
        /// It did not: the resulting state of a node, and the reason.
        case failure(RenderNode.State, String)
    }

    /// How a process ended.
    struct End {
        var outcome: Outcome
        /// nil if no trial had started.
        var progress: Progress?
        /// What its sandbox forbade, if anything.
        var forbidden: ForbiddenCalls?
        /// What it and the drivers printed, in lines that can be logged; nil if nothing was.
        var printed: String?
    }

    /// The path being tried, and the results until then.
    struct Progress {
        var record: ProbeRecord
        var path: String
    }

    /// Packets accepted from a probe: one for each path, and the answer.
    private static let maxPackets = 80

    private let loop: EventLoop
    private let process: WorkerProcess
    /// nil if there are no descriptors for it; then the process inherits the daemon's standard error.
    private let messages: ProbeMessages?
    private var childWatch: EventLoop.Watch?
    private var channelWatch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var answer: ProbeAnswer?
    private var progress: Progress?
    private var packets = 0
    /// How long it took before it was killed; nil if it was not late.
    private var lateness: String?
    private let trialTimeout: Duration
    private var deadline: ProbeDeadline
    /// How messages name the subject.
    private let subject: String
    private let done: (End) -> Void

    /// Starts a probe; `done` is called once, when the process has ended.
    ///
    /// - Parameters:
    ///   - sandbox: what it may do.
    ///   - timeout: time until it answers or starts the first trial; `ProbeDeadline` has what counts.
    ///   - trialTimeout: time for each trial of a path.
    init(
        _ request: ProbeRequest, executable: String, sandbox: SandboxRequest, timeout: Duration,
        trialTimeout: Duration, loop: EventLoop,
        done: @escaping (End) -> Void
    ) throws {
        self.loop = loop
        self.trialTimeout = trialTimeout
        subject =
            switch request.subject {
            case .node: "this node"
            case .software: "the codecs in software"
            case .vulkan: "Vulkan's drivers"
            }
        self.done = done
        messages = try? ProbeMessages()
        let standardError = messages?.childEnd.map { [ChildProcess.File($0, as: STDERR_FILENO)] } ?? []
        // A process that does not exist yet has used nothing.
        deadline = ProbeDeadline(timeout, start: .now, use: ProcessorUse(threads: [:]))
        process = try WorkerProcess(executable, sandbox: sandbox.mode, files: standardError)
        messages?.closeChildEnd()
        if !Sandbox.isSwitchedOff {
            // A probe that is not bounded is still killed in time.
            try? process.child.limitPrivateMemory(
                to: SessionMemory.probeBound(processors: sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        }
        do {
            let channel = process.channel.rawValue
            // A process that has ended already says so by its exit status.
            for packet in [try JSON.encode(sandbox), try JSON.encode(request)] {
                do { try PacketSocket.send(packet, to: channel) } catch {
                    if error.code != .closed { throw error }
                }
            }
            childWatch = try loop.watch(process.child.fileDescriptor, .readable) { [weak self] _ in self?.ended() }
            channelWatch = try loop.watch(channel, .readable) { [weak self] _ in self?.receive() }
        } catch {
            if let childWatch { loop.remove(childWatch) }
            process.discard()
            throw error
        }
        startTimer()
    }

    /// Starts the timeout, or checks whether it has passed.
    private func startTimer() {
        loop.cancel(timer)
        guard let rest = deadline.rest(now: .now, use: ProcessorUse(of: process.child.pid)) else {
            lateness = deadline.description(now: .now)
            return kill()
        }
        timer = loop.after(.nanoseconds(Int64(clamping: rest))) { [weak self] in self?.startTimer() }
    }

    /// Kills the process; `done` follows when it has ended.
    func kill() { try? process.child.kill(SIGKILL) }

    private func receive() {
        while channelWatch != nil {
            let packet = try? PacketSocket.receive(from: process.channel.rawValue)
            if packet == .wouldBlock { return }
            packets += 1
            guard case .bytes(let bytes)? = packet, packets < Self.maxPackets,
                let report = try? JSON.decode(ProbeReport.self, from: bytes)
            else { return closeChannel() }
            switch report {
            case .trying(let record, let path):
                progress = Progress(record: record, path: path)
                // Each trial has the whole time.
                deadline = ProbeDeadline(trialTimeout, start: .now, use: ProcessorUse(of: process.child.pid))
                startTimer()
            case .answer(let answer):
                self.answer = answer
                closeChannel()
            }
        }
    }

    private func closeChannel() {
        if let channelWatch { loop.remove(channelWatch) }
        channelWatch = nil
    }

    private func ended() {
        guard let exit = try? process.child.tryReap() else { return }
        if channelWatch != nil { receive() }
        if let channelWatch { loop.remove(channelWatch) }
        if let childWatch { loop.remove(childWatch) }
        loop.cancel(timer)
        (channelWatch, childWatch, timer) = (nil, nil, nil)
        let messages = messages?.read() ?? []
        let forbidden = ForbiddenCalls(process.stats, exit)
        let printed = ProbeMessages.lastLines(of: messages).map { "; it printed: \($0)" } ?? ""
        done(
            End(
                outcome: answer.map { .answer(explain($0, printed)) } ?? failure(exit, forbidden, printed),
                progress: progress, forbidden: forbidden, printed: ProbeMessages.allLines(of: messages)))
    }

    /// An answer whose driver did not start, with what the driver printed: its status often says nothing.
    private func explain(_ answer: ProbeAnswer, _ printed: String) -> ProbeAnswer {
        var answer = answer
        if answer.node?.state == .driverFailed, answer.node?.cause != .driverMissing {
            answer.node?.reason? += printed
        }
        return answer
    }

    private func failure(_ exit: ChildProcess.Exit, _ forbidden: ForbiddenCalls?, _ printed: String) -> Outcome {
        let remarks = (forbidden.map { "; it \($0.sentence)" } ?? "") + printed
        if let lateness {
            return .failure(.timedOut, "the probe of \(subject) timed out after \(lateness)\(remarks)")
        }
        switch exit {
        case .signaled(let signal):
            let name = SessionEnd.signalName(signal)
            return .failure(.crashed, "the probe of \(subject) crashed (signal \(signal), \(name))\(remarks)")
        case .exited(let status):
            return .failure(.failed, "the probe of \(subject) did not answer (exit status \(status))\(remarks)")
        }
    }
}
