// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem

/// The device nodes that the daemon probes.
///
/// The broker only lists their names; the probe processes identify them.
enum Devices {
    /// Nodes probed, at most.
    static let maxCount = 16

    /// The nodes of a list separated by colons (`HWDAEMON_DEVICES`), or every `/dev/dri/renderD*` if it is nil.
    static func nodes(deviceList: String?) -> [String] {
        let names = deviceList.map(parse) ?? renderNodes()
        return Array(names.prefix(maxCount))
    }

    /// The nodes of a list separated by colons, without duplicates and empty entries.
    static func parse(_ list: String) -> [String] {
        var seen: Set<String> = []
        return list.split(separator: ":").map(String.init).filter { seen.insert($0).inserted }
    }

    /// Whether a client may have `node` probed: it is one of the daemon's, or has a render node's name.
    ///
    /// Opening a device can have side effects (a watchdog starts counting), so clients cannot name any file.
    static func mayProbe(_ node: String, nodes: [String]) -> Bool {
        if nodes.contains(node) { return true }
        // The minors of render nodes (drm(7)), each in one spelling.
        return (128...191).contains { node == "/dev/dri/renderD\($0)" }
    }

    /// Whether Vulkan may find a GPU: one of these nodes, or a device of a driver that is not part of the DRM.
    static func hasGPU(nodes: [String]) -> Bool {
        (nodes + ["/dev/nvidiactl", "/dev/dxg"]).contains { access($0, F_OK) == 0 }
    }

    /// The nodes that a session's driver may open: the daemon's and, where no list names them, those of NVIDIA's driver and
    /// of Windows' hypervisor.
    static func granted(deviceList: String?) -> [String] {
        nodes(deviceList: deviceList) + ofOtherDrivers(deviceList: deviceList)
    }

    /// The nodes that drivers use besides a render node; none where a list names all that are used.
    static func ofOtherDrivers(deviceList: String?) -> [String] {
        guard deviceList == nil else { return [] }
        return (0..<8).map { "/dev/nvidia\($0)" }
            + ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-modeset", "/dev/dxg"]
    }

    private static func renderNodes() -> [String] {
        let names = (try? Directory.names(in: "/dev/dri")) ?? []
        let numbers = names.filter { $0.hasPrefix("renderD") }.compactMap { Int($0.dropFirst(7)) }
        return numbers.sorted().map { "/dev/dri/renderD\($0)" }
    }
}
