// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// Unix stream sockets; an address is a path, or `@name` for one in the abstract namespace.
///
/// Every socket is close-on-exec and, except a listener handed to a child, nonblocking.
public enum UnixSocket {
    /// How long the socket of a process that has ended may still have a listener.
    private static let staleTimeout = Duration.seconds(2)

    /// Listens on a path with the given permission bits; replaces a stale socket, which has no listener.
    ///
    /// A lock keeps processes that start together from removing each other's socket as stale.
    /// - Throws: `EADDRINUSE` if the socket has a listener, `ENOTSOCK` if the path is not a socket.
    public static func listen(path: String, mode: UInt32 = 0o660) throws(SystemError) -> OwnedFD {
        guard !path.hasPrefix("@") else { throw SystemError(errno: EINVAL, call: "listen", subject: path) }
        let lock = try LockFile(beside: path)
        defer { lock.remove() }
        try removeStale(path)
        let socket = OwnedFD(try syscall("socket") { chwd_socket_stream() })
        // bind creates the node with the socket's mode less the umask, so it is never more permissive than requested.
        try syscall("fchmod", path) { negated(fchmod(socket.rawValue, mode)) }
        try bind(socket, path)
        try syscall("chmod", path) { negated(chmod(path, mode)) }
        return try startListening(consume socket)
    }

    /// Listens on an abstract address that the kernel chooses; `address(of:)` returns it.
    public static func listenAbstractAutobind() throws(SystemError) -> OwnedFD {
        let socket = OwnedFD(try syscall("socket") { chwd_socket_stream() })
        try syscall("bind") { chwd_bind_auto(socket.rawValue) }
        return try startListening(consume socket)
    }

    /// The address that a socket is bound to.
    public static func address(of fd: Int32) throws(SystemError) -> String {
        var abstract: Int32 = 0
        var name = [CChar](repeating: 0, count: 128)
        let length = try syscall("getsockname") { chwd_socket_name(fd, &name, name.count, &abstract) }
        let text = String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return abstract != 0 ? "@" + text : text
    }

    /// Connects to a path or `@name`.
    ///
    /// - Throws: `ENOENT` or `ECONNREFUSED` if there is no listener, `EACCES` without permission, `ETIMEDOUT` if the
    ///   listener's backlog stayed full.
    public static func connect(to address: String, timeout: Duration = .seconds(5)) throws(SystemError) -> OwnedFD {
        let deadline = MonotonicTime.now + timeout
        let socket = OwnedFD(try syscall("socket") { chwd_socket_stream() })
        let (name, abstract) = parse(address)
        while true {
            let left = Int64(clamping: deadline.nanoseconds(since: .now))
            try syscall("setsockopt(SO_SNDTIMEO)") { chwd_set_send_timeout(socket.rawValue, left) }
            // An interrupted connect made no connection and can be repeated within the remaining time.
            let result = name.withUnsafeBytes { bytes in
                chwd_connect(
                    socket.rawValue, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, abstract)
            }
            if result == 0 { break }
            if result == -EINTR, MonotonicTime.now < deadline { continue }
            let timedOut = result == -EAGAIN || result == -EINTR
            throw SystemError(errno: timedOut ? ETIMEDOUT : -result, call: "connect", subject: address)
        }
        try syscall("setsockopt(SO_SNDTIMEO)") { chwd_set_send_timeout(socket.rawValue, -1) }
        try socket.setNonblocking(true)
        return socket
    }

    /// Accepts the next connection of a nonblocking listener; nil when there is none.
    public static func accept(_ listener: Int32) throws(SystemError) -> OwnedFD? {
        while true {
            let result = chwd_accept(listener)
            if result >= 0 { return OwnedFD(result) }
            switch -result {
            case EINTR, ECONNABORTED: continue
            case EAGAIN: return nil
            default: throw SystemError(errno: -result, call: "accept4")
            }
        }
    }

