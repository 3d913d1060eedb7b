// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDSystem
internal import HWDTransport
internal import HWDWire

/// How the processes of sessions and probes are confined, by the settings.
struct Confinement {
    private let settings: Settings
    private let cache: DriverCache

    init(_ settings: Settings, cache: DriverCache = DriverCache(folder: nil)) {
        (self.settings, self.cache) = (settings, cache)
    }

    /// The mode of a process whose driver has no quirk.
    var mode: SandboxRequest.Mode { settings.sandbox }

    /// The sandbox of a session.
    ///
    /// - Parameters:
    ///   - runsDriver: whether it may load a driver, of VA-API or of Vulkan.
    ///   - user: whose cache the driver uses; nil for none.
    ///   - quirk: the quirk of a driver that it may load; nil for none.
    func session(runsDriver: Bool, user: UInt32? = nil, quirk: Capabilities.Quirk? = nil) -> SandboxRequest {
        var request = request(runsDriver ? .driver : .codec, nodes: Devices.granted(deviceList: deviceList), quirk)
        if runsDriver, let user { request.cache = cache.folder(of: "\(user)") }
        return request
    }

    /// The sandbox of a probe: that of a session which uses its subject, with no other render node.
    ///
    /// - Parameter quirk: that of the subject's driver.
    func probe(_ subject: ProbeRequest.Subject, quirk: Capabilities.Quirk?) -> SandboxRequest {
        var request =
            switch subject {
            case .software: request(.codec, nodes: [], nil)
            case .node(let node):
                request(.driver, nodes: [node] + Devices.ofOtherDrivers(deviceList: deviceList), quirk)
            case .vulkan: session(runsDriver: true)
            }
        if request.policy == .driver { request.cache = cache.folder(of: "probe") }
        return request
    }

    /// The paths of `SandboxPaths` that open a shared tree to drivers, as a clause; nil where there are none.
    var warning: String? {
        guard mode == .enforce else { return nil }
        let shared = Configuration.sandboxPaths(settings).filter { path in
            SharedTrees.areOpened(by: ResolvedPath.of(path) ?? path)
        }
        guard !shared.isEmpty else { return nil }
        let list = shared.map { $0.printable(maxBytes: 200) }.joined(separator: ", ")
        return "SandboxPaths opens all of \(list) to drivers, so that the sandbox protects nothing there: "
            + "name only the folders that they need"
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
