// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// The broker: listens, authenticates callers, admits sessions, starts and supervises workers, and keeps metrics.
///
/// It has one thread and makes no blocking call, so that no client or worker can delay the others.
final class Broker {
    /// The stages of a shutdown.
    enum Phase {
        case serving
        /// Another daemon serves in its place; sessions and the calls that it has received are finished.
        case relieved
        /// Running sessions may finish; new ones are refused.
        case draining
        /// Workers are asked to end, then killed.
        case ending
    }

    let configuration: Configuration
    let driverCache: DriverCache
    let manager: ServiceManager
    let logger: Logger
    let loop: EventLoop
    let prober: Prober
    let spares: [SessionKind: SpareWorker]
    let user = geteuid()
    let signals: SignalFD
    var socket: SocketFile?
    var settings: Settings
    var registry: SessionRegistry
    var metrics = Metrics(now: .now)
    var workers: [String: SessionWorker] = [:]
    /// What checks the output of hardware encoders, by session.
    var outputChecks: [String: OutputCheck] = [:]
    /// Sessions for which such a process did not start.
    var uncheckedOutputs: Set<String> = []
    var waiters = ResultWaiters()
    /// Create calls that wait for a place.
    var queue = SessionQueue<CreateRequest>()
    var queueTimer: EventLoop.Timer?
    var replies = CachedReplies()
    /// Nil in private daemons, and once another daemon serves.
    var nodeWatch: NodeWatch?
    var waitingProbes = WaitingProbes()
    var phase = Phase.serving
    /// What is wrong with the configuration that the last reload rejected; nil where it succeeded.
    var rejectedConfiguration: String?
    var listener: Listener?
    var isStopping: Bool { phase == .draining || phase == .ending }
    /// The daemon that replaces this one.
    var successor: Successor?
    /// Ids of ended sessions whose results it has.
    var reportedResults: Set<String> = []
    /// Why the last upgrade failed.
    var failedUpgrade: String?
    /// The daemon that this one replaced, while it finishes its sessions.
    var predecessor: Predecessor?
    /// Those sessions, as last reported.
    var adopted: [String: HandedSession] = [:]

    private var signalWatch: EventLoop.Watch?
    private let lifetime: LifetimeWatch?
    private var connections: [ObjectIdentifier: ClientConnection] = [:]
    private var supervision: EventLoop.Timer?
    private var idleCheck: EventLoop.Timer?

