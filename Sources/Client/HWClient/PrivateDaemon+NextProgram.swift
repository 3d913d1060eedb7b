// SPDX-License-Identifier: MIT
internal import Glibc
package import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import Synchronization

// A private daemon that starts while the program that needs it is still being loaded: `hwctl` starts it and executes
// `hwctl-media`. Execution keeps the process, its children and the end of the lifetime socket, so that the daemon ends as any
// private one does.

extension Daemon {
    /// Starts a private daemon where `find()` would, for the program that this process executes next.
    ///
    /// Failures are left to that program, whose `find()` meets them again. For a process with one thread: the environment and
    /// close-on-exec change.
    /// - Parameters:
    ///   - kind: of the first session.
    ///   - logs: as of `find(logs:)`.
    package static func startForNextProgram(expecting kind: SessionKind, logs: Bool) {
        guard Environment.value("HWDAEMON_SOCKET") == nil else { return }
        do throws(ClientError) {
            _ = try Daemon(address: defaultAddress).connect()
        } catch {
            guard error.code == .notRunning else { return }
            try? PrivateDaemon(expecting: kind, isVerbose: logs).handOver()
        }
    }

    /// Takes over the daemon that the program before has started, which the next `find()` returns.
    ///
    /// A variable that names no daemon of this process has no effect. For a process with one thread: the environment changes.
    package static func takeOverStarted() { PrivateDaemon.takeOverStarted() }
}

extension PrivateDaemon {
    /// The process, this process's end of the lifetime socket, and the address, separated by spaces.
    private static let variable = "HWDAEMON_STARTED"
    private static let started = Mutex<PrivateDaemon?>(nil)

    /// Lets the next program take this daemon over; it ends with this process from now on.
    fileprivate consuming func handOver() {
        guard fcntl(lifetime.rawValue, F_SETFD, 0) == 0 else { return }
        setenv(Self.variable, "\(child.pid) \(lifetime.rawValue) \(address)", 1)
        // The next program has it.
        _ = Unmanaged.passRetained(self)
    }

    fileprivate static func takeOverStarted() {
        guard let text = Environment.value(variable) else { return }
        // Not for this process's children.
        unsetenv(variable)
        let daemon = try? PrivateDaemon(started: text)
        started.withLock { $0 = daemon }
    }

    /// The daemon that was taken over; nil from the second call on.
    static func takeStarted() -> PrivateDaemon? {
        started.withLock { daemon in
            defer { daemon = nil }
            return daemon
        }
    }

    /// Takes a daemon over if this process has started it; anyone can set the variable.
    private convenience init?(started text: String) throws(SystemError) {
        let parts = text.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let pid = Int32(parts[0]), let end = Int32(parts[1]), end > STDERR_FILENO,
            parts[2].hasPrefix("@") || parts[2].hasPrefix("/"), parts[2].utf8.count < 108
        else { return nil }
        // Of a socket pair, this is the process that made it.
        let maker = try PeerCredentials(of: end)
        guard maker.pid == getpid(), maker.uid == geteuid() else { return nil }
        let child = try ChildProcess(adopting: pid)
        guard try child.tryReap() == nil else { return nil }
        let lifetime = OwnedFD(end)
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        self.init(child, lifetime: lifetime, address: String(parts[2]))
    }
}
