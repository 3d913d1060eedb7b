// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem

/// What a diagnosis needs to know of the machine beside the daemon's probe.
struct Machine {
    /// Whether this process runs in a container.
    var isContainer = false
    /// The name of the daemon's user.
    var user = "USER"
    /// Whether the daemon is the machine's service, which takes a user's new groups when it is started again.
    var hasService = false
    /// The group that owns each node's file, by the node's path.
    var groups: [String: String] = [:]
    /// NVIDIA's cards and their driver; nil where there is none.
    var nvidia: NVIDIADriver?

    /// This machine, with the groups of some nodes.
    ///
    /// - Parameter socket: the file of the daemon's socket; nil for a private daemon, which has this process's user.
    static func present(nodes: [String], socket: String?) -> Machine {
        var machine = Machine()
        machine.isContainer = isContainer(root: "", variable: Environment.value("container"))
        machine.nvidia = NVIDIADriver(root: "", environment: Environment.value)
        var status = stat()
        let owner = socket.flatMap { stat($0, &status) == 0 ? status.st_uid : nil }
        if owner == 0 {
            // The service manager made it, for the unit's user; root itself may open every node.
            (machine.user, machine.hasService) = ("hwdaemon", true)
        } else if let entry = getpwuid(owner ?? geteuid()) {
            machine.user = String(cString: entry.pointee.pw_name)
        }
        for node in nodes {
            guard stat(node, &status) == 0, let entry = getgrgid(status.st_gid) else { continue }
            machine.groups[node] = String(cString: entry.pointee.gr_name)
        }
        return machine
    }

    /// Whether this process runs in a container.
    ///
    /// - Parameters:
    ///   - root: what precedes the absolute paths of the machine's files.
    ///   - variable: the value of `container`, which systemd-nspawn and LXC set for the first process.
    static func isContainer(root: String, variable: String?) -> Bool {
        if variable != nil { return true }
        // Podman and Docker leave these files. A virtual machine whose disk was made from a container's image has them too,
        // and the kernel's first namespaces (linux/nsfs.h), which no container has.
        let hasFile = ["/run/.containerenv", "/.dockerenv", "/run/systemd/container"].contains {
            access(root + $0, F_OK) == 0
        }
        let first = ["cgroup": 0xefff_fffb, "pid": 0xefff_fffc, "uts": 0xefff_fffe, "ipc": 0xefff_ffff]
        return hasFile
            && !first.allSatisfy { name, number in
                ResolvedPath.link("\(root)/proc/self/ns/\(name)") == "\(name):[\(number)]"
            }
    }
}
