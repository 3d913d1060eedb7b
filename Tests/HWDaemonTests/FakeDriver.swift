// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDTransport
import Testing

/// The libva driver of Tests/FakeVA, compiled when a test first needs it.
enum FakeDriver {
    /// Why it is not available; nil if it is.
    static var whyNot: String? {
        switch library {
        case .success: nil
        case .failure(let reason): "skipped: \(reason.text)"
        }
    }

    /// The environment in which a broker's probes use it, on any character device: `LIBVA_DRIVER_NAME` chooses it.
    ///
    /// - Parameter pciID: the PCI vendor and device number of that device; nil for a device on no bus.
    static func environment(
        _ behaviour: String, vendor: String? = nil, pciID: String? = nil
    ) throws -> [String: String] {
        let folder = try library.get()
        var environment = [
            "LD_PRELOAD": "\(folder)/nodes.so", "LIBVA_DRIVER_NAME": "fake", "LIBVA_DRIVERS_PATH": folder,
            "FAKE_VA": behaviour,
        ]
        environment["FAKE_VA_VENDOR"] = vendor
        environment["FAKE_VA_PCI"] = pciID
        return environment
    }

    /// The same, except that libva chooses the driver by the kernel's: it has the name of AMD's.
    static func unnamed(_ behaviour: String, pciID: String? = "1002:73bf") throws -> [String: String] {
        var environment = try environment(behaviour, pciID: pciID)
        environment["LIBVA_DRIVER_NAME"] = nil
        environment["LIBVA_DRIVERS_PATH"] = "\(try library.get())/amdgpu"
        environment["FAKE_VA_KERNEL"] = "amdgpu"
        return environment
    }

    struct Reason: Error { var text: String }

    private static let library: Result<String, Reason> = {
        let compiler = "/usr/bin/cc"
        guard access(compiler, X_OK) == 0 else { return .failure(Reason(text: "there is no C compiler")) }
        guard access("/usr/include/va/va_backend.h", R_OK) == 0 else {
            return .failure(Reason(text: "libva's headers are not installed"))
        }
        guard access("/usr/include/libdrm/amdgpu_drm.h", R_OK) == 0 else {
            return .failure(Reason(text: "libdrm's headers are not installed"))
        }
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../FakeVA").standardizedFileURL.path
        // In the products' directory, where a leftover does no harm.
        let folder = "\(BrokerProcess.products)/fake-va-\(getpid())"
        mkdir(folder, 0o755)
        mkdir("\(folder)/amdgpu", 0o755)
        for (source, output) in [("fake_drv_video", "fake_drv_video"), ("nodes", "nodes")] {
            let child = try? ChildProcess(
                spawning: compiler,
                arguments: [
                    "-shared", "-fPIC", "-O1", "-I/usr/include/libdrm", "-o", "\(folder)/\(output).so",
                    "\(sources)/\(source).c",
                ])
            guard (try? child?.waitForExit()) == .exited(0) else {
                return .failure(Reason(text: "\(source).c does not compile"))
            }
        }
        unlink("\(folder)/amdgpu/radeonsi_drv_video.so")
        guard link("\(folder)/fake_drv_video.so", "\(folder)/amdgpu/radeonsi_drv_video.so") == 0 else {
            return .failure(Reason(text: "the driver cannot be linked"))
        }
        atexit { try? FileManager.default.removeItem(atPath: "\(BrokerProcess.products)/fake-va-\(getpid())") }
        return .success(folder)
    }()
}
