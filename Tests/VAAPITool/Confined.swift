// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDTransport
import HWDWire

/// The sandbox of a session that runs a driver, for drivers that no daemon's session can run here.
enum Confined {
    /// Confines this process as `VAAPI_TOOL_SANDBOX` names a mode; drivers may also use the paths that
    /// `HWDAEMON_SANDBOX_PATHS` grants a session.
    ///
    /// - Returns: the page with what the sandbox forbids; nil without the variable.
    static func start(node: String) throws -> StatsPage? {
        let environment = ProcessInfo.processInfo.environment
        guard let mode = environment["VAAPI_TOOL_SANDBOX"].flatMap(SandboxRequest.Mode.init) else { return nil }
        let paths = (environment["HWDAEMON_SANDBOX_PATHS"] ?? "").split(separator: ":").map(String.init)
        try ProcessControl.confine()
        let page = try StatsPage()
        try Sandbox.start(recordingIn: StatsPage(receiving: OwnedFD.duplicate(page.fileDescriptor)))
        try Sandbox.apply(SandboxRequest(policy: .driver, mode: mode, nodes: [node], paths: paths))
        return page
    }
}
