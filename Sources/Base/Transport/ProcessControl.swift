// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// Attributes that a process sets for itself.
public enum ProcessControl {
    /// A resource of setrlimit(2).
    public enum Resource: Sendable {
        /// Bytes of a core file.
        case coreSize
        /// Open file descriptors.
        case openFiles
        /// Bytes of address space.
        case addressSpace
        /// Seconds of processor time.
        case processorTime
        /// Bytes of a file that the process writes.
        case fileSize
        /// Processes and threads of the process's user.
        case processes
    }

    /// Confines a process that loads a codec or a driver.
    ///
    /// It gains no privileges by execve, other processes of the user cannot trace it, writes that fail return an error and
    /// raise no signal, and a crash writes no core file, which would hold a client's frames. When the machine's
    /// memory runs out, the kernel kills it before the broker.
    public static func confine() throws(SystemError) {
        ignoreWriteSignals()
        raiseOutOfMemoryScore()
        try setNoNewPrivileges()
        try setDumpable(false)
        try limit(.coreSize, to: 0)
    }

    /// Requests a signal for when the thread that started this process ends; 0 for none.
    ///
    /// - Returns: false if it has already ended, so that `parent` is no longer the parent.
    @discardableResult
    public static func setParentDeathSignal(_ signal: Int32, parent: Int32) throws(SystemError) -> Bool {
        try syscall("prctl(PR_SET_PDEATHSIG)") { chwd_set_parent_death_signal(signal) }
        return getppid() == parent
    }

    /// Withdraws the request for a signal when the parent ends.
    public static func clearParentDeathSignal() throws(SystemError) {
        try syscall("prctl(PR_SET_PDEATHSIG)") { chwd_set_parent_death_signal(0) }
    }

    /// Sends this process SIGALRM, which ends it, after a time rounded up to seconds; replaces an earlier request.
    public static func setAlarm(after time: Duration) {
        alarm(UInt32(clamping: time.components.seconds + (time.components.attoseconds > 0 ? 1 : 0)))
    }

    /// Continues in a child process; the present one exits with status 0 at once.
    ///
    /// Its parent may then end without it, and a service manager takes it for a process of its own. Call it before any
    /// thread starts and before epoll watches signals.
    public static func detach() throws(SystemError) { try syscall("fork") { chwd_detach() } }

    /// Processor time of the calling thread, in nanoseconds.
    public static var threadTime: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Adds to the nice value of the calling thread, and so of those that it starts later; no privilege is needed, and nothing
    /// takes it back without one.
    public static func lowerPriority(by niceness: Int32) throws(SystemError) {
        try syscall("setpriority") { chwd_lower_priority(niceness) }
    }

    /// Sets whether other processes of the user may trace this one and read its memory, and whether it dumps core.
    ///
    /// execve(2) sets it again, so child processes are not affected.
    public static func setDumpable(_ on: Bool) throws(SystemError) {
        try syscall("prctl(PR_SET_DUMPABLE)") { chwd_set_dumpable(on ? 1 : 0) }
    }

    /// Added to the parent's `oom_score_adj`; counts as much as half of the machine's memory, so that the kernel takes
    /// sessions and probes before the broker.
    private static let outOfMemoryScore = 500

    /// Raises `oom_score_adj` (proc(5)); without /proc the kernel decides by size alone.
    ///
    /// The file can be opened only while the process is dumpable.
    private static func raiseOutOfMemoryScore() {
        let number = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC)
        guard number >= 0 else { return }
        let file = OwnedFD(number)
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(file.rawValue, &bytes, bytes.count, 0)
        let digits = bytes.prefix(max(count, 0)).prefix { $0 == UInt8(ascii: "-") || 0x30...0x39 ~= $0 }
        let present = Int(String(decoding: digits, as: UTF8.self)) ?? 0
        let text = Array("\(min(present + outOfMemoryScore, 1000))".utf8)
        _ = write(file.rawValue, text, text.count)
    }

    /// Permanently prevents execve from granting privileges (PR_SET_NO_NEW_PRIVS).
    private static func setNoNewPrivileges() throws(SystemError) {
        try syscall("prctl(PR_SET_NO_NEW_PRIVS)") { chwd_set_no_new_privileges() }
    }

    /// Sets a resource's soft and hard limit to one value.
    public static func limit(_ resource: Resource, to value: UInt64) throws(SystemError) {
        try limit(resource, soft: value, hard: value)
    }

    /// Sets a resource's soft and hard limit.
    public static func limit(_ resource: Resource, soft: UInt64, hard: UInt64) throws(SystemError) {
        try syscall("setrlimit") { chwd_set_limit(resource.number, soft, hard) }
    }

    /// Raises a resource's soft limit to its hard limit.
    ///
    /// - Returns: the limit; nil where there is none.
    @discardableResult
    public static func raiseLimit(_ resource: Resource) throws(SystemError) -> UInt64? {
        var hard: UInt64 = 0
        try syscall("setrlimit") { chwd_raise_limit(resource.number, &hard) }
        return hard == .max ? nil : hard
    }

    /// Ignores SIGPIPE and SIGXFSZ: a write to a closed pipe fails with `EPIPE` instead, and one beyond the limit of file
    /// sizes, which shared memory has too, with `EFBIG`.
    public static func ignoreWriteSignals() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }
}

extension ProcessControl.Resource {
    fileprivate var number: Int32 {
        switch self {
        case .coreSize: Int32(CHWD_RLIMIT_CORE)
        case .openFiles: Int32(CHWD_RLIMIT_NOFILE)
        case .addressSpace: Int32(CHWD_RLIMIT_AS)
        case .processorTime: Int32(CHWD_RLIMIT_CPU)
        case .fileSize: Int32(CHWD_RLIMIT_FSIZE)
        case .processes: Int32(CHWD_RLIMIT_NPROC)
        }
    }
}
