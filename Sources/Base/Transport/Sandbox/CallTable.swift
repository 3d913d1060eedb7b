// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDWire

/// The system calls that a process may make.
struct CallTable: Sendable {
    var rows: [CallRow]
    /// The rule for calls without a row.
    var otherwise: CallRule

    /// From the start of a process on, before its session is known: what no codec and no driver needs.
    ///
    /// - Parameter process: this process's number, the only one that it may signal.
    static func start(process: Int32) -> CallTable {
        CallTable(
            rows: ended.map { CallRow($0, .end) } + [
                CallRow("socket", .forbid(EACCES), [(.int(0, is: AF_UNIX), .allow)]),
                CallRow("socketpair", .forbid(EACCES), [(.int(0, is: AF_UNIX), .allow)]),
                CallRow("kill", .forbid(EPERM), [(.int(0, is: process), .allow)]),
                CallRow("tgkill", .forbid(EPERM), [(.int(0, is: process), .allow)]),
                CallRow("tkill", .forbid(EPERM)),
                CallRow("rt_sigqueueinfo", .forbid(EPERM), [(.int(0, is: process), .allow)]),
                CallRow("rt_tgsigqueueinfo", .forbid(EPERM), [(.int(0, is: process), .allow)]),
                CallRow("pidfd_send_signal", .forbid(EPERM)),
                CallRow("pidfd_getfd", .forbid(EPERM)),
                CallRow("fork", .forbid(EPERM)),
                CallRow("vfork", .forbid(EPERM)),
                // glibc then uses clone, whose flags are an argument.
                CallRow("clone3", .refuse(ENOSYS)),
                CallRow("clone", .forbid(EPERM), [(.bits(0, cloneThread), .allow)]),
            ], otherwise: .allow)
    }

    /// From the session's assignment on; the rules of `start` hold as well.
    ///
    /// - Parameters:
    ///   - changesFolders: whether a driver may make and remove files where the rules for files allow it.
    ///   - runsCUDA: whether a driver may listen on a socket.
    static func session(
        _ policy: SandboxRequest.Policy, changesFolders: Bool = false, runsCUDA: Bool = false
    ) -> CallTable {
        var rows = always.map { CallRow($0, .allow) }
        switch policy {
        case .codec: rows += codec
        case .driver:
            rows += driver
            rows += changes.map { CallRow($0, changesFolders ? .allow : .refuse(EACCES)) }
        }
        // The C library asks the name service cache through sockets, and copes without.
        rows.append(CallRow("socket", .refuse(EACCES), runsCUDA ? [(listening, .allow)] : []))
        if runsCUDA { rows += ["bind", "listen", "accept4"].map { CallRow($0, .allow) } }
        // Before version 3, Landlock does not restrict O_TRUNC, which could empty a file that may only be read.
        // Opening a file for writing needs the right to write.
        let emptying = CallRule.refuse(EACCES)
        rows += [("open", 1), ("openat", 2)].map { name, flags in
            // The access mode 3 gives a descriptor that can neither read nor write, and Landlock asks for no right.
            let tests: [ArgumentTest] =
                changesFolders
                ? [O_RDONLY, O_ACCMODE].map { .bits(flags, of: O_TRUNC | O_ACCMODE, are: O_TRUNC | $0) }
                : [.bits(flags, O_TRUNC)]
            return CallRow(name, .allow, tests.map { ($0, emptying) })
        }
        // Of two filters that trap, the last one decides how.
        return CallTable(rows: rows + restricted + ended.map { CallRow($0, .end) }, otherwise: .forbid(ENOSYS))
    }

    /// Calls that start programs, or reach into other processes or the system.
    private static let ended = [
        "execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
        "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount",
        "fspick",
        "mount_setattr", "unshare", "setns", "bpf", "perf_event_open", "io_uring_setup", "io_uring_enter",
        "io_uring_register", "userfaultfd", "keyctl", "add_key", "request_key", "init_module", "finit_module",
        "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "open_by_handle_at",
        "name_to_handle_at", "acct", "quotactl", "settimeofday", "clock_settime", "sethostname", "setdomainname",
        "syslog", "iopl", "ioperm", "modify_ldt", "vhangup", "migrate_pages", "move_pages", "lookup_dcookie",
        "fanotify_init", "memfd_secret",
    ]

