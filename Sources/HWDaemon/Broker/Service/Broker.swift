// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// The broker: listens, authenticates callers, dispatches their calls, and ends with the sessions.
///
/// Its parts do the rest: `SessionTable` knows the sessions, `SessionAdmission` has room for them, `SessionSupervisor` starts their
/// processes, `ProbeService` knows the machine, and `UpgradeController` changes daemons. There is one thread and no blocking
/// call, so that no client or worker can delay the others.
final class Broker {
    let context: BrokerContext
    let sessions: SessionTable
    let admission: SessionAdmission
    let supervisor: SessionSupervisor
    let probes: ProbeService
    private(set) lazy var upgrades = UpgradeController(context, sessions, admission, manager: manager, host: self)
    let manager: ServiceManager
    let signals: SignalFD
    var loop: EventLoop { context.loop }
    var logger: Logger { context.logger }
    /// What is wrong with the configuration that the last reload rejected; nil where it succeeded.
    var rejectedConfiguration: String?
    private var socket: SocketFile?
    private var listener: Listener?
    private var signalWatch: EventLoop.Watch?
    private let lifetime: LifetimeWatch?
    private var connections: [ObjectIdentifier: ClientConnection] = [:]
    private var idleCheck: EventLoop.Timer?

    /// Listens; connections are served from `run` on.
    init(
        _ configuration: Configuration, _ settings: Settings, manager: ServiceManager, signals: SignalFD,
        logger: Logger
    ) throws(SystemError) {
        self.manager = manager
        self.signals = signals
        context = try BrokerContext(configuration, settings, logger: logger)
        sessions = SessionTable(context)
        probes = ProbeService(context)
        admission = SessionAdmission(context, sessions) { [prober = probes.prober] in prober.knowledge }
        supervisor = SessionSupervisor(context, sessions, admission, probes.prober)
        lifetime = try LifetimeWatch(configuration.lifetime, loop: context.loop)
        let file: OwnedFD
        switch configuration.endpoint {
        case .path(let path):
            file = try UnixSocket.listen(path: path)
            socket = SocketFile(path)
        case .descriptor(let number):
            file = try Configuration.inherited(number)
            // The file of any other inherited socket belongs to the service manager.
            socket = configuration.isPrivate ? SocketFile(inherited: number) : nil
        }
        listener = try Listener(
            file, loop: loop, logger: logger, onlyUser: configuration.isPrivate ? geteuid() : nil
        ) { [weak self] file, peer in
            self?.serve(file, peer)
        }
        lifetime?.onEnd = { [weak self] in self?.ownerEnded() }
        supervisor.hasStarted = { [weak self] in self?.reportStatus() }
        supervisor.hasEnded = { [weak self] in
            self?.upgrades.reportResult()
            self?.slotsAreFree()
            self?.endIfDrained()
        }
        signalWatch = try loop.watch(signals.fileDescriptor, .readable) { [weak self] _ in self?.handleSignals() }
    }

    /// Serves until a signal ends it and every worker has ended.
    func run() throws(SystemError) {
        probes.start()
        supervisor.spares.prepare()
        if context.isPrivate { socket?.removeStaleNeighbors() }
        manager.notify("READY=1")
        reportStatus()
        sendWatchdogPing()
        try loop.run()
        for connection in connections.values { connection.close() }
        logger.notice("stopped")
    }

    /// Connections that were not handed to a worker, and those refused because there were too many.
    var connectionCounts: (open: Int, refused: UInt64) { (connections.count, listener?.refusedCount ?? 0) }

    /// Pings the service manager's watchdog from the event loop, so that a blocked loop misses its ping.
    private func sendWatchdogPing() {
        guard let interval = manager.watchdogInterval else { return }
        manager.notify("WATCHDOG=1")
        _ = loop.after(interval) { [weak self] in self?.sendWatchdogPing() }
    }

