// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDLinux
import Glibc
import HWDSystem
import HWDWire
import Testing

@testable import HWDTransport

/// Runs a filter as the kernel does, on the bytes of a `struct seccomp_data`; classic BPF as in Documentation/networking/filter.
private func run(
    _ program: FilterProgram, call: UInt32, arguments: [UInt64] = [], architecture: UInt32 = 0xc000_003e
) throws -> UInt32 {
    var data = [UInt32](repeating: 0, count: 16)
    (data[0], data[1]) = (call, architecture)
    for (index, argument) in arguments.enumerated() {
        data[4 + 2 * index] = UInt32(truncatingIfNeeded: argument)
        data[5 + 2 * index] = UInt32(truncatingIfNeeded: argument >> 32)
    }
    var (accumulator, next) = (UInt32(0), 0)
    while true {
        try #require(next < program.instructions.count)
        let instruction = program.instructions[next]
        next += 1
        let operand = instruction.operand
        switch instruction.code {
        case 0x20:
            try #require(operand % 4 == 0 && operand < 64)
            accumulator = data[Int(operand / 4)]
        case 0x54: accumulator &= operand
        case 0x15: next += Int(accumulator == operand ? instruction.jumpTrue : instruction.jumpFalse)
        case 0x35: next += Int(accumulator >= operand ? instruction.jumpTrue : instruction.jumpFalse)
        case 0x06: return operand
        default:
            Issue.record("an instruction that no filter has: \(instruction)")
            return 0
        }
    }
}

private let killProcess: UInt32 = 0x8000_0000
private let allow: UInt32 = 0x7fff_0000
private let log: UInt32 = 0x7ffc_0000
private let trap: UInt32 = 0x0003_0000
private let ending: UInt32 = 0x0003_8000
private func errno(_ number: Int32) -> UInt32 { 0x0005_0000 | UInt32(number) }

/// The numbers of system calls on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl), whatever this machine is.
private let numbers: [String: UInt32] = [
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "poll": 7, "lseek": 8, "mmap": 9,
    "mprotect": 10,
    "munmap": 11, "ioctl": 16, "access": 21, "socket": 41, "connect": 42, "sendmsg": 46, "recvmsg": 47, "bind": 49,
    "listen": 50, "accept4": 288,
    "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "kill": 62, "rename": 82, "fcntl": 72, "mkdir": 83,
    "setpriority": 141, "sched_setaffinity": 203, "unlink": 87,
    "shmget": 29, "semget": 64, "ptrace": 101, "prctl": 157, "mount": 165, "futex": 202, "tgkill": 234,
    "openat": 257, "unshare": 272,
    "prlimit64": 302, "process_vm_readv": 310, "memfd_create": 319, "bpf": 321, "execveat": 322, "userfaultfd": 323,
    "io_uring_setup": 425, "clone3": 435,
]

@Suite struct SandboxTests {
    private func program(_ table: CallTable, onlyReports: Bool = false) -> FilterProgram {
        FilterProgram(table, architecture: 0xc000_003e, onlyReports: onlyReports) { numbers[$0] }
    }