    /// Calls of every session.
    ///
    /// The most frequent come first, because a filter compares in this order.
    private static let always = [
        "futex", "recvmsg", "sendmsg", "epoll_wait", "epoll_pwait", "munmap", "madvise", "clock_gettime",
        "sched_yield",
        "read", "write", "writev", "close", "fstat", "newfstatat", "stat", "lstat", "statx", "lseek", "pread64",
        "brk",
        "mremap", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd",
        "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "sigaltstack", "getpid", "gettid",
        "getppid", "getuid", "geteuid", "getgid", "getegid", "exit", "exit_group", "set_robust_list", "rseq",
        "set_tid_address", "membarrier", "restart_syscall", "nanosleep", "clock_nanosleep", "clock_getres",
        "gettimeofday", "getrandom", "getcpu", "uname", "sysinfo", "getrusage", "pause", "poll", "ppoll",
        "epoll_create1",
        "epoll_ctl", "eventfd2", "timerfd_create", "timerfd_settime", "pipe2", "dup", "dup2", "dup3",
        "recvfrom", "sendto", "setsockopt", "getsockopt", "shutdown", "memfd_create", "ftruncate", "fallocate",
        "sched_getaffinity", "sched_getscheduler", "sched_getparam", "sched_get_priority_max",
        "sched_get_priority_min", "getpriority", "get_mempolicy", "set_mempolicy", "mbind", "alarm",
        "setitimer", "close_range", "mincore", "mlock", "tgkill", "kill", "landlock_create_ruleset",
        "landlock_add_rule", "landlock_restrict_self", "seccomp", "clone", "clone3",
    ]

    /// Calls whose arguments decide, or that fail without harm, under both policies.
    private static let restricted = [
        CallRow("prctl", .forbid(EPERM), allowedProcessControls.map { (.int(0, is: $0), .allow) }),
        // Reading a limit; a new one needs the third argument.
        CallRow("prlimit64", .forbid(EPERM), [(.isZero(2), .allow)]),
        CallRow("getrlimit", .allow),
        // F_SETOWN, F_SETSIG and F_SETOWN_EX make the kernel signal another process.
        CallRow("fcntl", .allow, [8, 10, 15].map { (.int(1, is: $0), .forbid(EPERM)) }),
        // Of the calling thread only; the C library names other threads by their numbers, and copes with the failure.
        CallRow("sched_setaffinity", .refuse(EPERM), [(.int(0, is: 0), .allow)]),
        // PRIO_PGRP and PRIO_USER reach other processes.
        CallRow(
            "setpriority", .refuse(EPERM),
            [(.int(0, is: 1), .refuse(EPERM)), (.int(0, is: 2), .refuse(EPERM)), (.int(1, is: 0), .allow)]),
        // A class of the scheduler for the calling thread; those that come before others need a privilege.
        CallRow("sched_setscheduler", .refuse(EPERM), [(.int(0, is: 0), .allow)]),
        CallRow("connect", .refuse(EACCES)),
    ]

    /// No memory becomes executable and nothing is loaded, so that written bytes never run.
    private static let codec =
        ["mmap", "mprotect"].map { CallRow($0, .allow, [(.bits(2, PROT_EXEC), .forbid(EACCES))]) }
        // A stream's buffering depends on whether it is a terminal. Pictures in dma-bufs and their fences: DMA_BUF_IOCTL_SYNC,
        // SYNC_IOC_FILE_INFO.
        + [
            CallRow(
                "ioctl", .refuse(ENOTTY),
                [(.int(1, is: 0x4008_6200), .allow), (.int(1, is: Int32(bitPattern: 0xc038_3e04)), .allow)]),
            CallRow("fstatfs", .allow),
        ]

