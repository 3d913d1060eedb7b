// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem

/// What a diagnosis needs to know of the machine beside the daemon's probe.
struct Machine {
    /// Whether this process runs in a container.
    var isContainer = false
    /// The name of the user of this process.
    var user = "USER"
    /// The group that owns each node's file, by the node's path.
    var groups: [String: String] = [:]

    /// This machine, with the groups of some nodes.
    static func present(nodes: [String]) -> Machine {
        var machine = Machine()
        // Podman and Docker leave these files; systemd-nspawn and LXC set the variable for the first process.
        machine.isContainer =
            access("/run/.containerenv", F_OK) == 0 || access("/.dockerenv", F_OK) == 0
            || access("/run/systemd/container", F_OK) == 0 || Environment.value("container") != nil
        if let entry = getpwuid(geteuid()) { machine.user = String(cString: entry.pointee.pw_name) }
        for node in nodes {
            var status = stat()
            guard stat(node, &status) == 0, let entry = getgrgid(status.st_gid) else { continue }
            machine.groups[node] = String(cString: entry.pointee.gr_name)
        }
        return machine
    }
}
