// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDTransport
internal import HWDWire

/// A worker's process and the broker's ends of what it has: the channel and the page of counters.
///
/// It waits on its channel for the session it is to serve; the client's connection comes with that packet.
struct WorkerProcess {
    /// Added to the daemon's own environment; a backtracer would hold a crash up and keep the connection open.
    static let environment = ["SWIFT_BACKTRACE": "enable=no"]

    let child: ChildProcess
    let channel: Channel
    let stats: StatsPage

    /// The broker's end of the channel, shared by whoever holds the process.
    final class Channel {
        private let file: OwnedFD
        init(_ file: consuming OwnedFD) { self.file = file }
        var rawValue: Int32 { file.rawValue }
    }

    /// Starts a process.
    init(_ executable: String) throws(SystemError) {
        stats = try StatsPage()
        let pair = try UnixSocket.packetPair()
        child = try ChildProcess(
            spawning: executable, environment: Self.environment,
            files: [
                ChildProcess.File(pair.second.rawValue, as: WorkerDescriptor.broker),
                ChildProcess.File(stats.fileDescriptor, as: WorkerDescriptor.stats),
            ], newSession: true)
        channel = Channel(pair.first)
    }

    /// Ends a process that is not needed, or not fit; bounded, since nothing holds up SIGKILL.
    func discard() {
        try? child.kill(SIGKILL)
        _ = try? child.wait(until: MonotonicTime.now + .seconds(1))
    }
}

/// One worker started ahead of the next session, which so need not wait for a process to start.
///
/// It has no client and no data until then. A daemon of one's own starts only the first: it serves one command.
final class SpareWorker {
    /// How long after a session's start the next spare is: the session's own start comes first.
    private static let delay = Duration.milliseconds(15)

    /// Whether there is to be a spare; an admin may want none.
    private var isWanted: Bool
    private let executable: String
    private let refills: Bool
    private let loop: EventLoop
    private var spare: (process: WorkerProcess, watch: EventLoop.Watch)?
    private var refill: EventLoop.Timer?
    private var isStopped = false

    init(executable: String, isWanted: Bool, refills: Bool, loop: EventLoop) {
        self.isWanted = isWanted
        self.executable = executable
        self.refills = refills
        self.loop = loop
    }

    /// Starts a spare; where that fails there is none, and the next session's own start tells why.
    func prepare() {
        guard isWanted, spare == nil, !isStopped, let process = try? WorkerProcess(executable) else { return }
        do {
            let watch = try loop.watch(process.child.fileDescriptor, .readable) { [weak self] _ in self?.drop() }
            spare = (process, watch)
        } catch {
            process.discard()
        }
    }

    /// The spare, or a process started now; another spare follows later.
    func take() throws(SystemError) -> WorkerProcess {
        if isWanted, refills, refill == nil, !isStopped {
            refill = loop.after(Self.delay) { [weak self] in
                self?.refill = nil
                self?.prepare()
            }
        }
        guard let (process, watch) = spare else { return try WorkerProcess(executable) }
        spare = nil
        loop.remove(watch)
        // Killed a moment ago, the loop has not handleReport of it yet.
        if try process.child.tryReap() != nil { return try WorkerProcess(executable) }
        return process
    }

    /// Starts a spare from now on, or ends it and starts none.
    func want(_ isWanted: Bool) {
        self.isWanted = isWanted
        if isWanted { prepare() } else { drop() }
    }

    /// Ends the spare and starts no more.
    func stop() {
        isStopped = true
        drop()
    }

    /// The spare has died, or is not needed.
    private func drop() {
        guard let (process, watch) = spare else { return }
        spare = nil
        loop.remove(watch)
        process.discard()
    }
}