    /// Listens; connections are served from `run` on.
    init(
        _ configuration: Configuration, _ settings: Settings, manager: ServiceManager, signals: SignalFD,
        logger: Logger
    ) throws(SystemError) {
        self.configuration = configuration
        self.settings = settings
        self.manager = manager
        self.signals = signals
        self.logger = logger
        driverCache = DriverCache(isPrivate: configuration.isPrivate)
        registry = SessionRegistry(limits: SessionRegistry.Limits(settings, isPrivate: configuration.isPrivate))
        loop = try EventLoop()
        prober = Prober(
            ProbeQueue(
                libexec: configuration.libexec, timeout: settings.probeTimeout,
                confinement: Confinement(settings, cache: driverCache), loop: loop),
            cache: ProbeCache(folder: ProbeCache.folder(isPrivate: configuration.isPrivate)),
            deviceList: Configuration.deviceList(settings), loop: loop, logger: logger)
        spares = Self.makeSpares(configuration, settings, loop)
        lifetime = try LifetimeWatch(configuration.lifetime, loop: loop)
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
            file, loop: loop, logger: logger, onlyUser: configuration.isPrivate ? user : nil
        ) { [weak self] file, peer in
            self?.serve(file, peer)
        }
        lifetime?.onEnd = { [weak self] in self?.ownerEnded() }
        prober.forbade = { [weak self] in self?.metrics.forbade($0, "probe") }
        prober.refused = { [weak self] in self?.metrics.refused($0) }
        signalWatch = try loop.watch(signals.fileDescriptor, .readable) { [weak self] _ in self?.handleSignals() }
    }

    private static func makeSpares(
        _ configuration: Configuration, _ settings: Settings, _ loop: EventLoop
    ) -> [SessionKind: SpareWorker] {
        let kinds = SessionKind.allCases.filter { $0.sparePolicy != .never }
        return Dictionary(
            uniqueKeysWithValues: kinds.map { kind in
                let spare = SpareWorker(
                    executable: configuration.executable(kind.program), isEnabled: settings.spareWorkers > 0,
                    sandbox: settings.sandbox, givesSamples: kind == .compression,
                    refills: !configuration.isPrivate, delay: kind.spareDelay, loop: loop)
                return (kind, spare)
            })
    }

    /// Starts the spare of the expected session, else those that do not wait for a first session of their kind.
    func prepareSpares() {
        if let expected = configuration.expected {
            spares[expected]?.prepare()
        } else {
            for (kind, spare) in spares where kind.sparePolicy == .always { spare.prepare() }
        }
    }

    /// Serves until a signal ends it and every worker has ended.
    func run() throws(SystemError) {
        // Before the probe, so that a node that comes meanwhile is noticed.
        watchNodes()
        // In the background, so that a driver that hangs does not delay the start.
        runProbe { [weak self] _ in self?.verifyVulkan() }
        prepareSpares()
        if configuration.isPrivate { socket?.removeStaleNeighbors() }
        manager.notify("READY=1")
        reportStatus()
        sendWatchdogPing()
        try loop.run()
        for connection in connections.values { connection.close() }
        logger.notice("stopped")
    }

    /// Probes the machine, or one node, and counts the time it takes.
    func runProbe(
        device: String? = nil, _ verification: ProbeRequest.Verification = .startup,
        _ body: @escaping (ProbeSnapshot) -> Void
    ) {
        let start = MonotonicTime.now
        prober.probe(device: device, verification) { [weak self] snapshot in
            self?.metrics.probed(in: MonotonicTime.now.nanoseconds(since: start))
            body(snapshot)
        }
    }

    /// Verifies Vulkan's devices in the background, so that sessions avoid those that convert incorrectly and drivers
    /// that crash.
    func verifyVulkan() {
        // Without a GPU, sessions use Vulkan only on request; private daemons skip this to start faster.
        guard !configuration.isPrivate, Devices.hasGPU(nodes: prober.nodes) else { return }
        prober.verifyInBackground(.vulkan)
    }

    /// Connections that were not handed to a worker.
    var connectionCount: Int { connections.count }

    /// Pings the service manager's watchdog from the event loop, so that a blocked loop misses its ping.
    private func sendWatchdogPing() {
        guard let interval = manager.watchdogInterval else { return }
        manager.notify("WATCHDOG=1")
        _ = loop.after(interval) { [weak self] in self?.sendWatchdogPing() }
    }

    /// Sends the service manager the status that `systemctl status` shows.
    func reportStatus() {
        let sessions = workers.count == 1 ? "1 session" : "\(workers.count) sessions"
        switch phase {
        case .serving, .relieved:
            let rejected = rejectedConfiguration.map {
                " The configuration was rejected, the one before stays: \($0)"
            }
            let failed = failedUpgrade.map {
                " The upgrade failed, this daemon goes on: the new one did not start: \($0)"
            }
            let former = adopted.isEmpty ? "" : " The daemon before finishes \(adopted.count)."
            manager.notify("STATUS=Serving \(sessions).\(former)\(rejected ?? "")\(failed ?? "")")
        case .draining: manager.notify("STATUS=Waiting for \(sessions) to finish.")
        case .ending: manager.notify("STATUS=Ending \(sessions).")
        }
    }

    /// Connections that were not handed to a worker.
    var openConnections: [ClientConnection] { Array(connections.values) }

    /// Serves a connection that was accepted, or that the daemon before has handed over.
    @discardableResult
    func serve(_ file: consuming OwnedFD, _ peer: PeerCredentials) -> ClientConnection? {
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
        stopWaiting(connection)
        for timer in waiters.remove(connection) { loop.cancel(timer) }
    }

    /// Closes connections that have been idle for too long, at intervals while there are any.
    func closeIdleConnections() {
        guard idleCheck == nil, !connections.isEmpty, settings.idleTimeout > .zero else { return }
        idleCheck = loop.after(min(.seconds(1), settings.idleTimeout / 4)) { [weak self] in
            guard let self else { return }
            idleCheck = nil
            // A reload may have switched the timeout off meanwhile.
            if settings.idleTimeout > .zero {
                for connection in Array(connections.values) { connection.closeIfIdle(for: settings.idleTimeout) }
            }
            closeIdleConnections()
        }
    }

    /// Checks the workers for stalls at intervals while there are any.
    func supervise() {
        guard supervision == nil, !workers.isEmpty else { return }
        let interval = min(Duration.seconds(1), settings.stallTimeout / 4, settings.hardwareStallTimeout / 4)
        supervision = loop.after(interval) { [weak self] in
            guard let self else { return }
            supervision = nil
            for worker in workers.values { worker.checkStall() }
            supervise()
        }
    }
}
