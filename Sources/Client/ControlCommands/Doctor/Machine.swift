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

    /// This machine, with the groups of some nodes.
    ///
    /// - Parameter socket: the file of the daemon's socket; nil for a private daemon, which has this process's user.
    static func present(nodes: [String], socket: String?) -> Machine {
        var machine = Machine()
        // Podman and Docker leave these files; systemd-nspawn and LXC set the variable for the first process.
        machine.isContainer =
            access("/run/.containerenv", F_OK) == 0 || access("/.dockerenv", F_OK) == 0
            || access("/run/systemd/container", F_OK) == 0 || Environment.value("container") != nil
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
}