    /// Two connected nonblocking stream sockets.
    public static func pair() throws(SystemError) -> SocketPair { try makePair(seqpacket: 0) }

    /// Two connected nonblocking sockets that keep message boundaries (`SOCK_SEQPACKET`).
    public static func packetPair() throws(SystemError) -> SocketPair { try makePair(seqpacket: 1) }

    private static func makePair(seqpacket: Int32) throws(SystemError) -> SocketPair {
        var ends: [Int32] = [-1, -1]
        try syscall("socketpair") { chwd_socketpair(seqpacket, &ends) }
        return SocketPair(first: OwnedFD(ends[0]), second: OwnedFD(ends[1]))
    }

    private static func parse(_ address: String) -> (name: [UInt8], abstract: Int32) {
        address.hasPrefix("@") ? (Array(address.utf8.dropFirst()), 1) : (Array(address.utf8), 0)
    }

    static func bind(_ socket: borrowing OwnedFD, _ address: String) throws(SystemError) {
        let (name, abstract) = parse(address)
        let number = socket.rawValue
        try syscall("bind", address) {
            name.withUnsafeBytes {
                chwd_bind(number, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count, abstract)
            }
        }
    }

    static func startListening(_ socket: consuming OwnedFD) throws(SystemError) -> OwnedFD {
        let number = socket.rawValue
        try syscall("listen") { negated(Glibc.listen(number, 128)) }
        try socket.setNonblocking(true)
        return socket
    }

    private static func removeStale(_ path: String) throws(SystemError) {
        var status = stat()
        let found = negated(lstat(path, &status))
        if found == -ENOENT { return }
        if found < 0 { throw SystemError(errno: -found, call: "lstat", subject: path) }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SystemError(errno: ENOTSOCK, call: "listen", subject: path)
        }
        if let owner = try listener(of: path) {
            // A child that a killed listener was starting holds the socket until its exec.
            let hasEnded = owner > 0 && Glibc.kill(owner, 0) != 0 && errno == ESRCH
            let deadline = MonotonicTime.now + (hasEnded ? staleTimeout : .zero)
            while try listener(of: path) != nil {
                guard MonotonicTime.now < deadline else {
                    throw SystemError(errno: EADDRINUSE, call: "listen", subject: path)
                }
                usleep(10_000)
            }
        }
        try syscall("unlink", path) { negated(unlink(path)) }
    }

    /// The process that listens on a path, 0 if it is not known; nil if there is no listener.
    private static func listener(of path: String) throws(SystemError) -> pid_t? {
        do throws(SystemError) {
            let connection = try connect(to: path, timeout: .milliseconds(100))
            defer { _ = connection.rawValue }
            return try PeerCredentials(of: connection.rawValue).pid
        } catch {
            // A full backlog (a timeout) means that there is a listener.
            if error.errno == ETIMEDOUT { return 0 }
            if error.errno == ECONNREFUSED { return nil }
            throw error
        }
    }
}

/// The two ends of a socket pair.
@frozen public struct SocketPair: ~Copyable, Sendable {
    /// One end.
    public var first: OwnedFD
    /// The other end.
    public var second: OwnedFD
}

/// The peer of a Unix socket, as the kernel recorded it at connect.
public struct PeerCredentials: Hashable, Sendable {
    /// The process that connected; it may have ended.
    public let pid: Int32
    /// The effective user.
    public let uid: UInt32
    /// The effective group.
    public let gid: UInt32

    /// Reads `SO_PEERCRED` of a connected socket.
    public init(of fd: Int32) throws(SystemError) {
        var (pid, uid, gid): (Int32, UInt32, UInt32) = (0, 0, 0)
        try syscall("getsockopt(SO_PEERCRED)") { chwd_peer_credentials(fd, &pid, &uid, &gid) }
        (self.pid, self.uid, self.gid) = (pid, uid, gid)
    }
}
