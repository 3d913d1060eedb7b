// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import HWDWire
internal import Logging

/// What an upgrade needs of the rest of the daemon.
protocol UpgradeHost: AnyObject {
    /// The listening socket, and the path of its file where this daemon removes that; nil once it listens no more.
    var listeningSocket: (file: Int32, path: String?)? { get }
    /// Connections that were not handed to a worker.
    var openConnections: [ClientConnection] { get }
    /// Removes the file of the socket when this daemon ends, as the one before would have; nil: there is none.
    func own(socket path: String?)
    /// Serves a connection that the daemon before has accepted.
    func adopt(_ file: consuming OwnedFD) -> ClientConnection?
    /// Stops listening, and whatever only a daemon that serves does; the socket's file is the new daemon's.
    func stopServing()
    /// Ends sessions within DrainTimeout, or now.
    func drain()
    func endSessions()
    /// Refuses what waits, because this daemon has been relieved for too long.
    func refuseWaiting()
    /// Called when sessions of the daemon before have ended.
    func slotsAreFree()
    func reportStatus()
    func endIfDrained()
}

/// An upgrade without a pause (SIGUSR2), from both sides: the daemon before starts its program again, hands the listening
/// socket over, and ends with its last session; the new one counts, lists and continues the sessions of the one before.
final class UpgradeController {
    /// How often connections that became idle are handed over.
    private static let connectionInterval = Duration.milliseconds(100)
    /// How often the new daemon gets the counters of the sessions.
    private static let sessionInterval = Duration.seconds(1)
    /// How soon the hand-over is tried again when the socket to the new daemon was full.
    private static let retryInterval = Duration.milliseconds(10)

    private let context: BrokerContext
    private let table: SessionTable
    private let admission: SessionAdmission
    private let manager: ServiceManager
    private unowned let host: any UpgradeHost
    /// The daemon that replaces this one.
    private var successor: Successor?
    /// Ids of ended sessions whose results it has.
    private var reportedResults: Set<String> = []
    /// Why the last upgrade failed.
    private(set) var failure: String?
    /// The daemon that this one replaced, while it finishes its sessions.
    private var predecessor: Predecessor?

    init(
        _ context: BrokerContext, _ table: SessionTable, _ admission: SessionAdmission, manager: ServiceManager,
        host: any UpgradeHost
    ) {
        (self.context, self.table, self.admission) = (context, table, admission)
        (self.manager, self.host) = (manager, host)
    }

    private var sessionCount: Logger.Metadata { ["sessions": "\(table.workers.count)"] }

    // MARK: - The daemon before

    /// Starts the program of the daemon again; this process serves until the new one can.
    func start() {
        guard context.phase == .serving, successor == nil, !context.isPrivate, let socket = host.listeningSocket
        else {
            let reason =
                context.isPrivate
                ? "a private daemon ends with its owner"
                : context.isStopping || successor == nil ? "stopping" : "an upgrade is under way"
            return context.logger.notice("SIGUSR2: ignored: \(reason)")
        }
        context.logger.notice("SIGUSR2: starting the new daemon", metadata: ["program": "\(Program.path)"])
        failure = nil
        do throws(SystemError) {
            successor = try Successor(
                listener: socket.file, environment: manager.environment, loop: context.loop
            ) { [weak self] in self?.handle($0) }
        } catch { failed("it cannot be started: \(error)") }
    }

    /// Abandons a new daemon that does not serve yet; it then ends by itself.
    func cancel() { successor = nil }

    private func handle(_ event: Successor.Event) {
        switch event {
        case .ready(let pid, let takesCalls):
            sendSessions()
            handOver(to: pid, withCalls: takesCalls)
        case .failed(let reason): failed(reason)
        case .stop(let now):
            if context.phase == .relieved {
                context.logger.notice("the new daemon stops", metadata: sessionCount)
                host.drain()
            }
            if now, context.phase == .draining { host.endSessions() }
        }
    }

    private func failed(_ reason: String) {
        context.logger.error("the upgrade failed, this daemon continues: the new one did not start: \(reason)")
        failure = reason
        reportedResults = []
        // Kept for a moment: it reaps the process, which may just have been killed.
        let failed = successor
        successor = nil
        _ = context.loop.after(.seconds(1)) { failed?.close() }
        host.reportStatus()
    }

    /// Lets the new daemon serve: from here on this one finishes its sessions and the calls that it has received.
    private func handOver(to pid: Int32, withCalls takesCalls: Bool) {
        guard context.phase == .serving, let successor, successor.isConnected, !successor.isServing else { return }
        var serves = false
        // It knows all sessions before it serves.
        if successor.hasSentAll {
            // The service manager takes messages of its main process alone, so this comes before the new daemon's own.
            manager.notify("MAINPID=\(pid)")
            serves = successor.send(.serve(socket: host.listeningSocket?.path)) == .sent
            if !serves { manager.notify("MAINPID=\(getpid())") }
        }
        guard serves else {
            _ = context.loop.after(Self.retryInterval) { [weak self, weak successor] in
                guard let self, self.successor === successor else { return }
                handOver(to: pid, withCalls: takesCalls)
            }
            return
        }
        successor.serves()
        manager.release()
        context.phase = .relieved
        host.stopServing()
        context.logger.notice(
            "the new daemon serves; this one ends with its sessions",
            metadata: sessionCount.merging(["successor": "\(pid)"]) { $1 })
        handConnectionsOver(withCalls: takesCalls)
        reportSessions()
        limitTime()
    }

    private func limitTime() {
        guard context.settings.upgradeTimeout > .zero else { return }
        _ = context.loop.after(context.settings.upgradeTimeout) { [weak self] in
            guard let self, context.phase == .relieved else { return }
            context.logger.notice("sessions have not finished within UpgradeTimeout", metadata: sessionCount)
            host.refuseWaiting()
            host.endSessions()
        }
    }

