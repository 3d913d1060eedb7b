// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDModel
public import HWDTransport
public import HWDWire

/// A session that the broker assigned to this process; its Create call is not answered yet.
///
/// Used from the main thread only.
public final class AssignedSession {
    public let start: WorkerStart
    /// The counters that the broker reads.
    public let stats: StatsPage
    /// The memory that the session takes.
    public let memory: MemoryLedger
    private let realTime: RealTimeShare

    private let kind: SessionKind
    private let sandbox: SandboxRequest
    private let signals: SignalFD
    private var connection: OwnedFD?

    private static let replyTimeout = Duration.seconds(5)

    /// A session whose sandbox holds already.
    init(
        _ kind: SessionKind, _ start: WorkerStart, _ sandbox: SandboxRequest, stats: StatsPage,
        memory: MemoryLedger, realTime: RealTimeShare, connection: consuming OwnedFD, signals: SignalFD
    ) {
        self.kind = kind
        self.start = start
        self.sandbox = sandbox
        self.stats = stats
        self.memory = memory
        self.realTime = realTime
        self.signals = signals
        self.connection = consume connection
    }

    /// Reports that a driver is about to open `codecID`, or with nil that it has returned.
    ///
    /// The driver may crash or hang this process. The broker then knows which driver did, and answers the call
    /// itself.
    public func willOpen(_ codecID: String?) {
        if let codecID { WorkerStartup.report(.opening(codecID: codecID)) }
        stats.set(.busySinceNs, codecID == nil ? 0 : MonotonicTime.now.nanoseconds)
    }

    /// Answers the Create call; the connection then carries the session's messages.
    ///
    /// - Parameter runsDriver: whether the session may still load a driver; if not, the process gives up what only
    ///   drivers need.
    public func accept(
        _ reply: some Encodable, _ report: WorkerReport, runsDriver: Bool
    ) throws -> SessionPort {
        if !runsDriver, sandbox.policy == .driver {
            try Sandbox.apply(SandboxRequest(policy: .codec, mode: sandbox.mode))
        }
        WorkerStartup.report(report)
        guard let connection = connection.take() else {
            throw SessionError(.invalidSession, "the Create call was answered before")
        }
        try ProcessControl.clearParentDeathSignal()
        try VarlinkConnection.send(
            try VarlinkReply.encode(reply), to: connection.rawValue,
            deadline: MonotonicTime.now + Self.replyTimeout)
        // From here on the broker counts the call as answered.
        stats.set(.heartbeatNs, MonotonicTime.now.nanoseconds)
        return try SessionPort(
            kind: kind, limits: start.limits, stats: stats, memory: memory, realTime: realTime,
            signals: signals, connection: connection)
    }

    /// Answers the Create call with an error and ends the process.
    public func refuse(_ error: SessionError) -> Never { Self.refuse(error, connection?.rawValue ?? -1) }

    private static func refuse(_ error: SessionError, _ connection: Int32) -> Never {
        WorkerStartup.report(.ended(code: error.status.rawValue, reason: error.reason))
        try? VarlinkConnection.send(
            VarlinkReply.encode(VarlinkError(error)), to: connection, deadline: MonotonicTime.now + replyTimeout)
        exit(ExitStatus.ok.rawValue)
    }
}
