// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// One `hwdaemon-probe` process: one question, one answer, and not longer than it is given.
final class ProbeChild {
    /// What a probe came to.
    enum Outcome {
        /// It answered.
        case answer(ProbeAnswer)
        /// It did not: how that counts for a node, and a sentence.
        case failure(RenderNode.State, String)
    }

    /// The path that was being tried, and what had been found until then.
    struct Progress {
        var record: ProbeRecord
        var path: String
    }

    /// Packets handleReport of one probe: a path each, and the answer.
    private static let maxPackets = 80

    private let loop: EventLoop
    private let child: ChildProcess
    private let channel: OwnedFD
    private var childWatch: EventLoop.Watch?
    private var channelWatch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var answer: ProbeAnswer?
    private var progress: Progress?
    private var packets = 0
    private var isLate = false
    private var timeout: Duration
    private let trialTimeout: Duration
    /// What sentences say was looked at.
    private let what: String
    private let done: (Outcome, Progress?) -> Void

    /// Starts a probe; `done` is called once, when the process has ended.
    ///
    /// - Parameters:
    ///   - timeout: how long it may look.
    ///   - trialTimeout: how long it may try each path.
    init(
        _ request: ProbeRequest, executable: String, timeout: Duration, trialTimeout: Duration,
        loop: EventLoop,
        done: @escaping (Outcome, Progress?) -> Void
    ) throws {
        self.loop = loop
        self.timeout = timeout
        self.trialTimeout = trialTimeout
        what = request.subject == .vulkan ? "Vulkan's drivers" : "this node"
        self.done = done
        let pair = try UnixSocket.packetPair()
        try PacketSocket.send(try JSON.encode(request), to: pair.first.rawValue)
        child = try ChildProcess(
            spawning: executable, environment: WorkerProcess.environment,
            files: [ChildProcess.File(pair.second.rawValue, as: WorkerDescriptor.broker)], newSession: true)
        channel = pair.first
        do {
            childWatch = try loop.watch(child.fileDescriptor, .readable) { [weak self] _ in self?.ended() }
            channelWatch = try loop.watch(channel.rawValue, .readable) { [weak self] _ in self?.receive() }
        } catch {
            if let childWatch { loop.remove(childWatch) }
            kill()
            _ = try child.wait()
            throw error
        }
        startTimer()
    }

    /// Each path that is tried has the whole time.
    private func startTimer() {
        loop.cancel(timer)
        timer = loop.after(timeout) { [weak self] in
            self?.isLate = true
            self?.kill()
        }
    }

    /// Kills the process; `done` follows when it has ended.
    func kill() { try? child.kill(SIGKILL) }

    private func receive() {
        while channelWatch != nil {
            let packet = try? PacketSocket.receive(from: channel.rawValue)
            if packet == .wouldBlock { return }
            packets += 1
            guard case .bytes(let bytes)? = packet, packets < Self.maxPackets,
                let report = try? JSON.decode(ProbeReport.self, from: bytes)
            else { return stopHearing() }
            switch report {
            case .trying(let record, let path):
                progress = Progress(record: record, path: path)
                timeout = trialTimeout
                startTimer()
            case .answer(let answer):
                self.answer = answer
                stopHearing()
            }
        }
    }

    private func stopHearing() {
        if let channelWatch { loop.remove(channelWatch) }
        channelWatch = nil
    }

    private func ended() {
        guard let exit = try? child.tryReap() else { return }
        if channelWatch != nil { receive() }
        if let channelWatch { loop.remove(channelWatch) }
        if let childWatch { loop.remove(childWatch) }
        loop.cancel(timer)
        (channelWatch, childWatch, timer) = (nil, nil, nil)
        done(answer.map { .answer($0) } ?? failure(exit), progress)
    }

    private func failure(_ exit: ChildProcess.Exit) -> Outcome {
        if isLate {
            return .failure(.timedOut, "the probe of \(what) timed out after \(timeout.components.seconds) s")
        }
        switch exit {
        case .signaled(let signal):
            let name = SessionEnd.signalName(signal)
            return .failure(.crashed, "the probe of \(what) crashed (signal \(signal), \(name))")
        case .exited(let status):
            return .failure(.failed, "the probe of \(what) gave no answer (exit status \(status))")
        }
    }
}
