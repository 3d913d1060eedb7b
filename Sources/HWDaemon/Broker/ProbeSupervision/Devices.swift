// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem

/// The device nodes that the daemon probes.
///
/// The broker only lists their names; the probe processes identify them.
enum Devices {
    /// Nodes probed, at most.
    static let maxCount = 16

    /// The nodes of a list separated by colons (`HWDAEMON_DEVICES`), or every `/dev/dri/renderD*` and `/dev/nvidia0` to 7 if it
    /// is nil.
    static func nodes(deviceList: String?) -> [String] {
        let names = deviceList.map(parse) ?? (renderNodes() + nvidiaCards())
        return Array(names.prefix(maxCount))
    }

    /// The nodes of a list separated by colons, without duplicates and empty entries.
    static func parse(_ list: String) -> [String] {
        var seen: Set<String> = []
        return list.split(separator: ":").map(String.init).filter { seen.insert($0).inserted }
    }

    /// Whether a client may have `node` probed: it is one of the daemon's, or has the name of a render node or of NVIDIA's card.
    ///
    /// Opening a device can have side effects (a watchdog starts counting), so clients cannot name any file.
    static func mayProbe(_ node: String, nodes: [String]) -> Bool {
        if nodes.contains(node) { return true }
        // The minors of render nodes (drm(7)), each in one spelling.
        return (128...191).contains { node == "/dev/dri/renderD\($0)" } || nvidiaNames.contains(node)
    }

    /// Whether Vulkan may find a GPU: one of these nodes, or a device of a driver that is not part of the DRM.
    static func hasGPU(nodes: [String]) -> Bool {
        (nodes + [nvidiaControl, "/dev/dxg"]).contains { access($0, F_OK) == 0 }
    }

    /// The nodes that a session's driver may open: the daemon's and, unless a list names other devices only, those of NVIDIA's
    /// driver and of Windows' hypervisor.
    static func granted(deviceList: String?) -> [String] {
        nodes(deviceList: deviceList) + ofOtherDrivers(deviceList: deviceList)
    }

    /// The nodes that drivers use besides a device's own; of a list, those that the cards of NVIDIA's in it need.
    ///
    /// - Parameter exists: whether a node is there.
    static func ofOtherDrivers(
        deviceList: String?, exists: (String) -> Bool = { access($0, F_OK) == 0 }
    ) -> [String] {
        guard let deviceList else {
            // With this node in its list a process may listen on sockets, which CUDA does and no other driver.
            let names = nvidiaNames + nvidiaShared + ["/dev/nvidia-modeset", "/dev/dxg"]
            return names.filter { $0 != nvidiaMemory || exists($0) }
        }
        return parse(deviceList).contains { CodecInterface(node: $0) == .nvidia } ? nvidiaShared : []
    }

    /// The nodes of NVIDIA's cards; on another machine one call of the system.
    private static func nvidiaCards() -> [String] {
        guard access(nvidiaControl, F_OK) == 0 else { return [] }
        return nvidiaNames.filter { access($0, F_OK) == 0 }
    }

    private static let nvidiaNames = (0..<8).map { "/dev/nvidia\($0)" }
    private static let nvidiaControl = "/dev/nvidiactl"
    /// What a program needs beside a card's node: for all calls, and for CUDA's memory.
    private static let nvidiaShared = [nvidiaControl, nvidiaMemory]
    private static let nvidiaMemory = "/dev/nvidia-uvm"

    private static func renderNodes() -> [String] {
        let names = (try? Directory.names(in: "/dev/dri")) ?? []
        let numbers = names.filter { $0.hasPrefix("renderD") }.compactMap { Int($0.dropFirst(7)) }
        return numbers.sorted().map { "/dev/dri/renderD\($0)" }
    }
}
