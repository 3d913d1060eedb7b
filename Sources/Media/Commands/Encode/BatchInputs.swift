// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDModel
internal import HWDSystem

/// The files that `--output-dir` encodes: those that are named, and the videos in folders that are named.
enum BatchInputs {
    /// Extensions of videos, by which a folder's files are chosen; other files in it are left out.
    static let extensions: Set = [
        "3gp", "avi", "flv", "h264", "h265", "hevc", "m2ts", "m4v", "mkv", "mov", "mp4", "mpeg", "mpg", "mts",
        "mxf", "nut",
        "ogv", "ts", "vob", "webm", "wmv", "y4m",
    ]

    /// The files, folders replaced by their videos in the order of their names; folders within folders are left out,
    /// which a line says.
    ///
    /// - Throws: `noInput` for a folder without videos, or one that cannot be read.
    static func files(_ names: [String]) throws(CommandFailure) -> [String] {
        var files: [String] = []
        for name in names {
            guard isFolder(name) else {
                files.append(name)
                continue
            }
            let videos = try videos(in: name)
            guard !videos.files.isEmpty else { throw CommandFailure(.noInput, "there is no video in \(name)") }
            files += videos.files
            if let others = leftOut(videos.others, videos.folders) { Console.note("\(name): \(others) left out") }
        }
        return files
    }

    /// Whether a name is that of a folder.
    static func isFolder(_ name: String) -> Bool {
        var status = stat()
        return stat(FileName.bytes(name), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Creates a folder for outputs, with those above it, unless it is there.
    ///
    /// - Throws: `cannotCreate`.
    static func createFolder(_ path: String) throws(CommandFailure) {
        var parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)[...]
        var current = parts.popFirst() ?? path
        while true {
            if !current.isEmpty, mkdir(FileName.bytes(current), 0o777) != 0, errno != EEXIST {
                throw CommandFailure(.cannotCreate, "\(current): \(String(cString: strerror(errno)))")
            }
            guard let next = parts.popFirst() else { break }
            if !next.isEmpty { current += "/\(next)" }
        }
        if !isFolder(path) { throw CommandFailure(.cannotCreate, "\(path) is not a directory") }
    }

    /// How many files and folders of a folder are not encoded, in words; nil for none.
    private static func leftOut(_ others: Int, _ folders: Int) -> String? {
        let parts = [(others, "other file"), (folders, "folder")].filter { $0.0 > 0 }
            .map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }
        return parts.isEmpty ? nil : parts.joined(separator: " and ")
    }

    /// The videos in a folder, and the numbers of its other files and of its folders, without hidden ones.
    private static func videos(
        in folder: String
    ) throws(CommandFailure) -> (files: [String], others: Int, folders: Int) {
        let names: [String]
        do throws(Directory.Failure) {
            names = try Directory.names(in: folder)
        } catch { throw CommandFailure(.noInput, "\(folder): \(error)") }
        let separator = folder.hasSuffix("/") ? "" : "/"
        let paths = names.sorted().filter { !$0.hasPrefix(".") }.map { "\(folder)\(separator)\($0)" }
        let files = paths.filter { !isFolder($0) }
        let videos = files.filter(isVideo)
        return (videos, files.count - videos.count, paths.count - files.count)
    }

    private static func isVideo(_ name: String) -> Bool {
        guard let dot = name.lastIndex(of: ".") else { return false }
        return extensions.contains(name[name.index(after: dot)...].lowercased())
    }
}