    /// Serves a connection that was accepted, or that the daemon before has handed over.
    @discardableResult
    private func serve(_ file: consuming OwnedFD, _ peer: PeerCredentials) -> ClientConnection? {
        var logger = logger
        logger[metadataKey: "uid"] = "\(peer.uid)"
        logger[metadataKey: "client"] = "\(peer.pid)"
        do throws(SystemError) {
            let connection = try ClientConnection(
                file, peer: peer, loop: loop, logger: logger,
                onCall: { [weak self] call, connection in self?.dispatch(call, from: connection) },
                onClose: { [weak self] connection in self?.forget(connection) })
            connections[ObjectIdentifier(connection)] = connection
            closeIdleConnections()
            return connection
        } catch {
            listener?.connectionClosed(uid: peer.uid)
            logger.error("cannot serve a connection: \(error)")
            return nil
        }
    }

    private func forget(_ connection: ClientConnection) {
        connections[ObjectIdentifier(connection)] = nil
        listener?.connectionClosed(uid: connection.peer.uid)
        admission.stopWaiting(connection)
        sessions.stopWaiting(connection)
    }

    /// Closes connections that have been idle for too long, at intervals while there are any.
    func closeIdleConnections() {
        let timeout = context.settings.idleTimeout
        guard idleCheck == nil, !connections.isEmpty, timeout > .zero else { return }
        idleCheck = loop.after(min(.seconds(1), timeout / 4)) { [weak self] in
            guard let self else { return }
            idleCheck = nil
            // A reload may have switched the timeout off meanwhile.
            let timeout = context.settings.idleTimeout
            if timeout > .zero {
                for connection in Array(connections.values) { connection.closeIfIdle(for: timeout) }
            }
            closeIdleConnections()
        }
    }

    /// Stops listening; the socket's file is removed where it is this daemon's.
    func stopListening() {
        listener?.stop()
        listener = nil
        socket?.remove()
    }

    /// Whether the daemon continues to listen while it drains, to refuse new calls.
    ///
    /// On a service manager's socket it stops: clients wait there for the next daemon.
    var keepsListening: Bool { socket != nil && !context.isPrivate }
}

// What an upgrade needs.
extension Broker: UpgradeHost {
    var listeningSocket: (file: Int32, path: String?)? {
        listener.map { (file: $0.fileDescriptor, path: socket?.path) }
    }

    var openConnections: [ClientConnection] { Array(connections.values) }

    func own(socket path: String?) { socket = path.flatMap { SocketFile($0) } }

    func adopt(_ file: consuming OwnedFD) -> ClientConnection? {
        guard let peer = try? PeerCredentials(of: file.rawValue) else { return nil }
        listener?.connectionAdopted(uid: peer.uid)
        return serve(file, peer)
    }

    func stopServing() {
        socket = nil
        stopListening()
        supervisor.spares.stop()
        probes.stopWatching()
    }

    func refuseWaiting() {
        probes.stop()
        admission.refuseAll()
    }

    func slotsAreFree() {
        reportStatus()
        admission.serve()
    }

    /// Sends the service manager the status that `systemctl status` shows.
    func reportStatus() {
        let count = sessions.workers.count
        let running = count == 1 ? "1 session" : "\(count) sessions"
        switch context.phase {
        case .serving, .relieved:
            let rejected = rejectedConfiguration.map {
                " The configuration was rejected, the one before stays: \($0)"
            }
            let failed = upgrades.failure.map {
                " The upgrade failed, this daemon continues: the new one did not start: \($0)"
            }
            let former = sessions.adopted.isEmpty ? "" : " The daemon before finishes \(sessions.adopted.count)."
            manager.notify("STATUS=Serving \(running).\(former)\(rejected ?? "")\(failed ?? "")")
        case .draining: manager.notify("STATUS=Waiting for \(running) to finish.")
        case .ending: manager.notify("STATUS=Ending \(running).")
        }
    }
}
