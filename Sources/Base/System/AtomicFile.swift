// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// A file that appears under its name only when it is complete.
///
/// It is written without a name (O_TMPFILE), or under a hidden one in the target's directory where the file system
/// lacks that, and named by `complete`. What processes that were killed left in the directory is removed (`Leftovers`).
/// Its writer's lock guards it, so it may cross threads.
public final class AtomicFile: @unchecked Sendable {
    /// Why a file is not written.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// The kind of failure.
        public enum Kind: Hashable, Sendable {
            /// The file cannot be created.
            case cannotCreate
            /// Writing failed.
            case io
            /// The file is one that must not be replaced, or is complete already.
            case usage
        }

        /// The kind of failure.
        public let kind: Kind
        /// One line that names the file.
        public let reason: String
        /// The line.
        public var description: String { reason }

        init(_ kind: Kind, _ reason: String) { (self.kind, self.reason) = (kind, reason) }

        static func creating(_ path: String, errno error: Int32) -> Failure {
            Failure(.cannotCreate, "\(path) cannot be created: \(text(error))")
        }

        /// The failure of a write, by its errno.
        public static func writing(_ path: String, errno error: Int32) -> Failure {
            Failure(.io, "\(path) cannot be written: \(text(error))")
        }

        static func text(_ error: Int32) -> String { String(cString: strerror(error)) }
    }

    /// The name as the caller passed it.
    public let path: String
    /// Open for reading and writing until `complete` or `discard`; then -1, whose reads and writes fail with EBADF.
    ///
    /// A closed number may belong to another file, so nothing may be written to it.
    public private(set) var descriptor: Int32
    private let target: Target
    /// The name that `complete` gives: the target's, or one in the folder of a group.
    private let finalName: String
    private var hiddenName: String?
    private var isOpen = true
    private let replaces: Bool

    /// Opens a file to be named `path` later; refuses a path that is one of `inputs`.
    ///
    /// - Parameter replaces: whether it replaces a file that has the name when it is complete.
    /// - Throws: `cannotCreate`; `usage` for an output that is an input.
    public convenience init(_ path: String, inputs: [String] = [], replaces: Bool = true) throws(Failure) {
        let target = try Target(path)
        Leftovers.remove(in: target.directory)
        try self.init(target, inputs: inputs, finalName: target.file, replaces: replaces)
    }

    /// Opens a file that gets another name than its target's.
    init(_ target: Target, inputs: [String], finalName: String, replaces: Bool) throws(Failure) {
        (path, self.target, self.finalName, self.replaces) = (target.path, target, finalName, replaces)
        try Self.checkTarget(target.file, target.path, inputs)
        (descriptor, hiddenName) = try Self.openUnnamed(Self.directory(of: finalName), target.path)
    }

    /// The file that an output becomes.
    struct Target {
        /// The name as the caller passed it.
        let path: String
        /// The name with symbolic links resolved: a link stays one, and its target is replaced.
        let file: String
        /// The part of `file` before its last component, with the slash; `./` without one.
        let directory: String
        /// The last component of `file`.
        let name: String

        /// - Throws: `cannotCreate` for the name of a directory.
        init(_ path: String) throws(Failure) {
            self.path = path
            if let resolved = realpath(FileName.bytes(path), nil) {
                file = FileName.string(resolved)
                free(resolved)
            } else {
                file = path
            }
            name = file.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init) ?? ""
            guard !name.isEmpty, name != ".", name != ".." else {
                throw Failure(.cannotCreate, "\(path) cannot be created: it names a directory")
            }
            directory = AtomicFile.directory(of: file)
        }
    }

    /// The part of a name before its last component, with the slash; `./` without one.
    static func directory(of file: String) -> String {
        file.lastIndex(of: "/").map { String(file[...$0]) } ?? "./"
    }

    deinit { discard() }

    /// Waits until the contents are on the disk.
    ///
    /// - Throws: `io`.
    public func flush() throws(Failure) {
        guard fsync(descriptor) == 0 else {
            throw .writing(path, errno: errno)
        }
    }

    /// Gives the file its name, replacing a file that has it; `sync` waits until the bytes are on disk.
    ///
    /// - Throws: `cannotCreate`; `usage` for a file that is complete or discarded.
    public func complete(sync: Bool) throws(Failure) {
        guard isOpen else { throw Failure(.usage, "\(path) is already finished or discarded") }
        defer { discard() }
        keepPermissions()
        if sync { try flush() }
        if hiddenName == nil {
            // link(2) never replaces: a name that is taken needs rename(2) from a temporary one.
            if Self.link(descriptor, finalName) { return }
            guard errno == EEXIST, replaces else { throw .creating(path, errno: errno) }
            let name = Self.freshName(Self.directory(of: finalName))
            guard Self.link(descriptor, name) else { throw .creating(path, errno: errno) }
            hiddenName = name
        }
        guard let name = hiddenName else { return }
        guard Self.rename(AT_FDCWD, name, AT_FDCWD, finalName, replaces: replaces) else {
            throw .creating(path, errno: errno)
        }
        hiddenName = nil
    }

    /// Renames a file; false, with `errno`, where it fails, and where `replaces` is false and the new name is taken.
    ///
    /// Names are relative to open directories. Where the file system has no renames that never replace (NFS), it is a second
    /// name that is given, and the first one removed.
    static func rename(_ from: Int32, _ old: String, _ to: Int32, _ new: String, replaces: Bool) -> Bool {
        let (old, new) = (FileName.bytes(old), FileName.bytes(new))
        if replaces { return renameat(from, old, to, new) == 0 }
        errno = -chwd_rename_new(from, old, to, new)
        if errno == 0 { return true }
        guard errno == EINVAL, linkat(from, old, to, new, 0) == 0 else { return false }
        _ = unlinkat(from, old, 0)
        return true
    }

    /// Gives the file the permissions of the one it replaces, so that they never widen.
    ///
    /// Where the group cannot be kept, the new group gets only what everybody gets. Set-ID bits are not kept.
    private func keepPermissions() {
        var old = stat()
        guard stat(FileName.bytes(target.file), &old) == 0, old.st_mode & S_IFMT == S_IFREG else { return }
        var mode = old.st_mode & 0o777
        var new = stat()
        if fstat(descriptor, &new) != 0 || new.st_gid != old.st_gid, fchown(descriptor, .max, old.st_gid) != 0 {
            mode &= 0o707 | (mode & 0o007) << 3
        }
        _ = fchmod(descriptor, mode)
    }

    /// Deletes the file, unless it is committed.
    public func discard() {
        guard isOpen else { return }
        isOpen = false
        close(descriptor)
        descriptor = -1
        if let hiddenName { unlink(FileName.bytes(hiddenName)) }
        hiddenName = nil
    }

    private static func checkTarget(_ target: String, _ path: String, _ inputs: [String]) throws(Failure) {
        var status = stat()
        guard stat(FileName.bytes(target), &status) == 0 else { return }
        for input in inputs {
            var other = stat()
            let result = input == "-" ? fstat(STDIN_FILENO, &other) : stat(FileName.bytes(input), &other)
            guard result == 0 else { continue }
            if other.st_dev == status.st_dev, other.st_ino == status.st_ino {
                throw Failure(.usage, "\(path) is the input: the output needs another name")
            }
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            guard access(FileName.bytes(target), W_OK) == 0 else { throw .creating(path, errno: errno) }
        case S_IFDIR: throw Failure(.cannotCreate, "\(path) cannot be created: it is a directory")
        default: throw Failure(.cannotCreate, "\(path) cannot be replaced: it is not a regular file")
        }
    }

    private static func openUnnamed(
        _ directory: String, _ path: String
    ) throws(Failure) -> (descriptor: Int32, hiddenName: String?) {
        let unnamed = open(FileName.bytes(directory), __O_TMPFILE | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0o666)
        if unnamed >= 0 {
            // linkat(2) names the file through /proc, which may not be mounted.
            if access(procName(unnamed), F_OK) == 0 {
                // While `complete` replaces a file, this one has a hidden name, too.
                _ = OwnerLock.take(unnamed)
                return (unnamed, nil)
            }
            close(unnamed)
        } else if errno != EOPNOTSUPP, errno != EISDIR, errno != EINVAL {
            throw .creating(path, errno: errno)
        }
        while true {
            let name = freshName(directory)
            let named = open(FileName.bytes(name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            guard named >= 0 else { throw .creating(path, errno: errno) }
            if OwnerLock.keeps(named, name) { return (named, name) }
            close(named)
        }
    }

    private static func link(_ descriptor: Int32, _ name: String) -> Bool {
        linkat(AT_FDCWD, procName(descriptor), AT_FDCWD, FileName.bytes(name), AT_SYMLINK_FOLLOW) == 0
    }

    private static func procName(_ descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

    private static func freshName(_ directory: String) -> String {
        let random = String(UInt64.random(in: 0 ... .max), radix: 36)
        return "\(directory)\(Leftovers.filePrefix)\(random)\(Leftovers.fileSuffix)"
    }
}
