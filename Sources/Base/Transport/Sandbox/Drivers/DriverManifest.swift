// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDModel
public import HWDSystem

/// A file that names the library of a driver or of layers to its loader (LoaderDriverInterface.md,
/// LoaderLayerInterface.md, and for EGL icd_enumeration.md of libglvnd).
public struct DriverManifest: Sendable {
    /// Why a manifest names nothing.
    public enum Fault: Error, Hashable, Sendable {
        /// The system's reason.
        case unreadable(String)
        case damaged
    }

    /// A library, as its manifest describes it.
    public struct Library: Decodable, Sendable {
        /// A path, or a bare name that the dynamic linker looks for.
        public var path: String?
        /// Bits of an address in the library's architecture, `32` or `64`; nil if the manifest does not say.
        public var architecture: String?

        enum CodingKeys: String, CodingKey {
            case path = "library_path"
            case architecture = "library_arch"
        }

        /// Whether programs of this architecture load it.
        public var isOwnArchitecture: Bool { ["64", nil].contains(architecture) }
    }

    private struct Document: Decodable {
        var driver: Library?
        var layer: Library?
        var layers: [Library]?

        enum CodingKeys: String, CodingKey {
            case layer, layers
            case driver = "ICD"
        }
    }

    public let path: String
    /// The driver's library; nil in a layer's manifest.
    public let driver: Library?
    private let layers: [Library]

    /// Reads a manifest.
    public init(_ path: String) throws(Fault) {
        let bytes: [UInt8]
        do throws(BoundedFile.Failure) { bytes = try BoundedFile.read(path, limit: 1 << 20) } catch {
            throw .unreadable(error.reason)
        }
        guard let document = try? JSON.decode(Document.self, from: bytes) else { throw .damaged }
        self.path = path
        driver = document.driver
        layers = (document.layer.map { [$0] } ?? []) + (document.layers ?? [])
    }

    /// The libraries for programs of this architecture: absolute paths, and names that the dynamic linker looks for.
    var libraries: [String] {
        ((driver.map { [$0] } ?? []) + layers).filter(\.isOwnArchitecture).compactMap { $0.path.map(path(of:)) }
    }

    /// A library's path: a relative one starts at the manifest's folder; a bare name is left to the dynamic linker.
    public func path(of library: String) -> String {
        guard library.contains("/"), !library.hasPrefix("/"), path.contains("/") else { return library }
        return "\(path.parentFolder)/\(library)"
    }
}

/// Where the loaders of drivers and layers look for manifests.
public struct ManifestSearchPaths: Sendable {
    /// Manifests of Vulkan drivers and folders of them, which need not exist.
    public private(set) var vulkanDrivers: [String] = []
    /// Those of layers of Vulkan that are loaded in every process, or in this one.
    public private(set) var vulkanLayers: [String] = []
    /// Those of EGL's drivers.
    private(set) var egl: [String] = []

    /// Follows the loaders' rules.
    ///
    /// - Parameter environment: the process's variables.
    public init(environment: (String) -> String? = Environment.value) {
        func list(_ name: String) -> [String]? {
            environment(name).map { $0.split(separator: ":").map(String.init) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        let folders = Self.vulkanFolders(list)
        func beneath(_ name: String) -> [String] { folders.map { "\($0)/vulkan/\(name)" } }
        vulkanDrivers =
            list("VK_DRIVER_FILES") ?? list("VK_ICD_FILENAMES")
            ?? (list("VK_ADD_DRIVER_FILES") ?? []) + beneath("icd.d")
        vulkanLayers = list("VK_IMPLICIT_LAYER_PATH") ?? beneath("implicit_layer.d")
        vulkanLayers += list("VK_ADD_IMPLICIT_LAYER_PATH") ?? []
        // The daemon's programs enable no explicit layer; the environment can.
        if list("VK_INSTANCE_LAYERS") != nil {
            vulkanLayers += list("VK_LAYER_PATH") ?? beneath("explicit_layer.d")
            vulkanLayers += list("VK_ADD_LAYER_PATH") ?? []
        }
        egl =
            list("__EGL_VENDOR_LIBRARY_FILENAMES") ?? list("__EGL_VENDOR_LIBRARY_DIRS")
            ?? ["/etc/glvnd/egl_vendor.d", "/usr/share/glvnd/egl_vendor.d"]
    }

    /// The folders in which Vulkan's loader looks for its own.
    private static func vulkanFolders(_ list: (String) -> [String]?) -> [String] {
        func home(_ variable: String, _ folder: String) -> [String] {
            list(variable) ?? list("HOME")?.map { "\($0)/\(folder)" } ?? []
        }
        return home("XDG_CONFIG_HOME", ".config") + (list("XDG_CONFIG_DIRS") ?? ["/etc/xdg"])
            + ["/etc", "/usr/local/etc"] + home("XDG_DATA_HOME", ".local/share")
            + (list("XDG_DATA_DIRS") ?? ["/usr/local/share", "/usr/share"])
    }

    /// The manifests in a folder, or the one at a file's path.
    public static func manifests(at path: String) -> [String] {
        let names = try? Directory.names(in: path, limit: 64).filter { !$0.hasPrefix(".") }.sorted()
        return (names?.map { "\(path)/\($0)" } ?? [path]).filter {
            $0.hasSuffix(".json") && (access(FileName.bytes($0), F_OK) == 0 || errno == EACCES)
        }
    }
}
