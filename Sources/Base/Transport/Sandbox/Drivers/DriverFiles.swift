// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDModel
internal import HWDSystem
public import HWDWire

/// The files of the drivers that are installed on this machine, found as the drivers' loaders find them, and which of them
/// a sandbox grants.
public struct DriverFiles: Sendable {
    /// What loads a driver.
    public enum Interface: Sendable {
        case vulkan, vaapi
        /// CUDA and NVIDIA's decoder.
        case nvdec
        /// NVIDIA's encoder, which needs CUDA as well.
        case nvenc
        /// EGL, Vulkan's layers and its loader.
        case other
    }

    /// A driver, and what its loader opens.
    private struct Driver {
        var interface: Interface
        /// Its manifest, or its library where it has none.
        var path: String
        /// The manifest, the library and all that it needs.
        var files: [String]
    }

    private var drivers: [Driver] = []
    /// Why files and folders are not granted.
    private var refused: [String: String] = [:]
    /// What the sandbox grants for reading, beside the system's folders.
    private(set) var rows: [FileRules.Row] = []

    /// The libraries of one driver at most, and the manifests and libraries of all: more than any machine has.
    private static let (maxLibraries, maxDrivers) = (512, 256)

    /// Vulkan's loader, which programs open by its name.
    public static let vulkanLoader = "libvulkan.so.1"

    /// What libavcodec opens by name for NVIDIA's decoder.
    public static let nvdecLibraries = ["libcuda.so.1", "libnvcuvid.so.1"]

    /// What it opens for NVIDIA's encoder, besides libcuda.
    public static let nvencLibrary = "libnvidia-encode.so.1"

    /// Variables that name folders of drivers, separated by colons.
    private static let folderVariables = [
        "LIBVA_DRIVERS_PATH", "LIBGL_DRIVERS_PATH", "GBM_BACKENDS_PATH", "LD_LIBRARY_PATH",
    ]

    /// No files, for a process that opens no driver.
    init() {}

    /// Finds the files, which no sandbox may prevent.
    ///
    /// - Parameters:
    ///   - environment: the process's variables.
    ///   - granted: folders that the sandbox grants whatever is in them.
    ///   - linkerCache: the dynamic linker's list.
    init(environment: (String) -> String?, granted: [String], linkerCache: String = "/etc/ld.so.cache") {
        func list(_ name: String) -> [String] {
            (environment(name) ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        }
        var search = Search(
            rule: FolderRule(granted: granted),
            libraries: LibrarySearch(folders: list("LD_LIBRARY_PATH"), cache: linkerCache))
        let paths = ManifestSearchPaths(environment: environment)
        // Drivers open more libraries by their names alone, as NVIDIA's that of CUDA.
        for folder in search.libraries.listedFolders + Self.folderVariables.flatMap(list) {
            search.grant(folder: folder)
        }
        add(search.libraries.files(named: Self.vulkanLoader), as: .other, Self.vulkanLoader, &search)
        for name in Self.nvdecLibraries {
            add(search.libraries.files(named: name), as: .nvdec, name, &search)
        }
        add(search.libraries.files(named: Self.nvencLibrary), as: .nvenc, Self.nvencLibrary, &search)
        for path in paths.vulkanDrivers { add(manifestsAt: path, as: .vulkan, &search) }
        for path in paths.vulkanLayers + paths.egl { add(manifestsAt: path, as: .other, &search) }
        let videoFolders = list("LIBVA_DRIVERS_PATH")
        for folder in videoFolders.isEmpty
            ? (LibrarySearch.defaultFolders + ["/run/opengl-driver/lib"]).map({ "\($0)/dri" }) : videoFolders
        {
            let names = (try? Directory.names(in: folder, limit: 256)) ?? []
            for name in names.sorted() where name.hasSuffix("_drv_video.so") {
                add(["\(folder)/\(name)"], as: .vaapi, "\(folder)/\(name)", &search)
            }
        }
        (rows, refused) = (search.rows, search.refused)
    }

    /// Adds the manifests in a folder, or the one at a path, with the libraries that they name.
    private mutating func add(manifestsAt source: String, as interface: Interface, _ search: inout Search) {
        if !source.hasSuffix(".json") { search.grant(folder: source) }
        for path in ManifestSearchPaths.manifests(at: source) {
            // What others can write names no folder to grant; what the user may not read is not the sandbox's fault.
            guard search.grant(file: path), let manifest = try? DriverManifest(path) else {
                if access(FileName.bytes(path), R_OK) == 0, drivers.count < Self.maxDrivers {
                    drivers.append(Driver(interface: interface, path: path, files: [path]))
                }
                continue
            }
            // A manifest for another architecture is none of this program's.
            guard manifest.driver?.isOwnArchitecture ?? true else { continue }
            add(
                manifest.libraries.flatMap { search.libraries.files(named: $0) }, as: interface, path, &search,
                manifest: path)
        }
    }

    /// Adds a driver with its libraries and all that they need.
    private mutating func add(
        _ libraries: [String], as interface: Interface, _ path: String, _ search: inout Search,
        manifest: String? = nil
    ) {
        guard drivers.count < Self.maxDrivers, manifest != nil || !libraries.isEmpty else { return }
        var queue = libraries.map { LibrarySearch.Library(path: $0) }
        var seen = Set(queue)
        var files = manifest.map { [$0] } ?? []
        while let library = queue.popLast(), files.count < Self.maxLibraries {
            files.append(library.path)
            // A library that cannot be opened loads no others.
            guard search.grant(library: library.path) else { continue }
            queue += search.needs(of: library).filter { seen.insert($0).inserted }
        }
        drivers.append(Driver(interface: interface, path: path, files: files))
    }
}

extension DriverFiles {
    /// The drivers of an interface, by their manifests or libraries.
    public func drivers(of interface: Interface) -> [String] {
        drivers.filter { $0.interface == interface }.map(\.path)
    }

