// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDModel
internal import HWDTransport
public import HWDWire

/// The start of every session's process: it confines itself and waits for its session.
public enum WorkerStartup {
    /// Waits for the broker's start packet and serves its session.
    ///
    /// The process ends with the session, or with the broker if that is killed before the Create call is answered.
    ///
    /// - Parameters:
    ///   - rehearse: warms up a worker that was started ahead of its session; see `rehearsal`.
    ///   - serve: serves the session of a Create call with these parameters until its end, which ends the process.
    public static func run<Method: ControlMethod>(
        _ kind: SessionKind, _ method: Method.Type, rehearse: () -> Void,
        serve: (AssignedSession, Method.Parameters) throws -> Void
    ) {
        guard fcntl(WorkerDescriptor.broker, F_GETFD) >= 0, fcntl(WorkerDescriptor.stats, F_GETFD) >= 0 else {
            // That of NVIDIA's encoders has a name of its own.
            let program = CommandLine.arguments.first?.split(separator: "/").last.map { String($0) }
            let text =
                "\(program ?? kind.program) is started by hwdaemon, one for each \(kind.adjective) session; see hwdaemon(8).\n"
            _ = text.withCString { write(2, $0, strlen($0)) }
            exit(ExitStatus.usage.rawValue)
        }
        do {
            let signals = try SignalFD([SIGTERM, SIGINT])
            // Nobody else would end a worker whose driver hangs at Create.
            try ProcessControl.setParentDeathSignal(SIGKILL, parent: getppid())
            guard !isBrokerGone else { exit(ExitStatus.ok.rawValue) }
            try ProcessControl.confine()
            let memory = try? ProcessMemory()
            let stats = try StatsPage(receiving: OwnedFD(WorkerDescriptor.stats))
            try Sandbox.start(recordingIn: stats)
            guard let sandbox = try receiveSandbox(rehearse) else { exit(ExitStatus.ok.rawValue) }
            // The next packet holds a client's bytes.
            try Sandbox.apply(sandbox)
            var bytes: [UInt8] = []
            guard
                let connection = try PacketSocket.receiveWithFile(
                    from: WorkerDescriptor.broker, into: &bytes, deadline: MonotonicTime.now + startTimeout)
            else { exit(ExitStatus.ok.rawValue) }
            let assignment = try JSON.decode(SessionAssignment<Method.Parameters>.self, from: bytes)
            let start = assignment.start
            let questions = BrokerQuestions()
            let ledger = MemoryLedger(kind, start.limits, process: memory, stats: stats, questions: questions)
            try serve(
                AssignedSession(
                    kind, start, sandbox, stats: stats, memory: ledger,
                    realTime: RealTimeShare(start.realTime, questions), connection: connection, signals: signals),
                assignment.parameters)
        } catch {
            // Before the Create reply the client only sees the connection close; the daemon logs this reason.
            let reason = "the \(kind.noun) process could not start: \(error)"
            report(.ended(code: Status.couldNotCreateInstance.rawValue, reason: reason))
            exit(ExitStatus.software.rawValue)
        }
    }

    /// Whether the broker was killed before its death could cause a signal; its start packet may be waiting.
    private static var isBrokerGone: Bool {
        var entry = pollfd(fd: WorkerDescriptor.broker, events: 0, revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP) != 0
    }

    /// Sends a report to the broker; returns false if the broker is gone, which is not an error.
    @discardableResult
    public static func report(_ report: WorkerReport) -> Bool {
        guard let bytes = try? JSON.encode(report) else { return false }
        return (try? PacketSocket.send(bytes, to: WorkerDescriptor.broker)) != nil
    }

    /// Makes a start packet with a made-up call, encoded and decoded as a real one is.
    ///
    /// A worker that waits for its session handles this call once, so that no client waits for the costs of a first
    /// pass: lazy tables, the JSON coder's metadata, page faults.
    public static func rehearsal<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters, encoders: [EncoderDescription] = []
    ) -> SessionAssignment<Method.Parameters>? {
        let start = WorkerStart(
            session: "", snapshot: ProbeSnapshot(encoders: encoders, nodes: []), limits: WorkerLimits())
        guard let packet = try? start.packet(with: parameters) else { return nil }
        return try? JSON.decode(SessionAssignment<Method.Parameters>.self, from: packet)
    }

    /// The time in which the start packet follows the sandbox's.
    private static let startTimeout = Duration.seconds(5)

    /// Waits for the sandbox of the session to come; nil when the broker is gone.
    ///
    /// A worker that finds none yet was started ahead of its session, and calls `rehearse` before it waits.
    private static func receiveSandbox(_ rehearse: () -> Void) throws -> SandboxRequest? {
        var packet = try PacketSocket.receive(from: WorkerDescriptor.broker)
        if case .wouldBlock = packet {
            rehearse()
            packet = try PacketSocket.receive(from: WorkerDescriptor.broker, deadline: nil)
        }
        guard case .bytes(let bytes) = packet else { return nil }
        return try JSON.decode(SandboxRequest.self, from: bytes)
    }
}