    /// Drivers load libraries, compile shaders and list directories.
    private static let driver =
        [
            "mmap", "mprotect", "getdents64", "statfs", "fstatfs", "flock", "kcmp", "sched_getattr",
            "inotify_init1", "inotify_add_watch", "inotify_rm_watch", "times",
            "pkey_alloc", "pkey_free", "pkey_mprotect", "msync", "getresuid", "getresgid", "getgroups",
        ].map { CallRow($0, .allow) }
        // FIOSETOWN and SIOCSPGRP make the kernel signal another process; TIOCSTI and TIOCLINUX type into a terminal that the
        // process inherited, which no version of Landlock prevents.
        + [CallRow("ioctl", .allow, [0x8901, 0x8902, 0x5412, 0x541c].map { (.int(1, is: $0), .forbid(EPERM)) })]
        + [CallRow("sched_setattr", .refuse(EPERM), [(.int(0, is: 0), .allow)])]
        // Intel's driver (iHD, mos_os.c) does not start without the semaphore and the 12 bytes, under a key of its own, by which
        // its processes share the load of two video engines.
        + [
            CallRow("semget", .forbid(EACCES), [(.int(0, is: videoEngineKey), .allow)]),
            // A page at most: a larger one would be memory that no limit of the process counts.
            CallRow("shmget", .forbid(EACCES), [(.int(0, is: videoEngineKey).and(.isBelow(1, bits: 12)), .allow)]),
        ]
        + ["semop", "semtimedop", "semctl", "shmat", "shmdt", "shmctl"].map { CallRow($0, .allow) }
        // NVIDIA's driver tries to link its device nodes in /dev/char, and works without the links. Disk caches try
        // to set modes and times of their files, which no version of Landlock restricts.
        + ["symlink", "symlinkat", "chmod", "fchmod", "fchmodat", "utimensat"].map { CallRow($0, .refuse(EACCES)) }

    /// The arguments of a socket that can only listen, because `connect` is refused.
    ///
    /// CUDA does not start without one: other processes of its user ask for its memory there (`@cuda-uvmfd-NAMESPACE-PROCESS`).
    private static let listening = ArgumentTest.int(0, is: AF_UNIX)
        .and(.bits(1, of: 0xf, are: Int32(SOCK_SEQPACKET.rawValue)))

    /// Calls that a cache on disk needs.
    private static let changes = [
        "mkdir", "mkdirat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "fsync", "fdatasync",
    ]

    /// The first arguments of prctl (linux/prctl.h): PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_SET_NAME,
    /// PR_GET_NAME, PR_CAPBSET_READ, PR_SET_TIMERSLACK, PR_SET_NO_NEW_PRIVS, PR_SET_VMA.
    private static let allowedProcessControls: [Int32] = [1, 3, 4, 15, 16, 23, 29, 38, 0x5356_4d41]
    /// The key of the semaphore and the shared memory of Intel's driver (`DUAL_VDBOX_KEY` of iHD's mos_os.c).
    private static let videoEngineKey: Int32 = 0x4400_5658
    /// CLONE_THREAD of linux/sched.h.
    private static let cloneThread: Int32 = 0x10000

    /// What a call is for, for a sentence after "tried to"; nil for calls without a note.
    static func purpose(of name: String) -> String? {
        purposes.first { $0.names.contains(name) }?.purpose
    }

    private static let purposes: [(names: Set<String>, purpose: String)] = [
        (["execve", "execveat"], "start a program"),
        (["fork", "vfork", "clone"], "start a process"),
        (["socket", "socketpair", "connect", "bind"], "open a socket"),
        (["ptrace", "process_vm_readv", "process_vm_writev"], "read another process"),
        (["kill", "tkill", "tgkill", "rt_sigqueueinfo", "pidfd_send_signal"], "signal another process"),
        (["mmap", "mprotect"], "run generated code"),
        (["semget", "shmget"], "share memory with other processes"),
        (["mount", "umount2", "move_mount", "fsmount"], "mount a file system"),
        (["unshare", "setns"], "leave its namespaces"),
        (
            ["bpf", "perf_event_open", "io_uring_setup", "userfaultfd", "keyctl"],
            "use a forbidden part of the kernel"
        ),
    ]
}
