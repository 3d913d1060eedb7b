// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem

/// The memory that sessions may take, as an administrator writes it.
enum MemoryLimit: Hashable, Sendable {
    case bytes(UInt64)
    /// Of the machine's memory, or of the control group's where that is less.
    case percent(Int)
    case unlimited

    /// The least that can be set, in bytes: a smaller limit would refuse common sessions.
    static let least: UInt64 = 256 << 20

    /// The number of bytes; nil for no limit.
    ///
    /// - Parameter available: the memory of the machine or control group, in bytes.
    func resolved(available: UInt64) -> UInt64? {
        switch self {
        case .bytes(let bytes): bytes
        case .percent(let percent): max(available / 100 * UInt64(percent), Self.least)
        case .unlimited: nil
        }
    }

    /// The memory that the daemon and its children can have: the machine's, or less where a control group limits it.
    static var available: UInt64 {
        let pages = UInt64(clamping: sysconf(Int32(_SC_PHYS_PAGES)))
        let machine = pages * UInt64(clamping: sysconf(Int32(_SC_PAGESIZE)))
        let groups = (try? BoundedFile.read("/proc/self/cgroup", limit: 64 << 10)) ?? []
        let limit = groupFolders(String(decoding: groups, as: UTF8.self)).compactMap { folder in
            ["memory.max", "memory.limit_in_bytes"].lazy.compactMap { name in
                (try? BoundedFile.read("\(folder)/\(name)", limit: 64)).flatMap(parse)
            }.first
        }.min()
        return min(machine, limit ?? .max)
    }

    /// The folders whose limits hold for a process, from the contents of its /proc/PID/cgroup (cgroups(7)): its group's
    /// and those above.
    static func groupFolders(_ text: String) -> [String] {
        var folders: [String] = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[2].hasPrefix("/") else { continue }
            // Version 2 has one hierarchy without a name; version 1 one for each controller.
            let controllers = fields[1].split(separator: ",")
            guard controllers.isEmpty || controllers.contains("memory") else { continue }
            let root = controllers.isEmpty ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory"
            folders.append(root)
            // A group outside of the namespace's root is not below the mounted folder (cgroup_namespaces(7)).
            let parts = fields[2].split(separator: "/")
            if parts.contains("..") { continue }
            var path = ""
            for part in parts {
                path += "/\(part)"
                folders.append(root + path)
            }
        }
        return folders
    }

    /// The number in a limit's file; nil for `max`.
    private static func parse(_ bytes: [UInt8]) -> UInt64? {
        UInt64(String(decoding: bytes, as: UTF8.self).prefix { $0.isNumber })
    }
}
