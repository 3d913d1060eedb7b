// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDWire

/// Faults of the manifests of Vulkan's drivers, which its loader passes over or reports as something else.
enum VulkanManifests {
    /// What is wrong with a manifest.
    typealias Fault = (cause: ProbeCause, reason: String)

    /// A driver's manifest (LoaderDriverInterface.md, "Driver Manifest File Format").
    private struct Manifest: Decodable {
        struct Driver: Decodable {
            var library: String
            enum CodingKeys: String, CodingKey { case library = "library_path" }
        }
        var driver: Driver
        enum CodingKeys: String, CodingKey { case driver = "ICD" }
    }

    /// The first fault of these files that are drivers' manifests; nil if they have none.
    ///
    /// - Parameter paths: files and folders; files in folders of layers and those without `.json` are passed over.
    static func fault(of paths: [String]) -> Fault? {
        for path in paths where path.hasSuffix(".json") && !path.contains("/implicit_layer.d/") {
            if let fault = fault(of: path) { return fault }
        }
        return nil
    }

    private static func fault(of path: String) -> Fault? {
        let name = path.printable(maxBytes: 256)
        let bytes: [UInt8]
        // The loader needs no manifest that cannot be read: another user's, or one just deleted.
        do { bytes = try BoundedFile.read(path, limit: 1 << 20) } catch { return nil }
        guard let manifest = try? JSON.decode(Manifest.self, from: bytes) else {
            return (.vulkanManifest, "the Vulkan driver's manifest \(name) is damaged")
        }
        let library = manifest.driver.library
        // A path with a slash is relative to the manifest's folder, any other is the dynamic linker's to find.
        let isRelative = library.contains("/") && !library.hasPrefix("/")
        let file =
            isRelative ? path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex) + library : library[...]
        guard let handle = dlopen(String(file), RTLD_LAZY | RTLD_LOCAL) else {
            let error = dlerror().map { String(cString: $0).printable(maxBytes: 256) } ?? "it cannot be loaded"
            return (.vulkanLibrary, "the library of the Vulkan driver's manifest \(name) does not load: \(error)")
        }
        dlclose(handle)
        return nil
    }
}
