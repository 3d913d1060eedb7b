// SPDX-License-Identifier: MIT
internal import Glibc

/// Files that get their names together: all of them, or none.
///
/// Each is completed in a hidden folder of its own directory. If one cannot get its name, the others lose theirs,
/// and files that were replaced are restored. If the process is killed meanwhile, the next output in the directory
/// does that.
public final class FileGroup {
    private var folders: [StagingFolder] = []
    private let replaces: Bool

    /// - Parameter replaces: whether the files replace those that have their names.
    public init(replaces: Bool = true) { self.replaces = replaces }

    /// Opens a file of the group; its `complete` must come before that of the group.
    ///
    /// - Throws: `cannotCreate`; `usage` for an output that is an input.
    public func file(_ path: String, inputs: [String] = []) throws(AtomicFile.Failure) -> AtomicFile {
        let target = try AtomicFile.Target(path)
        let directory = FileIdentity(FileName.bytes(target.directory), in: AT_FDCWD)
        let folder: StagingFolder
        if let known = folders.first(where: { $0.identity == directory }) {
            folder = known
        } else {
            folder = try StagingFolder(target)
            folders.append(folder)
        }
        return try folder.file(target, inputs)
    }

    /// Gives the files their names.
    ///
    /// - Throws: `cannotCreate`; no file has its name then.
    public func complete() throws(AtomicFile.Failure) {
        defer { folders = [] }
        do throws(AtomicFile.Failure) {
            for folder in folders { try folder.place(replaces: replaces) }
        } catch {
            for folder in folders { folder.undo() }
            throw error
        }
        for folder in folders { folder.commit() }
    }
}

/// The files of a group in one directory, before they have their names.
///
/// Its hidden folder has the folder `new`, with the files under the names that they get, the folder `old`, with what they
/// replace, and the file `placing` while names are given.
final class StagingFolder {
    /// The identity of the directory.
    let identity: FileIdentity?
    private let folder: HiddenFolder
    private let parent: Int32
    private let new: Int32
    private let old: Int32
    /// The files in their order.
    private var targets: [AtomicFile.Target] = []
    private var names: Set<[CChar]> = []

    private static let newName = "new"
    private static let oldName = "old"
    private static let markName = "placing"
    private static let nextName = "next"

    init(_ first: AtomicFile.Target) throws(AtomicFile.Failure) {
        let folder = try HiddenFolder(beside: first.file)
        mkdirat(folder.descriptor, Self.newName, 0o700)
        mkdirat(folder.descriptor, Self.oldName, 0o700)
        self.folder = folder
        parent = open(FileName.bytes(first.directory), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        identity = FileIdentity(parent)
        new = Self.openFolder(Self.newName, in: folder.descriptor)
        old = Self.openFolder(Self.oldName, in: folder.descriptor)
        guard parent >= 0, new >= 0, old >= 0 else { throw .creating(first.path, errno: errno) }
    }

    deinit { for descriptor in [parent, new, old] where descriptor >= 0 { close(descriptor) } }

    func file(_ target: AtomicFile.Target, _ inputs: [String]) throws(AtomicFile.Failure) -> AtomicFile {
        guard names.insert(FileName.bytes(target.name)).inserted else {
            throw AtomicFile.Failure(.usage, "\(target.path) would be written twice")
        }
        let name = folder.file("\(Self.newName)/\(target.name)")
        let file = try AtomicFile(target, inputs: inputs, finalName: name, replaces: true)
        targets.append(target)
        return file
    }

    /// Gives the files their names.
    ///
    /// - Throws: `cannotCreate`; `undo` then restores what was there.
    func place(replaces: Bool) throws(AtomicFile.Failure) {
        let mark = openat(folder.descriptor, Self.markName, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard mark >= 0 else { throw .creating(targets.first?.path ?? folder.path, errno: errno) }
        close(mark)
        if replaces { for target in targets { try keepOld(target) } }
        for target in targets { try place(target, replaces) }
    }

    /// Keeps a file that is replaced: under a second name, or moved where the file system has no second names.
    private func keepOld(_ target: AtomicFile.Target) throws(AtomicFile.Failure) {
        let name = FileName.bytes(target.name)
        var status = stat()
        guard fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .creating(target.path, errno: EEXIST) }
        guard linkat(parent, name, old, name, 0) == 0 || renameat(parent, name, old, name) == 0 else {
            throw .creating(target.path, errno: errno)
        }
    }

    /// The file stays in `new` under a second name, by which `undo` recognizes it; where the file system has no second names, a
    /// file that got a name which none had stays after a failure.
    private func place(_ target: AtomicFile.Target, _ replaces: Bool) throws(AtomicFile.Failure) {
        let hasSecondName = linkat(new, FileName.bytes(target.name), folder.descriptor, Self.nextName, 0) == 0
        let (from, name) = hasSecondName ? (folder.descriptor, Self.nextName) : (new, target.name)
        guard AtomicFile.rename(from, name, parent, target.name, replaces: replaces) else {
            throw .creating(target.path, errno: errno)
        }
    }

    func undo() { Self.undo(folder.descriptor, in: parent) }

    /// Makes the names final.
    func commit() { unlinkat(folder.descriptor, Self.markName, 0) }

    /// Restores what was in a directory before the files of a hidden folder began to get their names there.
    ///
    /// What has been replaced or modified since then stays.
    static func undo(_ folder: Int32, in parent: Int32) {
        guard let begin = modificationTime(FileName.bytes(markName), in: folder) else { return }
        let (new, old) = (openFolder(newName, in: folder), openFolder(oldName, in: folder))
        defer { for descriptor in [new, old] where descriptor >= 0 { close(descriptor) } }
        guard new >= 0, old >= 0 else { return }
        for name in Set((Directory.names(of: new) + Directory.names(of: old)).map(FileName.bytes)) {
            if let time = modificationTime(name, in: parent), time > begin { continue }
            let (mine, before) = (FileIdentity(name, in: new), FileIdentity(name, in: old))
            let now = FileIdentity(name, in: parent)
            // Without second names, a file that is no longer in `new` has its name.
            let isPlaced = now != nil && (mine == nil || mine == now)
            if before != nil {
                if isPlaced || now == nil, before != now { renameat(old, name, parent, name) }
            } else if isPlaced {
                unlinkat(parent, name, 0)
            }
        }
        unlinkat(folder, markName, 0)
    }

    /// In nanoseconds; nil without such a name.
    private static func modificationTime(_ name: [CChar], in folder: Int32) -> Int64? {
        var status = stat()
        guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    }

    private static func openFolder(_ name: String, in folder: Int32) -> Int32 {
        openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }
}
