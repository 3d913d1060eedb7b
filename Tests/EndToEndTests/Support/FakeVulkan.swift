// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDTransport
import Testing

/// Vulkan for a daemon: lavapipe as it is, or the drivers of Tests/FakeVulkan, compiled when a test first needs them.
enum FakeVulkan {
    /// The path of Vulkan's loader, beside lavapipe's library.
    static func loader() throws -> String {
        URL(filePath: try lavapipeLibrary()).deletingLastPathComponent().path + "/libvulkan.so.1"
    }

    /// The path of lavapipe's manifest.
    static func lavapipe() throws -> String {
        let folder = "/usr/share/vulkan/icd.d"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        guard let name = names.sorted().first(where: { $0.hasPrefix("lvp_icd") }) else {
            throw MissingTool("lavapipe is not in \(folder); run 'make deps'")
        }
        return "\(folder)/\(name)"
    }

    /// The environment that gives a daemon these drivers and no others.
    ///
    /// - Parameters:
    ///   - drivers: names like `gpu-03`, which `fake_icd.c` explains; none leaves Vulkan without a driver.
    ///   - folder: holds the drivers and everything that they cache.
    static func environment(_ drivers: [String], in folder: Scratch) throws -> [String: String] {
        let library = try library.get()
        let manifests = try drivers.map { driver in
            let file = folder.path("fake-\(driver).so")
            try FileManager.default.copyItem(atPath: library, toPath: file)
            return try manifest(folder.path("\(driver).json"), of: file)
        }
        return surroundings(
            manifests.isEmpty ? "/dev/null/none" : manifests.joined(separator: ":"), folder,
            ["FAKE_VULKAN_DRIVER": try lavapipeLibrary()])
    }

    /// The environment that gives a daemon a manifest's driver and no other.
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

    /// The library that lavapipe's manifest names.
    static func lavapipeLibrary() throws -> String {
        struct Manifest: Decodable {
            struct Driver: Decodable { var library_path: String }
            var ICD: Driver
        }
        let text = try Data(contentsOf: URL(fileURLWithPath: lavapipe()))
        return try JSONDecoder().decode(Manifest.self, from: text).ICD.library_path
    }

    private static func surroundings(
        _ files: String, _ folder: Scratch, _ more: [String: String]
    ) -> [String: String] {
        [
            "VK_DRIVER_FILES": files, "XDG_CACHE_HOME": folder.path("cache"), "STATE_DIRECTORY": folder.root,
            // Drivers are elsewhere than a sandbox expects them.
            "HWDAEMON_SANDBOX_PATHS": folder.root,
        ].merging(more) { $1 }
    }

    /// The fake driver's library, or why it could not be built.
    private static let library = Result<String, any Error> {
        let compiler = try Programs.required("clang", "cc")
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../FakeVulkan/fake_icd.c").standardizedFileURL.path
        // Beside the test bundle, so that it is built once.
        let output = "\(Programs.folder)/fake-vulkan-icd.so"
        let built = try Running(
            compiler, ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-fvisibility=hidden", "-o", output, source]
        ).wait()
        guard built.status == 0 else {
            throw MissingTool("fake_icd.c does not compile; 'make deps' installs what it needs: \(built.errors)")
        }
        return output
    }
}
