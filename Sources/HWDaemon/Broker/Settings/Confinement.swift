// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDPolicy
internal import HWDWire

/// How the processes of sessions and probes are confined, by the settings.
struct Confinement {
    private let settings: Settings

    init(_ settings: Settings) { self.settings = settings }

    /// The mode of a process whose driver has no quirk.
    var mode: SandboxRequest.Mode { settings.sandbox }

    /// The sandbox of a session.
    ///
    /// - Parameters:
    ///   - runsDriver: whether it may load a driver, of VA-API or of Vulkan.
    ///   - quirk: the quirk of a driver that it may load; nil for none.
    func session(runsDriver: Bool, quirk: Capabilities.Quirk? = nil) -> SandboxRequest {
        request(runsDriver ? .driver : .codec, nodes: Devices.granted(deviceList: deviceList), quirk)
    }

    /// The sandbox of a probe: that of a session which uses its subject, with no other render node.
    ///
    /// - Parameter quirk: that of the subject's driver.
    func probe(_ subject: ProbeRequest.Subject, quirk: Capabilities.Quirk?) -> SandboxRequest {
        switch subject {
        case .software: request(.codec, nodes: [], nil)
        case .node(let node):
            request(.driver, nodes: [node] + Devices.ofOtherDrivers(deviceList: deviceList), quirk)
        case .vulkan: session(runsDriver: true)
        }
    }

    /// Trees of which drivers need single folders at most: users' files, the system's, and what the daemon stores.
    private static let sharedTrees = [
        "/boot", "/dev", "/dev/shm", "/etc", "/home", "/media", "/mnt", "/opt", "/proc", "/root", "/run",
        "/run/user", "/srv", "/sys", "/tmp", "/usr", "/var/cache", "/var/lib/hwdaemon", "/var/log", "/var/tmp",
    ]

    /// The paths of `SandboxPaths` that open a shared tree to drivers, as a clause; nil where there are none.
    var warning: String? {
        guard mode == .enforce else { return nil }
        let trees = Set(Self.sharedTrees.flatMap { [$0, Self.resolved($0)] })
        let shared = Configuration.sandboxPaths(settings).filter { path in
            let folder = Self.resolved(path)
            return trees.contains { $0 == folder || $0.hasPrefix(folder == "/" ? folder : folder + "/") }
        }
        guard !shared.isEmpty else { return nil }
        let list = shared.map { $0.printable(maxBytes: 200) }.joined(separator: ", ")
        return "SandboxPaths opens all of \(list) to drivers, so that the sandbox protects nothing there: "
            + "name only the folders that they need"
    }

    /// A path without links; the path itself where there is no such file.
    private static func resolved(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }

    private var deviceList: String? { Configuration.deviceList(settings) }

    private func request(
        _ policy: SandboxRequest.Policy, nodes: [String], _ quirk: Capabilities.Quirk?
    ) -> SandboxRequest {
        SandboxRequest(
            policy: policy, mode: mode.loosened(by: quirk), nodes: nodes,
            paths: Configuration.sandboxPaths(settings))
    }
}

extension SandboxRequest.Mode {
    /// The looser of this mode and a quirk's.
    fileprivate func loosened(by quirk: Capabilities.Quirk?) -> SandboxRequest.Mode {
        switch (self, quirk?.sandbox) {
        case (.off, _), (_, .off): .off
        case (.report, _), (_, .report): .report
        case (.enforce, nil): .enforce
        }
    }
}

extension Capabilities.Quirk {
    /// What the quirk does to the sandbox, and why, as a clause.
    var sandboxNotice: String {
        let effect =
            switch sandbox {
            case .off: "the sandbox of its driver is off"
            case .report: "the sandbox of its driver only reports"
            case nil: "the sandbox of its driver is as configured"
            }
        return "\(effect), by the quirk \(id): \(why)"
    }
}
