// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport

/// The daemon that replaces this one, as this one sees it: a new process of the program, which may be another version.
final class Successor {
    /// What it reports.
    enum Event {
        /// It can serve, as the process of this number; older versions take no calls that wait.
        case ready(pid: Int32, takesCalls: Bool)
        /// It did not start, or ended before it served; a clause.
        case failed(String)
        /// It asks this daemon to end its sessions.
        case stop(now: Bool)
    }

    /// How long it may take until it can serve.
    private static let startTimeout = Duration.seconds(30)
    /// How soon a packet for which there was no room is sent again.
    private static let retryInterval = Duration.milliseconds(10)

    private let loop: EventLoop
    private let child: ChildProcess
    private let onEvent: (Event) -> Void
    private var channel: WorkerProcess.Channel?
    private var channelWatch: EventLoop.Watch?
    private var childWatch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var exit: ChildProcess.Exit?
    private var hasFailed = false
    /// Packets that wait for room, oldest first.
    private var outbox: [HandoverPacket] = []
    private var outboxTimer: EventLoop.Timer?
    /// Whether it may serve.
    private(set) var isServing = false

    /// Starts the program of this process again, with the same arguments.
    ///
    /// - Parameters:
    ///   - listener: the listening socket, which this daemon keeps as well.
    ///   - environment: added to this process's own.
    init(
        listener: Int32, environment: [String: String], loop: EventLoop, onEvent: @escaping (Event) -> Void
    ) throws(SystemError) {
        self.loop = loop
        self.onEvent = onEvent
        let pair = try UnixSocket.packetPair()
        child = try ChildProcess(
            spawning: Program.path, arguments: Array(CommandLine.arguments.dropFirst()),
            environment: environment.merging([HandoverPacket.variable.name: HandoverPacket.variable.version]) {
                $1
            },
            files: [
                ChildProcess.File(listener, as: HandoverPacket.descriptors.listener),
                ChildProcess.File(pair.second.rawValue, as: HandoverPacket.descriptors.channel),
            ])
        let channel = WorkerProcess.Channel(pair.first)
        self.channel = channel
        channelWatch = try loop.watch(channel.rawValue, .readable) { [weak self] _ in self?.receive() }
        childWatch = try loop.watch(child.fileDescriptor, .readable) { [weak self] _ in self?.childEnded() }
        timer = loop.after(Self.startTimeout) { [weak self] in
            self?.fail("it was not ready within \(Self.startTimeout.components.seconds) s")
        }
    }

    deinit { close() }

    /// What became of a packet.
    enum Delivery {
        case sent
        /// There is no room for it at the moment.
        case full
        /// It can never be sent, or the new daemon has ended.
        case failed
    }

    /// Sends a packet, with a descriptor or without.
    func send(_ packet: HandoverPacket, file: Int32? = nil) -> Delivery {
        guard let number = channel?.rawValue, let bytes = try? JSON.encode(packet) else { return .failed }
        do throws(TransportError) {
            if let file {
                try PacketSocket.send(bytes, file: file, to: number)
            } else {
                try PacketSocket.send(bytes, to: number)
            }
            return .sent
        } catch { return error.code == .wouldBlock ? .full : .failed }
    }

    /// Sends packets in order, what does not fit now as soon as there is room.
    func post(_ packets: [HandoverPacket]) {
        outbox += packets
        empty()
    }

    /// Whether everything that was posted is sent.
    var hasSentAll: Bool { outbox.isEmpty }

    private func empty() {
        let sent = isConnected ? outbox.prefix { send($0) != .full }.count : outbox.count
        outbox.removeFirst(sent)
        guard !outbox.isEmpty, outboxTimer == nil else { return }
        outboxTimer = loop.after(Self.retryInterval) { [weak self] in
            self?.outboxTimer = nil
            self?.empty()
        }
    }

    /// Whether it can still be reached.
    var isConnected: Bool { channel != nil }

    /// Marks it as serving: from now on its end is none of this daemon's.
    func serves() {
        isServing = true
        loop.cancel(timer)
    }

    /// Ends the connection; a new daemon that does not serve yet then ends by itself.
    func close() {
        loop.cancel(timer)
        loop.cancel(outboxTimer)
        closeChannel()
        if let childWatch { loop.remove(childWatch) }
        childWatch = nil
    }

    private func closeChannel() {
        if let channelWatch { loop.remove(channelWatch) }
        channelWatch = nil
        channel = nil
        outbox = []
    }

    private func receive() {
        while let number = channel?.rawValue {
            guard let packet = try? PacketSocket.receive(from: number) else { return ended() }
            switch packet {
            case .wouldBlock: return
            case .endOfFile: return ended()
            case .bytes(let bytes):
                switch try? JSON.decode(HandoverPacket.self, from: bytes) {
                case .ready(let pid, let takesCalls): onEvent(.ready(pid: pid, takesCalls: takesCalls ?? false))
                case .stop(let now): onEvent(.stop(now: now))
                default: break
                }
            }
        }
    }

    /// Handles the end of the connection; the exit of a process that did not detach itself says more.
    private func ended() {
        closeChannel()
        if exit != nil { fail("it ended before it was ready") }
    }

    /// A new daemon detaches itself, so that the process that was started exits with 0.
    private func childEnded() {
        guard let exit = try? child.tryReap() else { return }
        self.exit = exit
        if let childWatch { loop.remove(childWatch) }
        childWatch = nil
        if exit != .exited(0) {
            fail("it \(exit == .exited(78) ? "found its configuration wrong" : "\(exit)")")
        } else if channel == nil {
            fail("it ended before it was ready")
        }
    }

    private func fail(_ reason: String) {
        guard !isServing, !hasFailed else { return }
        hasFailed = true
        if exit == nil { try? child.kill(SIGKILL) }
        // A killed child is reaped by the watch, which must outlive the failure.
        loop.cancel(timer)
        closeChannel()
        onEvent(.failed(reason))
    }
}
