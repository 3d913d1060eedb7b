// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
public import HWDWire
internal import Synchronization

/// A daemon: the machine's, or a private one that runs as long as this object exists.
public final class Daemon: Sendable {
    /// The socket of the machine's daemon; `$HWDAEMON_SOCKET` overrides it.
    public static let defaultAddress = "/run/hwdaemon/hwdaemon.sock"

    /// A socket's path, or `@name`.
    public let address: String
    /// Whether the daemon was started for this object.
    public var isPrivate: Bool { process != nil }

    private let process: PrivateDaemon?
    /// How its sessions wait for slots.
    let policy: SessionPolicy
    /// Sessions that were created with this object and have not ended.
    let sessionCount = Atomic<Int>(0)
    /// The names of what its protocol offers; nil until it has said.
    private let offered = Mutex<Set<String>?>(nil)

    /// A daemon that is already running; the first call connects to it.
    public init(address: String) {
        self.address = address
        process = nil
        policy = SessionPolicy()
    }

    private init(_ process: PrivateDaemon) {
        address = process.address
        self.process = process
        policy = SessionPolicy()
    }

    /// The same daemon, with another policy for sessions.
    package init(_ daemon: Daemon, _ policy: SessionPolicy) {
        address = daemon.address
        process = daemon.process
        self.policy = policy
    }

    /// The machine's daemon, or a private one where none runs.
    ///
    /// If `$HWDAEMON_SOCKET` is set, only that address is tried. A private daemon is started only where the socket is
    /// missing or has no listener; it inherits its socket and ends with this object or this process.
    /// - Throws: `permissionDenied`, with the group to join, or with the user who listens and is not trusted; `notRunning`
    ///   for an explicit address; `connectionFailed` if a private daemon does not start.
    public static func find() throws(ClientError) -> Daemon { try find(logs: false) }

    /// As `find()`.
    ///
    /// - Parameter logs: whether a private daemon logs what it does on this process's standard error.
    public static func find(logs: Bool) throws(ClientError) -> Daemon {
        if let explicit = Environment.value("HWDAEMON_SOCKET") {
            let daemon = Daemon(address: explicit)
            _ = try daemon.connect()
            return daemon
        }
        if let started = PrivateDaemon.takeStarted() { return Daemon(started) }
        let daemon = Daemon(address: defaultAddress)
        do throws(ClientError) {
            _ = try daemon.connect()
            return daemon
        } catch  where error.code == .notRunning {
            return Daemon(try PrivateDaemon(isVerbose: logs))
        }
    }

    /// A private daemon for a user who has no permission for the machine's socket; nil for others, and where
    /// `$HWDAEMON_SOCKET` names one.
    ///
    /// - Parameter logs: as of `find(logs:)`.
    package static func startWherePermissionIsMissing(logs: Bool) throws(ClientError) -> Daemon? {
        guard Environment.value("HWDAEMON_SOCKET") == nil,
            faccessat(AT_FDCWD, defaultAddress, W_OK, AT_EACCESS) != 0, errno == EACCES
        else { return nil }
        return Daemon(try PrivateDaemon(isVerbose: logs))
    }

    /// The daemon that `$HWDAEMON_SOCKET` names, or the machine's; none is started.
    ///
    /// - Throws: `notRunning` where none listens; `permissionDenied`, with the group to join.
    public static func findRunning() throws(ClientError) -> Daemon {
        let daemon = Daemon(address: Environment.value("HWDAEMON_SOCKET") ?? defaultAddress)
        _ = try daemon.connect()
        return daemon
    }

    /// Calls a method on a new connection and waits for the reply.
    ///
    /// - Throws: the daemon's error, or why the daemon cannot be reached.
    public func call<M: ControlMethod>(
        _ method: M.Type, _ parameters: M.Parameters, timeout: Duration = .seconds(30)
    ) throws(ClientError) -> M.Reply {
        let connection = try connect()
        let reply = try Self.exchange(
            method, parameters, upgrade: false, on: connection.rawValue, deadline: MonotonicTime.now + timeout)
        guard let reply else { throw .noReply(to: M.method) }
        return reply
    }

    /// What the daemon's protocol offers, and its limits.
    ///
    /// - Throws: `Parameter` from a daemon that is older than this call, or why the daemon cannot be reached.
    public func features() throws(ClientError) -> GetFeatures.Reply { try call(GetFeatures.self, Empty()) }

    /// Whether the daemon's protocol offers what has this name in `features()`, which is asked once for this object; false for a
    /// daemon that is older than that call.
    package func offers(_ feature: String) -> Bool {
        if let known = offered.withLock({ $0 }) { return known.contains(feature) }
        guard let reply = try? features() else { return false }
        offered.withLock { $0 = Set(reply.features) }
        return reply.features.contains(feature)
    }

