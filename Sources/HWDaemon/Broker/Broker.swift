// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// The broker: listens, checks who calls, admits, starts workers, supervises them, and counts.
///
/// One thread, and no call that waits: a client or a worker that does nothing delays nobody else.
final class Broker {
    /// How far the end has come.
    enum Phase {
        case serving
        /// Sessions may finish; no new one starts.
        case draining
        /// Sessions are being ended.
        case ending
    }

    let configuration: Configuration
    let manager: ServiceManager
    let logger: Logger
    let loop: EventLoop
    let prober: Prober
    let spare: SpareWorker
    /// No decoder waits before the first session of that kind: not every machine has them.
    let spareDecoder: SpareWorker
    let user = geteuid()
    let signals: SignalFD
    let socket: SocketFile?
    var settings: Settings
    var registry: SessionRegistry
    var metrics = Metrics(now: .now)
    var failureBackoff = FailureBackoff()
    var workers: [String: SessionWorker] = [:]
    var waiters = ResultWaiters()
    var phase = Phase.serving
    var listener: Listener?
    var isStopping: Bool { phase != .serving }

    private var signalWatch: EventLoop.Watch?
    private var connections: [ObjectIdentifier: ClientConnection] = [:]
    private var supervision: EventLoop.Timer?

    /// Listens; nothing is served before `run`.
    init(
        _ configuration: Configuration, _ settings: Settings, manager: ServiceManager, signals: SignalFD,
        logger: Logger
    ) throws(SystemError) {
        self.configuration = configuration
        self.settings = settings
        self.manager = manager
        self.signals = signals
        self.logger = logger
        registry = SessionRegistry(limits: SessionRegistry.Limits(settings))
        loop = try EventLoop()
        prober = Prober(
            libexec: configuration.libexec, deviceList: Configuration.deviceList(settings),
            cacheFolder: ProbeCache.folder(isPrivate: configuration.isPrivate), loop: loop, logger: logger)
        prober.timeout = settings.probeTimeout
        spare = SpareWorker(
            executable: "\(configuration.libexec)/hwdaemon-encoder", isWanted: settings.spareWorkers > 0,
            refills: !configuration.isPrivate, loop: loop)
        spareDecoder = SpareWorker(
            executable: "\(configuration.libexec)/\(SessionKind.decompression.program)",
            isWanted: settings.spareWorkers > 0, refills: !configuration.isPrivate, loop: loop)
        let file: OwnedFD
        switch configuration.endpoint {
        case .path(let path):
            file = try UnixSocket.listen(path: path)
            socket = SocketFile(path)
        case .descriptor(let number):
            file = try Configuration.inherited(number)
            socket = nil
        }
        listener = try Listener(
            file, loop: loop, logger: logger, limits: configuration.connections,
            onlyUser: configuration.isPrivate ? user : nil
        ) { [weak self] file, peer in
            self?.serve(file, peer)
        }
        signalWatch = try loop.watch(signals.fileDescriptor, .readable) { [weak self] _ in self?.handleSignals() }
    }

    /// Serves until a signal ends it and every worker has gone.
    func run() throws(SystemError) {
        // In the background: a driver that hangs delays no start.
        look { [weak self] _ in self?.lookAtVulkan() }
        spare.prepare()
        manager.tell("READY=1")
        reportStatus()
        keepAlive()
        try loop.run()
        for connection in connections.values { connection.close() }
        logger.notice("stopped")
    }

    /// Looks at the machine anew, or at one node, and counts how long that takes.
    func look(
        device: String? = nil, _ verification: ProbeRequest.Verification = .startup,
        _ body: @escaping (ProbeSnapshot) -> Void
    ) {
        let start = MonotonicTime.now
        prober.run(device: device, verification) { [weak self] snapshot in
            self?.metrics.probed(in: MonotonicTime.now.nanoseconds(since: start))
            body(snapshot)
        }
    }

    /// Looks at Vulkan's drivers while nobody waits for it: what is known then keeps sessions from devices that convert
    /// wrong, and from drivers that crash.
    func lookAtVulkan() {
        // Without a GPU no session opens a driver that it was not told to; and a daemon of one's own has better to do.
        guard !configuration.isPrivate, Devices.hasGPU(nodes: prober.nodes) else { return }
        prober.verifyInBackground(.vulkan)
    }

    /// Connections that have not become a session's.
    var connectionCount: Int { connections.count }

    /// Gives the service manager its signs of life: from the loop itself, so that one that is stuck gives none.
    private func keepAlive() {
        guard let interval = manager.watchdogInterval else { return }
        manager.tell("WATCHDOG=1")
        _ = loop.after(interval) { [weak self] in self?.keepAlive() }
    }

    /// Tells the service manager what `systemctl status` shows.
    func reportStatus() {
        let sessions = workers.count == 1 ? "1 session" : "\(workers.count) sessions"
        switch phase {
        case .serving: manager.tell("STATUS=Serving \(sessions).")
        case .draining: manager.tell("STATUS=Waiting for \(sessions) to finish.")
        case .ending: manager.tell("STATUS=Ending \(sessions).")
        }
    }

    private func serve(_ file: consuming OwnedFD, _ peer: PeerCredentials) {
        var logger = logger
        logger[metadataKey: "uid"] = "\(peer.uid)"
        logger[metadataKey: "client"] = "\(peer.pid)"
        do throws(SystemError) {
            let connection = try ClientConnection(
                file, peer: peer, loop: loop, logger: logger,
                onCall: { [weak self] call, connection in self?.dispatch(call, from: connection) },
                onClose: { [weak self] connection in self?.forget(connection) })
            connections[ObjectIdentifier(connection)] = connection
        } catch {
            listener?.connectionClosed(uid: peer.uid)
            logger.error("cannot serve a connection: \(error)")
        }
    }

    private func forget(_ connection: ClientConnection) {
        connections[ObjectIdentifier(connection)] = nil
        listener?.connectionClosed(uid: connection.peer.uid)
        for timer in waiters.remove(connection) { loop.cancel(timer) }
    }

    /// Looks at the workers from time to time while there are any.
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

/// The socket's place in the file system, removed at the end unless another daemon's socket is there by then.
struct SocketFile {
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Remembers the socket at `path`; nil if it is gone already.
    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Removes it.
    func remove() {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
        unlink(path)
    }
}
