// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem

/// Faults of the manifests of Vulkan's drivers, which its loader passes over or reports as something else.
enum VulkanManifests {
    /// What is wrong with a manifest.
    typealias Fault = (cause: ProbeCause, reason: String)

    /// A driver's manifest (LoaderDriverInterface.md, "Driver Manifest File Format").
    private struct Manifest: Decodable {
        struct Driver: Decodable {
            var library: String
            /// Bits of an address in the library's architecture, `32` or `64`; nil if the manifest does not say.
            var architecture: String?

            enum CodingKeys: String, CodingKey {
                case library = "library_path"
                case architecture = "library_arch"
            }
        }
        var driver: Driver
        enum CodingKeys: String, CodingKey { case driver = "ICD" }
    }

    /// A manifest's state, if it is meant for programs of this architecture.
    private enum State {
        case loads, otherArchitecture, damaged
        /// The library does not load, for this reason.
        case unloadable(String)
    }

    /// The first fault of these files that are drivers' manifests; nil if they have none.
    ///
    /// A damaged manifest stops the loader; a library that does not load is a fault only if no other driver's does.
    ///
    /// - Parameter paths: files and folders; files in folders of layers and those without `.json` are passed over.
    static func fault(of paths: [String]) -> Fault? {
        var unloadable: Fault?
        var hasDriver = false
        for path in paths where path.hasSuffix(".json") && !path.contains("/implicit_layer.d/") {
            let name = path.printable(maxBytes: 256)
            switch state(of: path) {
            case .loads: hasDriver = true
            case .damaged: return (.vulkanManifest, "the Vulkan driver's manifest \(name) is damaged")
            case .unloadable(let error):
                let reason = "the library of the Vulkan driver's manifest \(name) does not load: \(error)"
                unloadable = unloadable ?? (.vulkanLibrary, reason)
            case .otherArchitecture, nil: break
            }
        }
        return hasDriver ? nil : unloadable
    }

    /// The state of a manifest; nil for one that cannot be read.
    private static func state(of path: String) -> State? {
        let bytes: [UInt8]
        // The loader needs no manifest that cannot be read: another user's, or one just deleted.
        do { bytes = try BoundedFile.read(path, limit: 1 << 20) } catch { return nil }
        guard let manifest = try? JSON.decode(Manifest.self, from: bytes) else { return .damaged }
        guard ["64", nil].contains(manifest.driver.architecture) else { return .otherArchitecture }
        let library = manifest.driver.library
        // A path with a slash is relative to the manifest's folder, any other is the dynamic linker's to find.
        let isRelative = library.contains("/") && !library.hasPrefix("/")
        let file =
            isRelative ? path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex) + library : library[...]
        guard let handle = dlopen(String(file), RTLD_LAZY | RTLD_LOCAL) else {
            let error = dlerror().map { String(cString: $0).printable(maxBytes: 256) } ?? "it cannot be loaded"
            // glibc's words for a library of 32 bits beside this program's of 64, which the loader rightly ignores.
            guard !error.contains("wrong ELF class") else { return .otherArchitecture }
            return .unloadable(error)
        }
        dlclose(handle)
        return .loads
    }
}
