// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Logging
internal import Model
internal import Transport
internal import Wire

/// The broker: listens, checks who calls, admits, starts workers, supervises them, and counts.
///
/// One thread, and no call that waits: a client or a worker that does nothing delays nobody else.
final class Broker {
    /// How long workers may take to end their sessions at shutdown.
    private static let shutdownPatience = Duration.seconds(5)

    let configuration: Configuration
    let logger: Logger
    let loop: EventLoop
    let prober: Prober
    let user = geteuid()
    var registry: SessionRegistry
    var workers: [String: SessionWorker] = [:]
    var waiters = ResultWaiters()
    private(set) var isStopping = false

    private let signals: SignalFD
    private let socket: SocketFile?
    private var signalWatch: EventLoop.Watch?
    private var listener: Listener?
    private var connections: [ObjectIdentifier: ClientConnection] = [:]
    private var supervision: EventLoop.Timer?

    /// Listens; nothing is served before `run`.
    init(_ configuration: Configuration, signals: SignalFD, logger: Logger) throws(SystemError) {
        self.configuration = configuration
        self.signals = signals
        self.logger = logger
        registry = SessionRegistry(limits: configuration.sessions)
        loop = try EventLoop()
        prober = Prober(
            libexec: configuration.libexec, deviceList: configuration.deviceList,
            cacheFolder: ProbeCache.folder(isPrivate: configuration.isPrivate), loop: loop, logger: logger)
        let file: OwnedFD
        switch configuration.endpoint {
        case .path(let path):
            file = try UnixSocket.listen(path: path)
            socket = SocketFile(path)
        case .descriptor(let number):
            file = try Self.inherited(number)
            socket = nil
        }
        listener = try Listener(
            file, loop: loop, logger: logger, limits: configuration.connections,
            onlyUser: configuration.isPrivate ? user : nil
        ) { [weak self] file, peer in
            self?.serve(file, peer)
        }
        signalWatch = try loop.watch(signals.fileDescriptor, .readable) { [weak self] _ in self?.heardSignal() }
    }

    /// Serves until a signal ends it and every worker has gone.
    func run() throws(SystemError) {
        // In the background: a driver that hangs delays no start.
        prober.whenKnown { _ in }
        try loop.run()
        for connection in connections.values { connection.close() }
        logger.notice("stopped")
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
        let interval = min(Duration.seconds(1), configuration.stallLimit / 4)
        supervision = loop.after(interval) { [weak self] in
            guard let self else { return }
            supervision = nil
            for worker in workers.values { worker.checkStall(limit: configuration.stallLimit) }
            supervise()
        }
    }

    // MARK: Shutdown

    private func heardSignal() {
        while let signal = try? signals.next() {
            let name = SessionEnd.signalName(signal)
            if isStopping {
                logger.notice("\(name) again: killing the workers")
                for worker in workers.values { worker.kill(SIGKILL) }
            } else {
                logger.notice("\(name): stopping", metadata: ["sessions": "\(workers.count)"])
                beginShutdown()
            }
        }
    }

    private func beginShutdown() {
        isStopping = true
        listener?.stop()
        listener = nil
        socket?.remove()
        prober.stop()
        for worker in workers.values { worker.kill(SIGTERM) }
        _ = loop.after(Self.shutdownPatience) { [weak self] in
            guard let self else { return }
            for worker in workers.values {
                worker.logger.warning("the encoder process did not end when asked to; killing it")
                worker.kill(SIGKILL)
            }
        }
        _ = loop.after(Self.shutdownPatience + .seconds(2)) { [weak self] in
            // A process in an uninterruptible call of a driver cannot even be killed.
            guard let self else { return }
            logger.error("leaving processes behind that could not be killed")
            loop.stop()
        }
        stopWhenIdle()
    }

    /// Ends the loop once shutdown has begun and no child is left.
    private func stopWhenIdle() {
        guard workers.isEmpty, prober.isIdle else {
            _ = loop.after(.milliseconds(5)) { [weak self] in self?.stopWhenIdle() }
            return
        }
        loop.stop()
    }

    /// A listening socket that was handed over at the start.
    private static func inherited(_ number: Int32) throws(SystemError) -> OwnedFD {
        var listens: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, listens == 1 else {
            throw SystemError(errno: EINVAL, call: "listen", subject: "file descriptor \(number)")
        }
        let file = OwnedFD(number)
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        try file.setNonblocking(true)
        return file
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