    /// The drivers of an interface that this process cannot open: once the sandbox has closed, those that it keeps away.
    public func refused(of interface: Interface) -> [RefusedDriver] {
        drivers.filter { $0.interface == interface }.compactMap { driver in
            for file in driver.files {
                guard let reason = refused[file] ?? Self.fault(opening: file) else { continue }
                return RefusedDriver(driver: driver.path, path: file, reason: reason)
            }
            return nil
        }
    }

    /// Why a file cannot be opened for lack of permission; nil where it can be, or for another reason.
    private static func fault(opening path: String) -> String? {
        let file = open(FileName.bytes(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard file < 0 else {
            close(file)
            return nil
        }
        return [EACCES, EPERM].contains(errno) ? String(cString: strerror(errno)) : nil
    }

    /// The state of a search: rows and refusals so far, and libraries that were read.
    private struct Search {
        let rule: FolderRule
        let libraries: LibrarySearch
        var rows: [FileRules.Row] = []
        var refused: [String: String] = [:]
        private var needs: [LibrarySearch.Library: [LibrarySearch.Library]] = [:]
        private var grantedLibraries: [String: Bool] = [:]
        /// Libraries in the system's folders.
        private var ofSystem: Set<String> = []

        init(rule: FolderRule, libraries: LibrarySearch) {
            (self.rule, self.libraries) = (rule, libraries)
        }

        mutating func needs(of library: LibrarySearch.Library) -> [LibrarySearch.Library] {
            if let known = needs[library] { return known }
            let found = libraries.needs(of: library, isSystem: ofSystem.contains(library.path))
            needs[library] = found
            return found
        }

        /// Grants a folder in which a loader looks.
        mutating func grant(folder path: String) {
            guard path.hasPrefix("/"), let folder = ResolvedPath.of(path), !isGranted(folder) else { return }
            if let fault = rule.fault(ofLinksIn: path) ?? rule.fault(ofFolder: folder) {
                refused[path] = fault
            } else {
                rows.append(FileRules.Row(path: folder, rights: .read))
            }
        }

        /// Grants a file, whatever else is in its folder.
        ///
        /// - Returns: whether it can be opened.
        mutating func grant(file path: String) -> Bool {
            guard let file = ResolvedPath.of(path) else { return false }
            guard !isGranted(file) else { return true }
            if let fault = rule.fault(ofLinksIn: path) ?? rule.fault(ofFile: file) {
                refused[path] = fault
                return false
            }
            rows.append(FileRules.Row(path: file, rights: .readFile))
            return true
        }

        /// Grants the folder of a library's file, because drivers open more files there by name.
        ///
        /// - Returns: whether the library can be opened.
        mutating func grant(library path: String) -> Bool {
            if let known = grantedLibraries[path] { return known }
            guard let file = ResolvedPath.of(path) else { return false }
            let folder = file.parentFolder
            if rule.isGranted(file) {
                ofSystem.insert(path)
            } else if !isGranted(file) {
                if let fault = rule.fault(ofLinksIn: path) ?? rule.fault(ofFolder: folder)
                    ?? rule.fault(ofFile: file)
                {
                    refused[path] = fault
                } else if LibraryHeader(file) == nil {
                    // A manifest may name any file, such as a key in a folder of root's.
                    refused[path] = "refused, because it is no library for this processor"
                } else {
                    rows.append(FileRules.Row(path: folder, rights: .read))
                }
            }
            grantedLibraries[path] = refused[path] == nil
            return refused[path] == nil
        }

        /// Whether a path without links is granted already.
        private func isGranted(_ path: String) -> Bool {
            rule.isGranted(path) || rows.contains { path == $0.path || path.hasPrefix($0.path + "/") }
        }
    }
}
