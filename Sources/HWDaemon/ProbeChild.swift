// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Model
internal import Transport
internal import Wire

/// One `hwdaemon-probe` process: one question, one answer, and not longer than it is given.
final class ProbeChild {
    /// What a probe came to.
    enum Outcome {
        /// It answered.
        case answer(ProbeAnswer)
        /// It did not: how that counts for a node, and a sentence.
        case failure(RenderNode.State, String)
    }

    private let loop: EventLoop
    private let child: ChildProcess
    private let channel: OwnedFD
    private var childWatch: EventLoop.Watch?
    private var channelWatch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var answer: ProbeAnswer?
    private var isLate = false
    private let patience: Duration
    private let done: (Outcome) -> Void

    /// Starts a probe; `done` is called once, when the process has ended.
    init(
        _ request: ProbeRequest, executable: String, patience: Duration, loop: EventLoop,
        done: @escaping (Outcome) -> Void
    ) throws {
        self.loop = loop
        self.patience = patience
        self.done = done
        let pair = try UnixSocket.packetPair()
        try PacketSocket.send(try JSON.encode(request), to: pair.first.rawValue)
        child = try ChildProcess(
            spawning: executable, environment: SessionWorker.environment,
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
        timer = loop.after(patience) { [weak self] in
            self?.isLate = true
            self?.kill()
        }
    }

    /// Kills the process; `done` follows when it has ended.
    func kill() { try? child.kill(SIGKILL) }

    private func receive() {
        let packet = try? PacketSocket.receive(from: channel.rawValue)
        if packet == .wouldBlock { return }
        // One packet is all that is heard.
        if let channelWatch { loop.remove(channelWatch) }
        channelWatch = nil
        if case .bytes(let bytes)? = packet { answer = try? JSON.decode(ProbeAnswer.self, from: bytes) }
    }

    private func ended() {
        guard let exit = try? child.tryReap() else { return }
        if channelWatch != nil { receive() }
        if let channelWatch { loop.remove(channelWatch) }
        if let childWatch { loop.remove(childWatch) }
        loop.cancel(timer)
        (channelWatch, childWatch, timer) = (nil, nil, nil)
        done(answer.map { .answer($0) } ?? failure(exit))
    }

    private func failure(_ exit: ChildProcess.Exit) -> Outcome {
        if isLate {
            return .failure(.timedOut, "the probe of this node timed out after \(patience.components.seconds) s")
        }
        switch exit {
        case .signaled(let signal):
            let name = SessionEnd.signalName(signal)
            return .failure(.crashed, "the probe of this node crashed (signal \(signal), \(name))")
        case .exited(let status):
            return .failure(.failed, "the probe of this node gave no answer (exit status \(status))")
        }
    }
}