    private func call(_ name: String, _ arguments: UInt64..., in program: FilterProgram) throws -> UInt32 {
        try run(program, call: try #require(numbers[name]), arguments: arguments)
    }

    @Test("From its start on, a process starts no program, reaches no other process and no network")
    func start() throws {
        let program = program(.start(process: 4711))
        for name in [
            "execve", "execveat", "ptrace", "mount", "bpf", "io_uring_setup", "userfaultfd", "unshare",
            "process_vm_readv",
        ] {
            #expect(try call(name, in: program) == ending, "\(name)")
        }
        for name in ["read", "openat", "ioctl", "mmap", "futex"] {
            #expect(try call(name, in: program) == allow, "\(name)")
        }
        // AF_UNIX, AF_INET, AF_NETLINK; an int, of which the kernel ignores the upper half.
        #expect(try call("socket", 1, in: program) == allow)
        #expect(try call("socket", 1 | 7 << 32, in: program) == allow)
        #expect(try call("socket", 2, in: program) == trap | UInt32(EACCES))
        #expect(try call("socket", 16, in: program) == trap | UInt32(EACCES))
        #expect(try call("kill", 4711, 6, in: program) == allow)
        for other: UInt64 in [0, 1, 4712, 0xffff_ffff, UInt64(bitPattern: -1)] {
            #expect(try call("kill", other, 9, in: program) == trap | UInt32(EPERM))
        }
        // The flags of pthread_create, and those of fork.
        #expect(try call("clone", 0x3d0f00, in: program) == allow)
        #expect(try call("clone", 0x0120_0011, in: program) == trap | UInt32(EPERM))
        #expect(try call("fork", in: program) == trap | UInt32(EPERM))
        #expect(try call("clone3", in: program) == errno(ENOSYS))
    }

    @Test("A session makes the calls of its policy and no others")
    func session() throws {
        let (codec, driver) = (program(.session(.codec)), program(.session(.driver)))
        for program in [codec, driver] {
            for name in ["futex", "recvmsg", "sendmsg", "openat", "memfd_create", "munmap"] {
                #expect(try call(name, in: program) == allow, "\(name)")
            }
            #expect(try call("execve", in: program) == ending)
            // Not in the table: bind, and numbers that no kernel has.
            #expect(try call("bind", in: program) == trap | UInt32(ENOSYS))
            #expect(try run(program, call: 9999) == trap | UInt32(ENOSYS))
            #expect(try call("socket", 1, in: program) == errno(EACCES))
            // PR_SET_NAME, PR_SET_MM.
            #expect(try call("prctl", 15, in: program) == allow)
            #expect(try call("prctl", 35, in: program) == trap | UInt32(EPERM))
            // A limit is read, not set; pointers have 64 bits.
            #expect(try call("prlimit64", 0, 3, 0, 1 << 40, in: program) == allow)
            #expect(try call("prlimit64", 0, 3, 1 << 40, 0, in: program) == trap | UInt32(EPERM))
        }
        // PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC.
        for name in ["mmap", "mprotect"] {
            #expect(try call(name, 0, 4096, 3, in: codec) == allow)
            #expect(try call(name, 0, 4096, 5, in: codec) == trap | UInt32(EACCES))
            #expect(try call(name, 0, 4096, 5, in: driver) == allow)
        }
        #expect(try call("ioctl", in: codec) == errno(ENOTTY))
        #expect(try call("ioctl", in: driver) == allow)
        #expect(try call("mkdir", in: codec) == trap | UInt32(ENOSYS))
        #expect(try call("mkdir", in: driver) == errno(EACCES))
        let caching = program(.session(.driver, changesFolders: true))
        #expect(try call("mkdir", in: caching) == allow)
    }

    @Test(
        "A session signals no other process, changes no other's scheduling, types into no terminal and empties no file"
    )
    func arguments() throws {
        let (codec, driver) = (program(.session(.codec)), program(.session(.driver)))
        let caching = program(.session(.driver, changesFolders: true))
        for program in [codec, driver] {
            // F_GETFL; F_SETOWN, F_SETSIG, F_SETOWN_EX.
            #expect(try call("fcntl", 7, 3, in: program) == allow)
            for command: UInt64 in [8, 10, 15] {
                #expect(try call("fcntl", 7, command, in: program) == trap | UInt32(EPERM))
            }
            #expect(try call("sched_setaffinity", 0, in: program) == allow)
            #expect(try call("sched_setaffinity", 4711, in: program) == errno(EPERM))
            // PRIO_PROCESS of the caller and of another, PRIO_USER of the caller.
            #expect(try call("setpriority", 0, 0, 5, in: program) == allow)
            #expect(try call("setpriority", 0, 4711, 5, in: program) == errno(EPERM))
            #expect(try call("setpriority", 2, 0, 5, in: program) == errno(EPERM))
        }
        // FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX.
        for command: UInt64 in [0x8901, 0x8902, 0x5412, 0x541c] {
            #expect(try call("ioctl", 7, command, in: driver) == trap | UInt32(EPERM))
        }
        // iHD's key, and another.
        for name in ["semget", "shmget"] {
            #expect(try call(name, 0x4400_5658, 12, in: driver) == allow)
            #expect(try call(name, 0x4400_5659, 12, in: driver) == trap | UInt32(EACCES))
            #expect(try call(name, 0x4400_5658, 12, in: codec) == trap | UInt32(ENOSYS))
        }
        for size: UInt64 in [4096, 1 << 30, 1 << 32] {
            #expect(try call("shmget", 0x4400_5658, size, in: driver) == trap | UInt32(EACCES), "\(size)")
        }
        // O_RDONLY and O_WRONLY with O_TRUNC; Landlock has a right for it from version 3 on.
        for flags: UInt64 in [0o1000, 0o1001] {
            for program in [codec, driver] {
                #expect(try call("openat", 0, 0, flags, in: program) == errno(EACCES))
                #expect(try call("open", 0, flags, in: program) == errno(EACCES))
            }
        }
        // What is opened for writing needs the right to write; what may only be read is not emptied either.
        for flags: UInt64 in [0o1000, 0o1003] {
            #expect(try call("openat", 0, 0, flags, in: caching) == errno(EACCES))
        }
        for flags: UInt64 in [0o1001, 0o1002, 0o1102] {
            #expect(try call("openat", 0, 0, flags, in: caching) == allow)
        }
        #expect(try call("openat", 0, 0, 0o2, in: driver) == allow)
    }

    @Test("CUDA listens on a socket, and neither it nor any other driver connects one")
    func listening() throws {
        let (cuda, driver) = (program(.session(.driver, runsCUDA: true)), program(.session(.driver)))
        // SOCK_SEQPACKET | SOCK_CLOEXEC of AF_UNIX; then SOCK_STREAM, SOCK_DGRAM, AF_INET and AF_NETLINK.
        #expect(try call("socket", 1, 0o2000005, in: cuda) == allow)
        for (domain, type): (UInt64, UInt64) in [(1, 1), (1, 0o2000002), (2, 5), (16, 3)] {
            #expect(try call("socket", domain, type, in: cuda) == errno(EACCES), "\(domain), \(type)")
        }
        #expect(try call("socket", 1, 0o2000005, in: driver) == errno(EACCES))
        for name in ["bind", "listen", "accept4"] {
            #expect(try call(name, in: cuda) == allow, "\(name)")
            #expect(try call(name, in: driver) == trap | UInt32(ENOSYS), "\(name)")
        }
        for program in [cuda, driver] { #expect(try call("connect", in: program) == errno(EACCES)) }
    }

    @Test("Calls of another architecture end the process, and a mode that reports lets all others through")
    func modes() throws {
        for table in [CallTable.start(process: 1), .session(.codec), .session(.driver)] {
            let program = program(table)
            #expect(try run(program, call: 0, architecture: 0x4000_0003) == killProcess)
            // x32: bit 30.
            #expect(try run(program, call: 0x4000_0000) == killProcess)
            let reporting = self.program(table, onlyReports: true)
            #expect(try call("execve", in: reporting) == log)
            #expect(try call("read", in: reporting) == allow)
            #expect(try call("clone3", in: reporting) == allow)
        }
    }

    @Test("Every name of the tables is a system call, in one row")
    func names() {
        for table in [CallTable.start(process: 1), .session(.codec), .session(.driver, runsCUDA: true)] {
            #expect(Set(table.rows.map(\.name)).count == table.rows.count)
            for row in table.rows {
                #expect(chwd_call_number(row.name) >= 0, "\(row.name)")
            }
        }
        #expect(chwd_call_name(chwd_call_number("openat")).map { String(cString: $0) } == "openat")
        #expect(chwd_call_number("execvp") == -1 && chwd_call_name(-1) == nil)
    }

    @Test("A process that recorded no call was still stopped by its sandbox where SIGSYS ended it")
    func forbidden() throws {
        let page = try StatsPage()
        #expect(ForbiddenCalls(page, .exited(0)) == nil && ForbiddenCalls(page, .signaled(SIGSEGV)) == nil)
        let unseen = try #require(ForbiddenCalls(page, .signaled(SIGSYS)))
        #expect(unseen.name == nil && unseen.count == 1)
        #expect(unseen.sentence == "tried to make an unusual system call, which its sandbox forbids")
        let own = try StatsPage(receiving: OwnedFD.duplicate(page.fileDescriptor))
        own.set(.forbiddenCall, UInt64(chwd_call_number("execve")) + 1)
        own.set(.forbiddenCalls, 3)
        let seen = try #require(ForbiddenCalls(page, .signaled(SIGSYS)))
        #expect(seen.name == "execve" && seen.count == 3)
        #expect(seen.sentence == "tried to start a program (execve), which its sandbox forbids")
    }

    @Test("Files: a codec reads libraries, a driver reads its folders and writes its nodes")
    func files() throws {
        let codec = FileRules(SandboxRequest(policy: .codec))
        #expect(
            !codec.rows.contains {
                $0.path.hasPrefix("/dev/") && $0.path != "/dev/null" && $0.path != "/dev/urandom"
            })
        #expect(codec.rows.allSatisfy { $0.path == "/dev/null" || $0.rights.isSubset(of: .read) })
        let driver = FileRules(
            SandboxRequest(
                policy: .driver, nodes: ["/dev/dri/renderD129"], paths: ["/var/opt"], cache: "/var/cache/own"))
        let rights = Dictionary(driver.rows.map { ($0.path, $0.rights) }) { $0.union($1) }
        #expect(rights["/dev/dri/renderD129"] == [.readFile, .writeFile, .controlDevice])
        // libdrm lists it; the right to read files would hold for each node in it.
        #expect(rights["/dev/dri"] == .readDirectory && rights["/dev/dri/renderD128"] == nil)
        #expect(rights["/var/opt"] == .all && rights["/var/cache/own"] == .all)
        #expect(!driver.rows.contains { $0.rights.contains(.execute) })
        // What NVIDIA's driver reads of the system and of its program.
        #expect(rights["/proc/filesystems"] == .read && rights[Program.path] == .readFile)
        #expect(!codec.rows.contains { $0.path == Program.path || $0.path == "/proc/filesystems" })
        for path in ["/", "/etc", "/home", "/root", "/tmp", "/var", "/proc", "/sys", "/dev", "/run"] {
            #expect(rights[path] == nil, "\(path)")
        }
        // linux/landlock.h: ABI 2 has no truncation and no control of devices.
        #expect(FileRules.Rights.known(to: 2).rawValue == 0x3fff)
        #expect(FileRules.Rights.known(to: 7).rawValue == 0xffff)
    }
}
