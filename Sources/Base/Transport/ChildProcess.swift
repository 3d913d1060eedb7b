// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// A child process and its pidfd, which identifies it even after its process number was reused.
///
/// Deallocating this object does not affect the child; the caller must reap it.
public final class ChildProcess: @unchecked Sendable {
    /// How a process ended.
    public enum Exit: Hashable, Sendable, CustomStringConvertible {
        /// It called exit with a status of 0…255.
        case exited(Int32)
        /// A signal ended it.
        case signaled(Int32)

        /// `exited with status N` or `killed by signal N`.
        public var description: String {
            switch self {
            case .exited(let status): "exited with status \(status)"
            case .signaled(let signal): "killed by signal \(signal)"
            }
        }
    }

    /// One of the child's descriptors: its number in this process and in the child.
    public struct File: Hashable, Sendable {
        /// The descriptor in this process; the caller keeps ownership.
        public let source: Int32
        /// Its number in the child.
        public let target: Int32

        /// Passes `source` to the child as `target`.
        public init(_ source: Int32, as target: Int32) {
            self.source = source
            self.target = target
        }
    }

    /// The process group and session (credentials(7)) of a child.
    public enum Group: Sendable {
        /// Its parent's.
        case inherited
        /// A group of its own, which signals of the terminal's keys do not reach. In the parent's session, so that the kernel
        /// compares their nice values (sched(7), autogroups).
        case own
        /// A session of its own, which no signal of the terminal's reaches.
        case session

        fileprivate var number: Int32 {
            switch self {
            case .inherited: Int32(CHWD_GROUP_INHERITED)
            case .own: Int32(CHWD_GROUP_OWN)
            case .session: Int32(CHWD_GROUP_SESSION)
            }
        }
    }

    /// The child's process number.
    public let pid: Int32
    private let pidfd: OwnedFD
    private let lock = Lock()
    private var known: Exit?

    /// Starts an executable with default signals, an empty signal mask, and no descriptors but 0, 1, 2 and `files`.
    ///
    /// - Parameters:
    ///   - executable: its path; PATH is not searched.
    ///   - arguments: without the program's own name, which is `executable`.
    ///   - environment: added to this process's environment; an empty value sets an empty variable.
    ///   - files: descriptors for the child; distinct targets below 256. 0, 1 and 2 are inherited unless named.
    ///   - group: which processes the child belongs to.
    /// - Throws: `ENOENT`, `EACCES`, `EAGAIN`, `EMFILE`, …; `EINVAL` for a target out of range or repeated.
    public init(
        spawning executable: String, arguments: [String] = [], environment: [String: String] = [:],
        files: [File] = [], group: Group = .inherited
    ) throws(SystemError) {
        let targets = files.map(\.target)
        guard targets.allSatisfy({ 0..<256 ~= $0 }), Set(targets).count == targets.count else {
            throw SystemError(errno: EINVAL, call: "posix_spawn", subject: executable)
        }
        let window = max(3, (targets.max() ?? 0) + 1)
        // Sources move above the window first, so that no dup2 overwrites one that is needed later.
        var moved: [Int32] = []
        defer { for number in moved { _ = OwnedFD(number) } }
        for file in files { moved.append(try OwnedFD.duplicate(file.source, atLeast: window).take()) }

        // Reserves the pidfd's number: if descriptors run out, this fails before a child exists.
        let reserved = OwnedFD(try syscall("eventfd") { chwd_eventfd() })

        let argv = CStrings([executable] + arguments)
        let envp = CStrings(Self.environment(adding: environment))
        var child: pid_t = 0
        try syscall("posix_spawn", executable) {
            chwd_spawn(
                &child, executable, argv.pointers, envp.pointers, moved, targets, files.count, window,
                group.number)
        }
        pid = child
        _ = consume reserved
        do throws(SystemError) {
            // The child is not reaped yet, so its number cannot have been reused.
            pidfd = OwnedFD(try syscall("pidfd_open") { chwd_pidfd_open(child) })
        } catch {
            Glibc.kill(child, SIGKILL)
            waitpid(child, nil, 0)
            throw error
        }
    }

    /// A child that this process has started before it executed its present program.
    ///
    /// - Throws: `ESRCH` or `ECHILD` if the process is no child of this one.
    public init(adopting pid: Int32) throws(SystemError) {
        guard pid > 0 else { throw SystemError(errno: ESRCH, call: "pidfd_open") }
        self.pid = pid
        pidfd = OwnedFD(try syscall("pidfd_open") { chwd_pidfd_open(pid) })
        _ = try tryReap()
    }

    /// The pidfd, readable once the child has ended; valid as long as this object exists.
    public var fileDescriptor: Int32 { pidfd.rawValue }

    /// How the child ended, nil while it runs; the first result reaps it, later calls repeat the result.
    public func tryReap() throws(SystemError) -> Exit? {
        lock.lock()
        defer { lock.unlock() }
        if let known { return known }
        var signaled: Int32 = 0
        var status: Int32 = 0
        let number = pidfd.rawValue
        if try syscall("waitid", nil, { chwd_pidfd_wait(number, 0, &signaled, &status) }) == 1 {
            known = signaled != 0 ? .signaled(status) : .exited(status)
        }
        return known
    }

    /// Waits until the child has ended and reaps it.
    ///
    /// - Returns: nil at the deadline; a nil deadline waits forever.
    public func wait(until deadline: MonotonicTime? = nil) throws(SystemError) -> Exit? {
        guard try HWDTransport.wait(pidfd.rawValue, for: POLLIN, until: deadline) else { return nil }
        return try tryReap()
    }

    /// Sends a signal; it is no error if the child has ended.
    public func kill(_ signal: Int32) throws(SystemError) {
        let number = pidfd.rawValue
        do throws(SystemError) {
            try syscall("pidfd_send_signal") { chwd_pidfd_send_signal(number, signal) }
        } catch {
            if error.errno != ESRCH { throw error }
        }
    }

    /// Limits the private memory of the child (RLIMIT_DATA) to a number of bytes, which a later call may raise.
    ///
    /// Set from outside, because a sandboxed process may not change its limits.
    public func limitPrivateMemory(to bytes: UInt64) throws(SystemError) {
        lock.lock()
        defer { lock.unlock() }
        // A reaped child's number may be another process's.
        guard known == nil else { return }
        try syscall("prlimit(RLIMIT_DATA)") { chwd_limit_data(pid, bytes) }
    }

    private static func environment(adding additions: [String: String]) -> [String] {
        var lines: [String] = []
        var next = chwd_environ()
        while let entry = next?.pointee {
            let line = String(cString: entry)
            if additions[String(line.prefix { $0 != "=" })] == nil { lines.append(line) }
            next = next?.successor()
        }
        return lines + additions.map { "\($0.key)=\($0.value)" }
    }
}

/// A NULL-terminated array of C strings.
private final class CStrings {
    var pointers: [UnsafeMutablePointer<CChar>?]

    init(_ strings: [String]) { pointers = strings.map { strdup($0) } + [nil] }

    deinit { for pointer in pointers { free(pointer) } }
}