    /// Makes `offers` ask again.
    func forgetFeatures() { offered.withLock { $0 = nil } }

    /// The decoders that sessions may use, hardware first.
    ///
    /// - Throws: `Parameter` from a daemon that is older than this call, or why the daemon cannot be reached.
    public func decoders() throws(ClientError) -> [DecoderDescription] {
        try call(ListDecoders.self, Empty()).decoders
    }

    /// Whether a compression session that requires hardware would get it; waits up to 15 s for hardware to be verified.
    ///
    /// - Throws: `Parameter` from a daemon that is older than this call, or why the daemon cannot be reached.
    public func isHardwareEncodeSupported(
        _ question: HardwareQuestion
    ) throws(ClientError) -> IsHardwareEncodeSupported.Reply {
        try call(IsHardwareEncodeSupported.self, question)
    }

    /// Whether a decompression session that requires hardware would get it; waits up to 15 s for hardware to be verified.
    ///
    /// VideoToolbox's VTIsHardwareDecodeSupported, with the bit depth and the size as well.
    /// - Throws: `Parameter` from a daemon that is older than this call, or why the daemon cannot be reached.
    public func isHardwareDecodeSupported(
        _ question: HardwareQuestion
    ) throws(ClientError) -> IsHardwareDecodeSupported.Reply {
        try call(IsHardwareDecodeSupported.self, question)
    }

    /// Whether a HEIC file can be written, and whether hardware codes it; waits up to 15 s for hardware to be verified.
    ///
    /// - Throws: `Parameter` from a daemon that is older than this call, or why the daemon cannot be reached.
    public func isStillEncodeSupported(
        _ question: StillQuestion
    ) throws(ClientError) -> IsStillEncodeSupported.Reply {
        try call(IsStillEncodeSupported.self, question)
    }

    /// A connection to a process of a user whom this one trusts.
    func connect() throws(ClientError) -> OwnedFD {
        let connection = try connectToAnyone()
        let untrusted: UInt32?
        do throws(SystemError) {
            untrusted = try PeerTrust.stranger(at: address, connection)
        } catch { throw ClientError(error, whileDoing: "the user who listens on \(address) is not known") }
        guard let user = untrusted else { return connection }
        throw ClientError(
            .permissionDenied,
            "user \(user) listens on \(address) and is not trusted: neither this user nor root, and others can replace the socket"
        )
    }

    private func connectToAnyone() throws(ClientError) -> OwnedFD {
        do throws(SystemError) {
            return try UnixSocket.connect(to: address)
        } catch {
            switch error.errno {
            case ENOENT, ECONNREFUSED:
                throw ClientError(.notRunning, "no daemon listens on \(address)")
            case EACCES, EPERM:
                throw ClientError(.permissionDenied, "no permission to use \(address): \(Self.remedy(address))")
            default:
                throw ClientError(error, whileDoing: "the daemon cannot be reached")
            }
        }
    }

    /// Sends a call and waits for its reply; nil where the connection is closed instead.
    static func exchange<M: ControlMethod>(
        _ method: M.Type, _ parameters: M.Parameters, upgrade: Bool, on fd: Int32, deadline: MonotonicTime
    ) throws(ClientError) -> M.Reply? {
        let call: [UInt8]
        do throws(SessionError) {
            call = try VarlinkCall.encode(method: M.method, parameters: parameters, upgrade: upgrade)
        } catch { throw ClientError(error) }

        let reply: [UInt8]?
        do throws(TransportError) {
            do throws(TransportError) {
                try VarlinkConnection.send(call, to: fd, deadline: deadline)
            } catch {
                // A daemon at its connection limit sends the reason and closes, possibly before it reads the call.
                if error.code != .closed { throw error }
            }
            var receiver = VarlinkConnection.replyReceiver()
            reply = try VarlinkConnection.receive(from: fd, with: &receiver, deadline: deadline)
        } catch {
            throw ClientError(error, whileDoing: "the daemon did not answer \(M.method)")
        }
        guard let reply else { return nil }
        do throws(SessionError) {
            return try VarlinkReply.decode(M.Reply.self, from: reply)
        } catch {
            guard !VarlinkReply.isError(reply) else { throw ClientError(error) }
            throw ClientError(.protocolViolation, "the daemon's reply to \(M.method) is not valid: \(error.reason)")
        }
    }

    /// What a caller without permission for a socket can do.
    private static func remedy(_ path: String) -> String {
        var status = stat()
        let isKnown = stat(path, &status) == 0
        if isKnown, status.st_gid == 0 { return "the socket belongs to root; see docs/admin.md" }
        let entry = isKnown ? getgrgid(status.st_gid) : nil
        let group = entry.map { String(cString: $0.pointee.gr_name) } ?? "hwdaemon"
        return "join the group \(group) (sudo usermod -aG \(group) $USER, then log in again)"
    }
}
