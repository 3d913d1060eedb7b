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
