// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem
internal import HWDTransport

/// The service manager that started the daemon, if one did: the socket it passed, and its notification socket.
///
/// Implements the protocols of sd_listen_fds(3), sd_notify(3) and sd_watchdog_enabled(3) without libsystemd.
final class ServiceManager {
    /// The interval of watchdog pings; nil if it expects none.
    let watchdogInterval: Duration?
    /// The listening socket that was passed; nil if none was.
    let listener: Int32?
    /// Kept open, so that a full descriptor table does not prevent watchdog pings.
    private let socket: Int32
    private let address: [UInt8]
    /// What a daemon that replaces this one needs to notify the manager.
    let environment: [String: String]
    /// Whether another daemon notifies it from now on.
    private var isReleased = false

    /// Reads the variables and removes them from the environment, so that no worker acts on them.
    ///
    /// - Throws: `EINVAL` if more than one socket was passed.
    init() throws(SystemError) {
        let names = [
            "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
        ]
        let values = names.map { Environment.value($0) }
        for name in names { unsetenv(name) }
        let own = "\(getpid())"
        // Not the process number, which is this one's; the manager knows it from MAINPID=.
        environment = [("NOTIFY_SOCKET", values[3]), ("WATCHDOG_USEC", values[4])].reduce(into: [:]) {
            $0[$1.0] = $1.1
        }

        let passed = values[1] == own ? values[0].flatMap { Int32($0) } ?? 0 : 0
        guard 0...1 ~= passed else {
            throw SystemError(
                errno: EINVAL, call: "listen", subject: "the \(passed) sockets of LISTEN_FDS: only one is supported"
            )
        }
        listener = passed == 1 ? 3 : nil

        // Paths and, after @, names in the abstract namespace; sd_notify's other address kinds are not local.
        address = values[3].map { Array($0.utf8) }.flatMap { $0[0] == 0x2f || $0[0] == 0x40 ? $0 : nil } ?? []
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let number = address.isEmpty ? -1 : Glibc.socket(AF_UNIX, kind, 0)
        socket = number

        let isWatched = values[5] == nil || values[5] == own
        let period = isWatched ? values[4].flatMap { Int64($0) } ?? 0 : 0
        // Half of WATCHDOG_USEC, as sd_watchdog_enabled(3) recommends.
        watchdogInterval = period > 1 && number >= 0 ? .microseconds(period / 2) : nil
    }

    /// Sends nothing more, because another daemon does.
    func release() { isReleased = true }

    deinit { if socket >= 0 { close(socket) } }

    /// Sends assignments such as `READY=1`; dropped if the socket is full, because the broker must not block.
    func notify(_ lines: String...) {
        guard socket >= 0, !isReleased else { return }
        let message = lines.joined(separator: "\n")
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let capacity = MemoryLayout.size(ofValue: name.sun_path)
        guard address.count < capacity else { return }
        withUnsafeMutableBytes(of: &name.sun_path) { path in
            path.copyBytes(from: address)
            if address[0] == 0x40 { path[0] = 0 }
        }
        let isAbstract = address[0] == 0x40
        let length = MemoryLayout<sockaddr_un>.size - capacity + address.count + (isAbstract ? 0 : 1)
        _ = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { base in
                message.withCString {
                    sendto(socket, $0, strlen($0), Int32(MSG_NOSIGNAL), base, socklen_t(length))
                }
            }
        }
    }
}
