// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import Logging

/// The process that checks the output of one session's hardware encoder; started with the first sample, or with the encoder's
/// process where the session continues another.
///
/// The broker only passes messages on: it loads no codec.
final class OutputCheck {
    private let process: WorkerProcess
    private let samples: SampleMemory
    private let loop: EventLoop
    private let logger: Logger
    private var watch: EventLoop.Watch?
    private var exitWatch: EventLoop.Watch?
    /// The sample without an answer, and when it is overdue.
    private var open: OutputSample?
    private var timer: EventLoop.Timer?
    /// The encoder's process stops to wait before that.
    private static let timeout = Duration.seconds(5)
    /// Called with each answer and its sample.
    private let found: (OutputFinding, OutputSample) -> Void

    /// Starts the process.
    ///
    /// - Parameter samples: the memory that it shares with the encoder's process.
    init(
        _ executable: String, _ sandbox: SandboxRequest, samples: SampleMemory, loop: EventLoop, logger: Logger,
        found: @escaping (OutputFinding, OutputSample) -> Void
    ) throws {
        (self.samples, self.loop, self.logger, self.found) = (samples, loop, logger, found)
        process = try WorkerProcess(
            executable, sandbox: sandbox.mode,
            files: [ChildProcess.File(samples.fileDescriptor, as: WorkerDescriptor.samples)])
        if !Sandbox.isSwitchedOff {
            // One that is not bounded ends with its session all the same.
            try? process.child.limitPrivateMemory(
                to: SessionMemory.probeBound(processors: sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        }
        do {
            try PacketSocket.send(try JSON.encode(sandbox), to: process.channel.rawValue)
            watch = try loop.watch(process.channel.rawValue, .readable) { [weak self] _ in self?.receive() }
        } catch {
            process.discard()
            throw error
        }
    }

    /// Passes a sample on; the encoder's process gives another only after the answer.
    ///
    /// - Returns: false where the one before has no answer.
    func check(_ sample: OutputSample) -> Bool {
        // The answer may have come in the same moment.
        if open != nil, watch != nil { receive() }
        guard open == nil else { return false }
        guard watch != nil else {
            samples.turn = .ended
            return true
        }
        open = sample
        timer = loop.after(Self.timeout) { [weak self] in self?.giveUp("the process that checks it does not answer")
        }
        do { try PacketSocket.send(try JSON.encode(sample), to: process.channel.rawValue) } catch {
            giveUp("\(error)")
        }
        return true
    }

    /// Lets the session continue without checks.
    private func giveUp(_ reason: String) {
        logger.warning("the encoder's output is not checked any more", metadata: ["reason": "\(reason)"])
        close()
        open = nil
        try? process.child.kill(SIGKILL)
        samples.turn = .ended
    }

    private func receive() {
        let packet = try? PacketSocket.receive(from: process.channel.rawValue)
        if packet == .wouldBlock { return }
        guard let sample = open, case .bytes(let bytes)? = packet,
            let finding = try? JSON.decode(OutputFinding.self, from: bytes)
        else {
            return giveUp("the process that checks it has ended")
        }
        open = nil
        stopTimer()
        found(finding, sample)
    }

    private func stopTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    private func close() {
        stopTimer()
        if let watch { loop.remove(watch) }
        watch = nil
    }

    /// Ends the process, which the loop reaps.
    func end() {
        close()
        try? process.child.kill(SIGKILL)
        do {
            exitWatch = try loop.watch(process.child.fileDescriptor, .readable) { [self] _ in reap() }
        } catch { process.discard() }
    }

    private func reap() {
        _ = try? process.child.tryReap()
        if let exitWatch { loop.remove(exitWatch) }
        exitWatch = nil
    }
}
