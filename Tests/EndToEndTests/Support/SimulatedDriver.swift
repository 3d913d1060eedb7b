// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDTransport
import Testing

/// The libva driver of Tests/HWSim under a daemon, compiled when a test first needs it.
enum SimulatedDriver {
    /// Why it cannot be had, or nil.
    static var whyNot: String? {
        switch library {
        case .success: nil
        case .failure(let reason): "skipped: \(reason.text)"
        }
    }

    /// What gives a daemon hardware: any character devices as nodes, and this driver for them.
    ///
    /// - Parameters:
    ///   - personality: which driver it plays, with which faults.
    ///   - state: where to remember what was verified.
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

    /// The daemon's programs, of which those that probe see another driver than sessions do.
    static func libexec(probing personality: String, in folder: Scratch) throws -> String {
        let path = folder.path("libexec")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        for name in ["hwdaemon-encoder", "hwdaemon-decoder", "hwdaemon-probe", "hwdaemon-verify"] {
            let other =
                name == "hwdaemon-encoder" || name == "hwdaemon-decoder" ? "" : "HWSIM_PERSONALITY=\(personality) "
            let text = "#!/bin/sh\n\(other)exec \(Programs.path(name))\n"
            try text.write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8)
            chmod("\(path)/\(name)", 0o755)
        }
        return path
    }

    private struct Reason: Error { var text: String }

    private static let library: Result<String, Reason> = {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../HWSim").standardizedFileURL.path
        guard FileManager.default.fileExists(atPath: "\(sources)/Makefile") else {
            return .failure(Reason(text: "there is no Tests/HWSim"))
        }
        guard access("/usr/include/va/va_backend.h", R_OK) == 0, Programs.find("make") != nil,
            Programs.find("cc") != nil
        else { return .failure(Reason(text: "libva's headers or a C compiler are not installed")) }
        // Beside the bundle, so that it is built once.
        let folder = "\(Programs.folder)/hwsim-for-daemons"
        let make = try? Running(Programs.find("make") ?? "", ["-s", "-C", sources, "OUT=\(folder)"])
            .wait(seconds: 120)
        guard make?.status == 0 else {
            return .failure(Reason(text: "Tests/HWSim does not compile: \(make?.errors ?? "")"))
        }
        return .success(folder)
    }()
}
