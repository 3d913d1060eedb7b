// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem

/// Which device nodes the daemon looks at.
enum Devices {
    /// Nodes looked at, at most.
    static let maximum = 16

    /// The nodes to look at now: those of `HWDAEMON_DEVICES`, else every `/dev/dri/renderD*`.
    static func nodes(environment: String?) -> [String] {
        let names = environment.map(parse) ?? renderNodes()
        return Array(names.prefix(maximum))
    }

    /// The nodes in a list separated by colons; each once, empty ones left out.
    static func parse(_ list: String) -> [String] {
        var seen: Set<String> = []
        return list.split(separator: ":").map(String.init).filter { seen.insert($0).inserted }
    }

    /// Whether a caller may have `node` probed: it is one of the daemon's, or has a render node's name.
    ///
    /// Opening a device can have effects (a watchdog starts to count), so callers do not choose freely.
    static func mayProbe(_ node: String, nodes: [String]) -> Bool {
        if nodes.contains(node) { return true }
        guard node.hasPrefix("/dev/dri/renderD"), let number = UInt8(node.dropFirst(16)) else { return false }
        // The minors of render nodes (drm(7)).
        return 128...191 ~= number
    }

    /// Whether a GPU's driver of Vulkan has something to open: one of these nodes, or one that is not the DRM's.
    static func hasGPU(nodes: [String]) -> Bool {
        (nodes + ["/dev/nvidiactl", "/dev/dxg"]).contains { access($0, F_OK) == 0 }
    }

    private static func renderNodes() -> [String] {
        let names = (try? Directory.names(in: "/dev/dri")) ?? []
        let numbers = names.filter { $0.hasPrefix("renderD") }.compactMap { Int($0.dropFirst(7)) }
        return numbers.sorted().map { "/dev/dri/renderD\($0)" }
    }
}
