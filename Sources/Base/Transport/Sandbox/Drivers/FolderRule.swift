// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc
internal import HWDModel
internal import HWDSystem

/// Folders that are too broad to grant to a driver: those of users, of the system and of the daemon.
///
/// Single folders beneath them may be granted.
public enum SharedTrees {
    private static let paths = [
        "/boot", "/dev", "/dev/shm", "/etc", "/home", "/media", "/mnt", "/opt", "/proc", "/root", "/run",
        "/run/user", "/srv", "/sys", "/tmp", "/usr", "/var/cache", "/var/lib/hwdaemon", "/var/log", "/var/tmp",
    ]
    private static let trees = Set(paths.flatMap { [$0] + (ResolvedPath.of($0).map { [$0] } ?? []) })

    /// Whether a folder is such a tree, or has one beneath it.
    ///
    /// - Parameter folder: a path without links.
    public static func areOpened(by folder: String) -> Bool {
        let prefix = folder == "/" ? folder : folder + "/"
        return trees.contains { $0 == folder || $0.hasPrefix(prefix) }
    }
}

/// Which folders and files of drivers a sandbox grants: those that only root and the daemon's user can change, because
/// what is in them runs in the process.
struct FolderRule {
    /// Each folder in them is a user's.
    private static let foldersOfUsers = ["/home", "/run/user"].map { ResolvedPath.of($0) ?? $0 }

    /// Folders that are granted whatever is in them, without links.
    private let granted: [String]
    /// The users who may own what is granted: root, and in a user namespace its owner; and the process's user.
    private let owners: Set<uid_t>
    /// The groups that may write it: root's, and a person's own, which has the person's number.
    private let groups: Set<gid_t>
    /// The number that stands for all users and groups that the process's user namespace does not know; nil where it knows all.
    private let unknown: uid_t?

    init(granted: [String], unknown: uid_t? = Self.unknownOwner) {
        self.granted = granted.compactMap(ResolvedPath.of)
        self.unknown = unknown
        owners = Set([0, geteuid()] + (Self.status(of: "/").map { [$0.st_uid] } ?? [])).filter { $0 != unknown }
        groups = Set(getegid() == geteuid() && geteuid() >= 1000 ? [0, getegid()] : [0]).filter { $0 != unknown }
    }

    /// user_namespaces(7): the namespace knows all users where its map has 2³² − 1 numbers.
    private static let unknownOwner: uid_t? = {
        func words(_ path: String) -> [UInt32] {
            let bytes = (try? BoundedFile.read(path, limit: 1 << 16)) ?? []
            return bytes.split { $0 == 0x20 || $0 == 0x0a }
                .compactMap { UInt32(String(decoding: $0, as: UTF8.self)) }
        }
        let map = words("/proc/self/uid_map")
        return map.count == 3 && map[2] == .max ? nil : words("/proc/sys/kernel/overflowuid").first ?? 65534
    }()

    /// Whether a path without links is granted anyway.
    func isGranted(_ path: String) -> Bool { granted.contains { path == $0 || path.hasPrefix($0 + "/") } }

    /// Why a folder is not granted; nil where it may be.
    ///
    /// - Parameter folder: a path without links.
    func fault(ofFolder folder: String) -> String? {
        if SharedTrees.areOpened(by: folder) || Self.foldersOfUsers.contains(folder.parentFolder) {
            return "refused, because \(folder.printable(maxBytes: 200)) holds more than a driver"
        }
        return fault(ofFile: folder)
    }

    /// Why a file is not granted; nil where it may be.
    ///
    /// - Parameter path: without links.
    func fault(ofFile path: String) -> String? {
        var part = path
        while true {
            guard let status = Self.status(of: part) else { return String(cString: strerror(errno)) }
            let name = part.printable(maxBytes: 200)
            // It may be the root of the namespace around this one, or anyone there.
            if status.st_uid == unknown {
                return "refused, because the owner of \(name) is not known in this user namespace"
            }
            // The sticky bit keeps users from replacing what others own in a folder, not from adding to it.
            let isSticky = part != path && status.st_mode & S_ISVTX != 0
            // With an access control list, the group's bits are the most that it gives to anyone but the owner and others.
            let isGroupWritable = status.st_mode & S_IWGRP != 0
            let isOthers = status.st_mode & S_IWOTH != 0 || isGroupWritable && !groups.contains(status.st_gid)
            guard owners.contains(status.st_uid), isSticky || !isOthers else {
                return "refused, because users other than root and the daemon's can write \(name)"
            }
            guard isSticky || !isGroupWritable || !isListed(part) else {
                return "refused, because an access control list lets users other than root and the daemon's write "
                    + name
            }
            guard part != "/" else { return nil }
            part = part.parentFolder
        }
    }

    /// Why the links on the way to a file are not followed; nil where only root and the daemon's user made them.
    ///
    /// - Parameter path: absolute.
    func fault(ofLinksIn path: String) -> String? {
        var (folder, links) = ("", 0)
        var rest = Array(path.split(separator: "/").reversed())
        while let part = rest.popLast() {
            if part == "." { continue }
            if part == ".." {
                folder = String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)])
                continue
            }
            guard let target = ResolvedPath.link("\(folder)/\(part)") else {
                folder += "/\(part)"
                continue
            }
            links += 1
            // The most links that Linux follows (path_resolution(7)).
            guard links <= 40 else { return String(cString: strerror(ELOOP)) }
            if let fault = fault(ofFile: folder.isEmpty ? "/" : folder) { return fault }
            if target.hasPrefix("/") { folder = "" }
            rest += target.split(separator: "/").reversed()
        }
        return nil
    }

    /// Whether a file's access control list gives others the right to write (linux/posix_acl_xattr.h: a version, then entries of
    /// a tag, rights and a number).
    private func isListed(_ path: String) -> Bool {
        // XATTR_SIZE_MAX
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = chwd_access_list(FileName.bytes(path), &bytes, bytes.count)
        guard count != 0 else { return false }
        func integer(_ place: Int, _ size: Int) -> UInt32 {
            bytes[place..<place + size].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        guard count >= 4, integer(0, 4) == 2 else { return true }
        return stride(from: 4, through: count - 8, by: 8).contains { entry in
            guard integer(entry + 2, 2) & 2 != 0 else { return false }
            return switch integer(entry, 2) {
            case 2: !owners.contains(integer(entry + 4, 4))
            case 8: !groups.contains(integer(entry + 4, 4))
            default: false
            }
        }
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return stat(FileName.bytes(path), &status) == 0 ? status : nil
    }
}

extension String {
    /// The folder of an absolute path.
    var parentFolder: String {
        let slash = lastIndex(of: "/") ?? startIndex
        return slash == startIndex ? "/" : String(self[..<slash])
    }
}
