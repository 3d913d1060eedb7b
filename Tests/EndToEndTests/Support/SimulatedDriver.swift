// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDTransport
import HWDWire
import Testing

/// The libva driver of Tests/HWSim under a daemon, compiled when a test first needs it.
enum SimulatedDriver {
    /// The environment that gives a daemon hardware: any character devices as nodes, and this driver for them.
    ///
    /// - Parameters:
    ///   - personality: the driver it plays, with the faults it has.
    ///   - state: the folder where the daemon remembers what was verified.
    static func environment(
        _ personality: String = "full", devices: String = "/dev/null", state: String
    ) throws -> [String: String] {
        let folder = try library.get()
        return [
            "LD_PRELOAD": "\(folder)/nodes.so", "LIBVA_DRIVER_NAME": "hwsim", "LIBVA_DRIVERS_PATH": folder,
            "LIBVA_MESSAGING_LEVEL": "0", "HWSIM_PERSONALITY": personality, "HWDAEMON_DEVICES": devices,
            "STATE_DIRECTORY": state,
        ]
    }

    /// The environment that gives a daemon a card of NVIDIA's, whose libraries Tests/HWSim plays as well.
    ///
    /// - Parameter state: the folder where the daemon remembers what was verified, and where the card's node is.
    static func card(_ personality: String = "full", state: Scratch) throws -> [String: String] {
        let folder = try library.get()
        let node = state.path("nvidia0")
        if access(node, F_OK) != 0 {
            try FileManager.default.createSymbolicLink(atPath: node, withDestinationPath: "/dev/null")
        }
        let before = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":\($0)" } ?? ""
        return [
            "LD_LIBRARY_PATH": "\(folder)/nvidia\(before)", "HWSIM_PERSONALITY": personality,
            "HWDAEMON_DEVICES": node, "STATE_DIRECTORY": state.root,
        ]
    }

    /// A daemon whose only device this driver serves, after it has verified what the driver claims.
    ///
    /// A session that merely prefers hardware does not wait for the verification to end.
    static func verifiedDaemon(
        _ personality: String = "full", state: Scratch, _ more: [String: String] = [:]
    ) throws -> TestDaemon {
        let server = try TestDaemon(
            environment: environment(personality, state: state.root).merging(more) { $1 })
        _ = try server.daemon.call(HWDWire.Probe.self, HWDWire.Probe.Parameters(), timeout: hangLimit)
        return server
    }

    /// A folder of the daemon's programs, of which those that probe see another driver than sessions do.
    static func libexec(probing personality: String, in folder: Scratch) throws -> String {
        let path = folder.path("libexec")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        for name in [
            "hwdaemon-encoder", "hwdaemon-encoder-nv", "hwdaemon-decoder", "hwdaemon-probe", "hwdaemon-verify",
        ] {
            let isSession = name.hasPrefix("hwdaemon-encoder") || name == "hwdaemon-decoder"
            let other = isSession ? "" : "HWSIM_PERSONALITY=\(personality) "
            let text = "#!/bin/sh\n\(other)exec \(Programs.path(name))\n"
            try text.write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8)
            chmod("\(path)/\(name)", 0o755)
        }
        return path
    }

    /// The folder with the driver and with what else is preloaded, or why it could not be built.
    static let library = Result<String, any Error> {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../HWSim").standardizedFileURL.path
        // Beside the test bundle, so that it is built once.
        let folder = "\(Programs.folder)/hwsim-for-daemons"
        let make = try Running(Programs.required("make"), ["-s", "-C", sources, "OUT=\(folder)", "all"])
            .wait(within: .seconds(300))
        guard make.status == 0 else {
            throw MissingTool("Tests/HWSim does not compile; 'make deps' installs what it needs: \(make.errors)")
        }
        return folder
    }
}
