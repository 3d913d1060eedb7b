// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import Logging

/// The daemon that this one replaces, as this one sees it: it finishes its sessions and reports about them.
final class Predecessor {
    /// What it hands over as it stops serving.
    struct Inheritance {
        /// The path of the socket's file, if the daemon made it.
        var socket: String?
        var sessions: [HandedSession] = []
    }

    /// How long this daemon waits until it may serve.
    private static let startTimeout = Duration.seconds(30)
    /// Packets handled before the loop has its turn.
    private static let maxPackets = 64

    private var file: OwnedFD?
    private var loop: EventLoop?
    private var watch: EventLoop.Watch?
    private var onPacket: ((HandoverPacket, consuming OwnedFD?) -> Void)?
    private var onEnd: (() -> Void)?

    /// Finds the daemon that started this process to be replaced by it; nil where none did.
    ///
    /// Removes the variable from the environment, so that no child acts on it. Anyone can set it, so that it counts only
    /// beside the socket that belongs to it.
    /// - Parameter isPrivate: whether this daemon is one, which is never upgraded.
    /// - Throws: `EPROTO` where this version cannot replace that one, `ECONNRESET` if that one has ended.
    init?(isPrivate: Bool, logger: Logger) throws(SystemError) {
        let (name, channel) = (HandoverPacket.variable.name, HandoverPacket.descriptors.channel)
        let version = Environment.value(name)
        unsetenv(name)
        guard let version, !isPrivate else { return nil }
        guard Configuration.isUnixSocket(channel, Int32(SOCK_SEQPACKET.rawValue), listens: false) else {
            logger.warning(
                "\(name) is ignored: file descriptor \(channel) is no socket of a daemon that is upgraded")
            return nil
        }
        guard version == HandoverPacket.variable.version else {
            throw SystemError(
                errno: EPROTO, call: "upgrade",
                subject: "a daemon that hands over by version \(version.printable(maxBytes: 40))")
        }
        // The credentials of a socket pair are those of the process that created it.
        guard try PeerCredentials(of: channel).pid == getppid() else { throw Self.lost(ECONNRESET) }
        file = try Configuration.inheritedFile(channel)
    }

    /// Reports that this daemon can serve, and waits until it may.
    ///
    /// - Throws: `ETIMEDOUT`, `ECONNRESET` where the daemon before has ended or continues without this one.
    func takeOver() throws(SystemError) -> Inheritance {
        var inheritance = Inheritance()
        let deadline = MonotonicTime.now + Self.startTimeout
        guard let number = file?.rawValue, send(.ready(pid: getpid(), takesCalls: true)) else {
            throw Self.lost(ECONNRESET)
        }
        while true {
            var bytes: [UInt8] = []
            do throws(TransportError) {
                guard case .bytes(let packet) = try PacketSocket.receive(from: number, deadline: deadline) else {
                    throw TransportError(.closed, "the daemon before has ended")
                }
                bytes = packet
            } catch { throw Self.lost(error.code == .timedOut ? ETIMEDOUT : ECONNRESET) }
            switch try? JSON.decode(HandoverPacket.self, from: bytes) {
            case .sessions(let sessions): inheritance.sessions += sessions
            case .serve(let socket):
                inheritance.socket = socket
                return inheritance
            default: break
            }
        }
    }

    private static func lost(_ errno: Int32) -> SystemError {
        SystemError(errno: errno, call: "upgrade", subject: "the daemon that was to be replaced")
    }

    /// Calls `onPacket` for every packet from now on, and `onEnd` when the daemon before has ended.
    func watch(
        on loop: EventLoop, onPacket: @escaping (HandoverPacket, consuming OwnedFD?) -> Void,
        onEnd: @escaping () -> Void
    ) throws(SystemError) {
        guard let number = file?.rawValue else { return }
        (self.loop, self.onPacket, self.onEnd) = (loop, onPacket, onEnd)
        watch = try loop.watch(number, .readable) { [weak self] _ in self?.receive() }
    }

    /// Sends a packet; false where it cannot take one, or has ended.
    @discardableResult
    func send(_ packet: HandoverPacket) -> Bool {
        guard let number = file?.rawValue, let bytes = try? JSON.encode(packet) else { return false }
        return (try? PacketSocket.send(bytes, to: number)) != nil
    }

    private func receive() {
        for _ in 0..<Self.maxPackets {
            guard let number = file?.rawValue else { return }
            var carried: OwnedFD?
            guard let packet = try? PacketSocket.receive(from: number, file: &carried) else { return end() }
            switch packet {
            case .wouldBlock: return
            case .endOfFile: return end()
            case .bytes(let bytes):
                if let packet = try? JSON.decode(HandoverPacket.self, from: bytes) {
                    onPacket?(packet, carried.take())
                }
            }
        }
    }

    private func end() {
        if let watch { loop?.remove(watch) }
        watch = nil
        file = nil
        onEnd?()
    }
}
