// SPDX-License-Identifier: MIT
internal import Glibc

/// Which listening users a client trusts (docs/protocol.md, Who listens).
public enum PeerTrust {
    /// A folder in the path of a socket.
    public struct Folder: Hashable, Sendable {
        /// Its owner.
        public let owner: UInt32
        /// Its permission bits.
        public let mode: UInt32

        /// Describes a folder.
        public init(owner: UInt32, mode: UInt32) { (self.owner, self.mode) = (owner, mode) }
    }

    /// Whether a client trusts the user who listens: itself, root, or the only one who could have made the socket.
    ///
    /// - Parameters:
    ///   - peer: the user who listens.
    ///   - own: the client's user.
    ///   - socketOwner: the owner of the socket's file; nil without one.
    ///   - folders: all in its path, in any order; none if one of them is a symbolic link.
    public static func allows(peer: UInt32, own: UInt32, socketOwner: UInt32?, folders: [Folder]) -> Bool {
        if peer == own || peer == 0 { return true }
        guard socketOwner == peer, !folders.isEmpty else { return false }
        // With an access control list, the group's bits are the most that it grants.
        return folders.allSatisfy { [0, own, peer].contains($0.owner) && $0.mode & 0o022 == 0 }
    }

    /// The user who listens at `address`, to which `connection` leads; nil if this process trusts that user.
    public static func stranger(
        at address: String, _ connection: borrowing OwnedFD
    ) throws(SystemError) -> UInt32? {
        let peer = try PeerCredentials(of: connection.rawValue).uid
        var status = stat()
        let hasFile = !address.hasPrefix("@") && lstat(address, &status) == 0
        let isTrusted = allows(
            peer: peer, own: geteuid(), socketOwner: hasFile ? status.st_uid : nil,
            folders: hasFile ? folders(to: address) : [])
        return isTrusted ? nil : peer
    }

    /// The folders in an absolute path; none if one of them is a symbolic link, or for other paths.
    private static func folders(to path: String) -> [Folder] {
        guard path.hasPrefix("/") else { return [] }
        var found: [Folder] = []
        for slash in path.utf8.indices where path.utf8[slash] == UInt8(ascii: "/") {
            var status = stat()
            let folder = slash == path.startIndex ? "/" : String(path[..<slash])
            guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return [] }
            found.append(Folder(owner: status.st_uid, mode: status.st_mode & 0o7777))
        }
        return found
    }
}
