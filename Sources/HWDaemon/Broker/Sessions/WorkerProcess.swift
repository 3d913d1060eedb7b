// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDTransport
internal import HWDWire

/// The process of a worker or a probe, with the broker's ends of its channel and its page of counters.
///
/// It waits on its channel for its sandbox and then for its work; a session's packet carries the client's connection.
struct WorkerProcess {
    /// Added to the daemon's environment: a backtrace would delay a crash and keep the client's connection open.
    static let environment = ["SWIFT_BACKTRACE": "enable=no"]

    let child: ChildProcess
    let channel: Channel
    let stats: StatsPage
    /// Memory for samples of its output; nil of a process that gives none.
    let samples: SampleMemory?

    /// The broker's end of the channel, shared by all copies of the `WorkerProcess`.
    final class Channel {
        private let file: OwnedFD
        init(_ file: consuming OwnedFD) { self.file = file }
        var rawValue: Int32 { file.rawValue }
    }

    /// Starts an executable.
    ///
    /// - Parameters:
    ///   - sandbox: how it confines itself from its start on.
    ///   - files: further descriptors for it.
    ///   - givesSamples: whether its output may be checked.
    init(
        _ executable: String, sandbox: SandboxRequest.Mode, files: [ChildProcess.File] = [],
        givesSamples: Bool = false
    ) throws(SystemError) {
        stats = try StatsPage()
        samples = givesSamples ? try SampleMemory() : nil
        let files =
            files + (samples.map { [ChildProcess.File($0.fileDescriptor, as: WorkerDescriptor.samples)] } ?? [])
        let pair = try UnixSocket.packetPair()
        child = try ChildProcess(
            spawning: executable,
            environment: sandbox == .enforce
                ? Self.environment : Self.environment.merging([Sandbox.variable: sandbox.rawValue]) { $1 },
            files: [
                ChildProcess.File(pair.second.rawValue, as: WorkerDescriptor.broker),
                ChildProcess.File(stats.fileDescriptor, as: WorkerDescriptor.stats),
            ] + files, group: .own)
        channel = Channel(pair.first)
    }

    /// Kills the process and reaps it; waits a second at most.
    func discard() {
        try? child.kill(SIGKILL)
        _ = try? child.wait(until: MonotonicTime.now + .seconds(1))
    }
}

/// One worker started ahead of the next session, which need not wait for a process to start.
///
/// It has no client and no data until then. A private daemon starts only the first, because it serves one command.
final class SpareWorker {
    /// Whether spares are started (`SpareWorkers`).
    private var isEnabled: Bool
    private var sandbox: SandboxRequest.Mode
    private let executable: String
    private let givesSamples: Bool
    private let refills: Bool
    private let delay: Duration
    private let loop: EventLoop
    private var spare: (process: WorkerProcess, watch: EventLoop.Watch)?
    private var refill: EventLoop.Timer?
    private var isStopped = false

    /// - Parameters:
    ///   - refills: whether another one follows each that is taken.
    ///   - delay: the time until then.
    init(
        executable: String, isEnabled: Bool, sandbox: SandboxRequest.Mode, givesSamples: Bool, refills: Bool,
        delay: Duration, loop: EventLoop
    ) {
        self.givesSamples = givesSamples
        self.isEnabled = isEnabled
        self.sandbox = sandbox
        self.executable = executable
        self.refills = refills
        self.delay = delay
        self.loop = loop
    }

    /// Starts a spare; if that fails there is none, and the next session's own start reports why.
    func prepare() {
        guard isEnabled, spare == nil, !isStopped,
            let process = try? start()
        else { return }
        do {
            let watch = try loop.watch(process.child.fileDescriptor, .readable) { [weak self] _ in self?.drop() }
            spare = (process, watch)
        } catch {
            process.discard()
        }
    }

    /// The spare, or a process started now; starts another spare a little later.
    func take() throws(SystemError) -> WorkerProcess {
        if isEnabled, refills, refill == nil, !isStopped {
            refill = loop.after(delay) { [weak self] in
                self?.refill = nil
                self?.prepare()
            }
        }
        guard let (process, watch) = spare else { return try start() }
        spare = nil
        loop.remove(watch)
        // It may have died so recently that the loop has not seen its end yet.
        return try process.child.tryReap() == nil ? process : try start()
    }

    private func start() throws(SystemError) -> WorkerProcess {
        try WorkerProcess(executable, sandbox: sandbox, givesSamples: givesSamples)
    }

    /// Enables or disables spares and sets their sandbox; a present one that does not fit ends.
    func change(isEnabled: Bool, sandbox: SandboxRequest.Mode) {
        if !isEnabled || sandbox != self.sandbox { drop() }
        (self.isEnabled, self.sandbox) = (isEnabled, sandbox)
    }

    /// Ends the spare and starts no more.
    func stop() {
        isStopped = true
        drop()
    }

    /// Reaps or ends the present spare.
    private func drop() {
        guard let (process, watch) = spare else { return }
        spare = nil
        loop.remove(watch)
        process.discard()
    }
}
