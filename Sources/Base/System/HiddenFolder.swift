// SPDX-License-Identifier: MIT
internal import Glibc

/// A hidden folder beside an output for files that are not complete, which only its user can enter.
///
/// It is removed with its files when it is released. A lock on it shows that its process is alive; the next output
/// in the same directory removes the folder of a process that was killed.
public final class HiddenFolder {
    /// Its path, which begins with the directory as the output's path names it.
    public let path: String
    /// Open until it is removed; then -1.
    private(set) var descriptor: Int32

    /// Creates the folder.
    ///
    /// - Throws: `cannotCreate`.
    public init(beside output: String) throws(AtomicFile.Failure) {
        let directory = AtomicFile.directory(of: output)
        Leftovers.remove(in: directory)
        (path, descriptor) = try Self.create(beside: output, in: directory)
    }

    private static func create(
        beside output: String, in directory: String
    ) throws(AtomicFile.Failure) -> (path: String, descriptor: Int32) {
        let last = output.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        // 40 characters have at most 160 bytes; a name may have 255.
        let start = String(last.unicodeScalars.prefix(40))
        while true {
            var name = FileName.bytes("\(directory).\(start)\(Leftovers.folderMark)XXXXXX")
            var folder: Int32 = -1
            if mkdtemp(&name) != nil { folder = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
            guard folder >= 0 else {
                let reason = AtomicFile.Failure.text(errno)
                throw AtomicFile.Failure(
                    .cannotCreate, "no folder for the parts of \(output) can be created: \(reason)")
            }
            let path = FileName.string(name)
            guard OwnerLock.keeps(folder, path) else {
                close(folder)
                continue
            }
            let mark = openat(
                folder, FileName.bytes(Leftovers.ownershipName), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard mark >= 0 else {
                let error = errno
                rmdir(name)
                close(folder)
                throw .creating(output, errno: error)
            }
            close(mark)
            return (path, folder)
        }
    }

    deinit { remove() }

    /// The path of a file in the folder.
    public func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Removes the folder and what is in it.
    public func remove() {
        guard descriptor >= 0 else { return }
        // A process that writes to the folder may not have ended yet.
        for _ in 0..<3 {
            Leftovers.empty(descriptor)
            if rmdir(FileName.bytes(path)) == 0 || errno != ENOTEMPTY { break }
        }
        close(descriptor)
        descriptor = -1
    }
}
