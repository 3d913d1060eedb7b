// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDSystem

/// Finds libraries as the dynamic linker does (ld.so(8)).
struct LibrarySearch {
    /// A library, and the folders in which those that it needs are looked for.
    struct Library: Hashable {
        var path: String
        /// DT_RPATH of the libraries that led to it.
        var inherited: [String] = []
    }

    /// LD_LIBRARY_PATH.
    private let folders: [String]
    private let cache: LinkerCache

    /// The linker's own folders; which of them it has depends on the distribution.
    #if arch(x86_64)
        private static let tuple = "x86_64-linux-gnu"
    #else
        private static let tuple = "aarch64-linux-gnu"
    #endif
    static let defaultFolders = [
        "/lib/\(tuple)", "/usr/lib/\(tuple)", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
    ]

    /// - Parameter cache: the path of the linker's list.
    init(folders: [String], cache: String) {
        self.folders = folders
        self.cache = LinkerCache(cache)
    }

    /// The folders of all libraries that are found by their names alone.
    var listedFolders: [String] { cache.folders }

    /// The libraries that one needs, where they are found.
    ///
    /// - Parameter isSystem: whether it is in a folder of the system's. Such a library needs others of the system's, and those in the
    ///   listed folders, if it names no folder of its own: they are not looked for.
    func needs(of library: Library, isSystem: Bool) -> [Library] {
        guard let header = LibraryHeader(library.path),
            !isSystem || !(header.rPath + header.runPath + library.inherited).isEmpty
        else { return [] }
        let own = Self.expanded(header.rPath, library.path)
        let inherited = header.runPath.isEmpty ? own + library.inherited : library.inherited
        let before = header.runPath.isEmpty ? inherited : []
        let after = Self.expanded(header.runPath, library.path)
        return header.needed.flatMap { name in
            files(named: name, before: before, after: after).map { Library(path: $0, inherited: inherited) }
        }
    }

    /// The files of a name; more than one where the processor decides, none where it is not found.
    ///
    /// - Parameters:
    ///   - before: folders before those of the environment.
    ///   - after: folders after them.
    func files(named name: String, before: [String] = [], after: [String] = []) -> [String] {
        guard !name.contains("/") else { return name.hasPrefix("/") && Self.exists(name) ? [name] : [] }
        if let file = Self.file(name, before + folders + after) { return [file] }
        let listed = cache[name].filter(Self.exists)
        return listed.isEmpty ? Self.file(name, Self.defaultFolders).map { [$0] } ?? [] : listed
    }

    private static func file(_ name: String, _ folders: [String]) -> String? {
        folders.lazy.map { "\($0)/\(name)" }.first(where: exists)
    }

    private static func exists(_ path: String) -> Bool { access(FileName.bytes(path), F_OK) == 0 }

    /// Folders of a library with `$ORIGIN` replaced by its own; folders with other tokens of the linker are left out.
    private static func expanded(_ folders: [String], _ library: String) -> [String] {
        folders.compactMap { folder in
            guard folder.contains("$") else { return folder.hasPrefix("/") ? folder : nil }
            for token in ["$ORIGIN", "${ORIGIN}"] where folder.hasPrefix(token) {
                let rest = folder.dropFirst(token.count)
                return rest.contains("$") ? nil : library.parentFolder + rest
            }
            return nil
        }
    }
}
