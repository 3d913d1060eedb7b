// SPDX-License-Identifier: MIT
internal import HWDSystem
internal import HWDWire

/// The files that a sandboxed process may open, as Landlock enforces them.
struct FileRules: Hashable, Sendable {
    /// Rights (linux/landlock.h).
    struct Rights: OptionSet, Hashable, Sendable {
        let rawValue: UInt64
        static let execute = Rights(rawValue: 1 << 0)
        static let writeFile = Rights(rawValue: 1 << 1)
        static let readFile = Rights(rawValue: 1 << 2)
        static let readDirectory = Rights(rawValue: 1 << 3)
        static let truncate = Rights(rawValue: 1 << 14)
        static let controlDevice = Rights(rawValue: 1 << 15)
        static let read: Rights = [.readFile, .readDirectory]
        /// Everything but executing: files and directories may be made and removed.
        static let all = Rights(rawValue: 0xfffe)
        /// Rights that a file can have; the others belong to directories.
        static let ofFiles: Rights = [.execute, .writeFile, .readFile, .truncate, .controlDevice]

        /// The rights that a version of Landlock knows.
        static func known(to version: Int) -> Rights {
            switch version {
            case ...1: Rights(rawValue: 0x1fff)
            case 2: Rights(rawValue: 0x3fff)
            case 3, 4: Rights(rawValue: 0x7fff)
            default: Rights(rawValue: 0xffff)
            }
        }
    }

    /// A path and the rights beneath it.
    ///
    /// A path that does not exist is skipped.
    struct Row: Hashable, Sendable {
        var path: String
        var rights: Rights
    }

    /// LANDLOCK_ACCESS_NET_BIND_TCP and _CONNECT_TCP: none is granted.
    static let networkRights: UInt64 = 0b11
    /// LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET and _SIGNAL: neither reaches processes outside.
    static let scopes: UInt64 = 0b11

    var rows: [Row]

    /// The rules of a policy.
    ///
    /// - Parameter drivers: the drivers' files outside of the system's folders.
    init(_ request: SandboxRequest, _ drivers: DriverFiles = DriverFiles()) {
        rows =
            Self.system.map { Row(path: $0, rights: .read) } + [
                Row(path: "/dev/null", rights: [.readFile, .writeFile])
            ]
        guard request.policy == .driver else { return }
        rows += Self.driver.map { Row(path: $0, rights: .read) } + drivers.rows
        // NVIDIA's driver looks into the program that loaded it.
        rows.append(Row(path: Program.path, rights: .readFile))
        // CUDA does not start where it cannot name its threads (`/proc/self/task/TID/comm`).
        rows.append(Row(path: "/proc/self/task", rights: [.writeFile, .truncate]))
        // libdrm lists the folder before it opens a node; its files are not granted with it.
        rows.append(Row(path: "/dev/dri", rights: .readDirectory))
        rows += request.nodes.map { Row(path: $0, rights: [.readFile, .writeFile, .controlDevice]) }
        rows += request.writable.map { Row(path: $0, rights: .all) }
    }

    /// What every process with a driver reads, wherever its driver is installed.
    static var ofDrivers: [String] { system + driver }

    /// What every process reads: libraries, the processors that libnuma and libx265 count, time zones.
    private static let system = [
        "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo",
        "/sys/devices/system", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm",
        "/proc/sys/kernel", "/dev/urandom",
    ]

    /// What libva, Mesa, Intel's and NVIDIA's drivers and the Vulkan loader read at fixed paths.
    private static let driver = [
        "/usr/local/lib", "/etc/libva.conf", "/etc/drirc", "/usr/share/drirc.d", "/usr/share/libdrm", "/etc/vulkan",
        "/usr/share/vulkan", "/usr/local/share/vulkan", "/usr/share/glvnd", "/etc/glvnd", "/usr/share/nvidia",
        "/etc/nvidia",
        "/sys/devices", "/sys/dev", "/sys/bus/pci", "/sys/class/drm", "/sys/module", "/proc/driver",
        "/proc/devices", "/proc/filesystems",
    ]
}
