// SPDX-License-Identifier: MIT
internal import Glibc

/// What outputs leave behind when their process is killed: hidden files and folders.
///
/// Their owner holds a lock (flock(2)), which ends with it. Only what this user owns and nobody has locked is removed, and no
/// symbolic link is followed. Where the file system has no locks, leftovers stay. Their names identify the
/// machine, because on some shared file systems a lock is visible on one machine only. A folder holds a file that says
/// whose it is: whoever can rename a folder of this user cannot have its contents removed.
enum Leftovers {
    static let filePrefix = ".hwd-\(machine)-"
    static let fileSuffix = ".tmp"
    /// The end of a hidden folder's name, before the six characters of mkdtemp(3).
    static let folderMark = ".hwd-parts-\(machine)-"
    private static let folderRandom = 6
    /// The file in a hidden folder without which its contents stay.
    static let ownershipName = "hwd-parts"

    /// A digest (FNV-1a) of this machine's identifier and name.
    private static let machine: String = {
        var name = [CChar](repeating: 0, count: 65)
        gethostname(&name, name.count)
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        let identifier = (try? BoundedFile.read("/etc/machine-id", limit: 64)) ?? []
        for byte in identifier + name.map({ UInt8(bitPattern: $0) }) {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        return String(hash, radix: 36)
    }()

    /// Removes those in a directory.
    ///
    /// Files that were getting their names together get back what they replaced (`FileGroup`).
    static func remove(in directory: String) {
        let found = Directory.hiddenNames(in: directory)
        guard found.contains(where: { isFile($0) || isFolder($0) }) else { return }
        let parent = open(FileName.bytes(directory), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { return }
        defer { close(parent) }
        for name in found where isFile(name) { removeFile(name, in: parent) }
        for name in found where isFolder(name) { removeFolder(name, in: parent) }
    }

    /// Removes the contents of an open hidden folder, the file of its ownership last.
    static func empty(_ folder: Int32) {
        removeContents(of: folder, except: ownershipName, depth: 2)
        unlinkat(folder, FileName.bytes(ownershipName), 0)
    }

    private static func removeContents(of folder: Int32, except kept: String?, depth: Int) {
        for name in Directory.names(of: folder) where name != kept {
            let name = FileName.bytes(name)
            if unlinkat(folder, name, 0) == 0 || depth == 0 { continue }
            let inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard inner >= 0 else { continue }
            removeContents(of: inner, except: nil, depth: depth - 1)
            close(inner)
            unlinkat(folder, name, AT_REMOVEDIR)
        }
    }

    private static func isFile(_ name: String) -> Bool {
        name.hasPrefix(filePrefix) && name.hasSuffix(fileSuffix)
    }

    private static func isFolder(_ name: String) -> Bool {
        name.hasPrefix(".") && name.dropLast(folderRandom).hasSuffix(folderMark)
    }

    private static func removeFile(_ name: String, in parent: Int32) {
        let name = FileName.bytes(name)
        // Looked at before it is opened: opening a device can have effects.
        guard let before = FileIdentity(name, in: parent, ofOwn: S_IFREG) else { return }
        let file = openat(parent, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        guard OwnerLock.take(file), FileIdentity(file) == before else { return }
        unlinkat(parent, name, 0)
    }

    private static func removeFolder(_ name: String, in parent: Int32) {
        let name = FileName.bytes(name)
        guard let before = FileIdentity(name, in: parent, ofOwn: S_IFDIR) else { return }
        let folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { return }
        defer { close(folder) }
        guard OwnerLock.take(folder), FileIdentity(folder) == before else { return }
        if FileIdentity(FileName.bytes(ownershipName), in: folder, ofOwn: S_IFREG) != nil {
            StagingFolder.undo(folder, in: parent)
            empty(folder)
        }
        unlinkat(parent, name, AT_REMOVEDIR)
    }
}

/// The lock that shows that the owner of a hidden file or folder is alive.
enum OwnerLock {
    /// Takes the lock; false where another process has it, or the file system has no locks.
    static func take(_ descriptor: Int32) -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    /// Takes the lock of what was created under a name; false where another process took it before and removes it.
    static func keeps(_ descriptor: Int32, _ name: String) -> Bool {
        guard take(descriptor) || errno != EWOULDBLOCK else { return false }
        return FileIdentity(FileName.bytes(name), in: AT_FDCWD) == FileIdentity(descriptor)
    }
}

/// Which file a name or a descriptor refers to.
public struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    private init(_ status: stat) { (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino)) }

    /// Nil for a descriptor that is closed.
    public init?(_ descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Nil without such a name; a symbolic link is not followed.
    init?(_ name: [CChar], in directory: Int32) {
        var status = stat()
        guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        self.init(status)
    }

    /// Nil, too, for what is not of a type, or not this user's, or a folder in which others can write.
    ///
    /// FAT has the permissions of its mount, by default those of 0755.
    init?(_ name: [CChar], in directory: Int32, ofOwn type: mode_t) {
        var status = stat()
        guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == type,
            status.st_uid == geteuid(), type != S_IFDIR || status.st_mode & 0o022 == 0
        else { return nil }
        self.init(status)
    }
}
