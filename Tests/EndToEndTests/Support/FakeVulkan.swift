// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDTransport
import Testing

/// Vulkan for a daemon: lavapipe as it is, or the drivers of Tests/FakeVulkan, compiled when a test first needs them.
enum FakeVulkan {
    /// Why it cannot be had, or nil.
    static var whyNot: String? {
        switch library {
        case .success: nil
        case .failure(let reason): "skipped: \(reason.text)"
        }
    }

    /// lavapipe's manifest.
    static let lavapipe: String? = {
        let folder = "/usr/share/vulkan/icd.d"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().first { $0.hasPrefix("lvp_icd") }.map { "\(folder)/\($0)" }
    }()

    /// What gives a daemon these drivers and no others.
    ///
    /// - Parameters:
    ///   - drivers: `gpu-03` and the like, as `fake_icd.c` explains; none leaves Vulkan without a driver.
    ///   - folder: where they lie, with everything that drivers cache.
    static func environment(_ drivers: [String], in folder: Scratch) throws -> [String: String] {
        let library = try library.get()
        let manifests = try drivers.map { driver in
            let file = folder.path("fake-\(driver).so")
            try FileManager.default.copyItem(atPath: library, toPath: file)
            return try manifest(folder.path("\(driver).json"), of: file)
        }
        return surroundings(
            manifests.isEmpty ? "/dev/null/none" : manifests.joined(separator: ":"), folder,
            ["FAKE_VULKAN_DRIVER": try #require(lavapipeLibrary)])
    }

    /// What gives a daemon a manifest's driver and no other.
    static func environment(manifest: String, in folder: Scratch) -> [String: String] {
        surroundings(manifest, folder, [:])
    }

    /// Writes a manifest of a driver.
    @discardableResult
    static func manifest(_ path: String, of library: String) throws -> String {
        try #"{"file_format_version": "1.0.0", "ICD": {"library_path": "\#(library)", "api_version": "1.3.0"}}"#
            .write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    /// lavapipe's library, by its manifest.
    static let lavapipeLibrary: String? = {
        struct Manifest: Decodable {
            struct Driver: Decodable { var library_path: String }
            var ICD: Driver
        }
        guard let lavapipe, let text = FileManager.default.contents(atPath: lavapipe) else { return nil }
        return try? JSONDecoder().decode(Manifest.self, from: text).ICD.library_path
    }()

    private static func surroundings(
        _ files: String, _ folder: Scratch, _ more: [String: String]
    ) -> [String: String] {
        [
            "VK_DRIVER_FILES": files, "XDG_CACHE_HOME": folder.path("cache"), "STATE_DIRECTORY": folder.root,
        ].merging(more) { $1 }
    }

    private struct Reason: Error { var text: String }

    private static let library: Result<String, Reason> = {
        guard lavapipeLibrary != nil else { return .failure(Reason(text: "lavapipe is not installed")) }
        guard let compiler = Programs.find("clang", "cc"), access("/usr/include/vulkan/vk_icd.h", R_OK) == 0 else {
            return .failure(Reason(text: "Vulkan's headers or a C compiler are not installed"))
        }
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../FakeVulkan/fake_icd.c").standardizedFileURL.path
        // Beside the bundle, so that nothing needs to be cleared away.
        let output = "\(Programs.folder)/fake-vulkan-icd.so"
        let built = try? Running(
            compiler, ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-fvisibility=hidden", "-o", output, source]
        ).wait(seconds: 60)
        guard built?.status == 0 else {
            return .failure(Reason(text: "fake_icd.c does not compile: \(built?.errors ?? "")"))
        }
        return .success(output)
    }()
}