    /// Hands connections over as soon as no call is open on them, or one that waits for a slot.
    private func handConnectionsOver(withCalls takesCalls: Bool) {
        guard context.phase == .relieved else { return }
        for connection in host.openConnections where connection.isIdle {
            guard successor?.send(.connection, file: connection.fileDescriptor) == .sent else { break }
            connection.close()
        }
        if takesCalls { handCallsOver() }
        if hasUnreportedResults { sendSessions() }
        endIfRelieved()
        _ = context.loop.after(Self.connectionInterval) { [weak self] in
            self?.handConnectionsOver(withCalls: takesCalls)
        }
    }

    private func handCallsOver() {
        admission.move { request, rest in
            let packet = HandoverPacket.call(
                String(decoding: request.call.text, as: UTF8.self),
                milliseconds: Int(max(rest, .zero) / .milliseconds(1)))
            return successor?.send(packet, file: request.connection.fileDescriptor) ?? .failed
        }
    }

    /// Reports the counters of the sessions at intervals.
    private func reportSessions() {
        guard context.phase != .serving, successor?.isConnected == true else { return }
        sendSessions()
        _ = context.loop.after(Self.sessionInterval) { [weak self] in self?.reportSessions() }
    }

    /// Sends the new daemon the results that it does not have yet, and the sessions that run.
    private func sendSessions() {
        guard let successor else { return }
        let results = table.registry.results(now: .now).filter { !reportedResults.contains($0.session.id) }
        reportedResults.formUnion(results.map(\.session.id))
        var sessions = results.map { HandedSession($0) }
        // Counters of running sessions are out of date soon: a full socket gets no more of them.
        if successor.hasSentAll { sessions += table.registry.running.values.map(table.handed) }
        successor.post(
            stride(from: 0, to: sessions.count, by: HandoverPacket.maxSessions).map {
                .sessions(Array(sessions[$0..<min($0 + HandoverPacket.maxSessions, sessions.count)]))
            })
    }

    /// Sends the new daemon the result of a session that has just ended.
    func reportResult() {
        if successor?.isServing == true { sendSessions() }
    }

    /// Whether a session has ended whose result was not sent yet.
    private var hasUnreportedResults: Bool {
        table.registry.results(now: .now).contains { !reportedResults.contains($0.session.id) }
            || successor?.hasSentAll == false
    }

    /// Ends the daemon if another serves in its place and nothing is left to finish.
    private func endIfRelieved() {
        // Nothing can be handed to a daemon that has ended.
        let isWaiting = (!host.openConnections.isEmpty || hasUnreportedResults) && successor?.isConnected == true
        guard context.phase == .relieved, table.workers.isEmpty, !isWaiting, !hasPredecessor else { return }
        host.endSessions()
    }

    // MARK: - The new daemon

    /// Whether the daemon before still finishes its sessions.
    var hasPredecessor: Bool { predecessor != nil }

    /// Asks the daemon before to end its sessions, within its DrainTimeout or now.
    func stopPredecessor(now: Bool) { predecessor?.send(.stop(now: now)) }

    /// Takes the place of the daemon before, which finishes its sessions.
    ///
    /// - Throws: `ETIMEDOUT`, `ECONNRESET` where that daemon continues without this one.
    func replace(_ predecessor: Predecessor) throws(SystemError) {
        let inheritance = try predecessor.takeOver()
        self.predecessor = predecessor
        host.own(socket: inheritance.socket)
        try predecessor.watch(on: context.loop) { [weak self] packet, file in
            self?.handle(packet, file)
        } onEnd: { [weak self] in
            self?.predecessorEnded()
        }
        adopt(inheritance.sessions)
        context.logger.notice(
            "took over from the daemon before", metadata: ["sessions": "\(table.adopted.count)"])
    }

    private func handle(_ packet: HandoverPacket, _ file: consuming OwnedFD?) {
        switch packet {
        case .sessions(let sessions): adopt(sessions)
        case .connection: adopt(file)
        case .call(let call, let milliseconds):
            adopt(file)?.resume(call, waiting: .milliseconds(milliseconds))
        case .ready, .serve, .stop: break
        }
    }

    @discardableResult
    private func adopt(_ file: consuming OwnedFD?) -> ClientConnection? {
        guard let file = file.take() else { return nil }
        return host.adopt(file)
    }

    /// Stores sessions as the daemon before reports them.
    func adopt(_ sessions: [HandedSession]) {
        for session in sessions {
            if let result = session.result {
                finish(result, session.work)
            } else if table.adopt(session) {
                context.metrics.sessionAdopted(session.running)
            }
        }
    }

    private func finish(_ result: SessionRegistry.Result, _ work: SessionWork) {
        guard table.finishAdopted(result) else { return }
        context.metrics.sessionEnded(result.session, result.end, work)
        table.reply(result.end, toThoseWaitingFor: result.session.id)
        reportResult()
        host.slotsAreFree()
    }

    /// Handles the end of the daemon before; sessions that it has not reported as ended may continue without it.
    func predecessorEnded() {
        predecessor = nil
        context.logger.notice(
            "the daemon before has ended", metadata: ["sessions": "\(table.adopted.count)"])
        for session in Array(table.adopted.values) {
            let end = SessionEnd(
                status: session.running.kind.malfunction, reason: "the daemon that served the session has ended",
                framesIn: session.framesIn, framesOut: session.framesOut, cause: .vanished)
            finish(
                SessionRegistry.Result(session: session.running, end: end, at: .now, isContinued: false),
                session.work)
        }
        host.reportStatus()
        host.endIfDrained()
        endIfRelieved()
    }
}
