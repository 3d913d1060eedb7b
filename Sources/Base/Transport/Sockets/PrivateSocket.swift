// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// The sockets of private daemons, in a folder that no other user can enter (docs/protocol.md, A private daemon).
public enum PrivateSocket {
    /// Listens in `folder`, usually `$XDG_RUNTIME_DIR`, if it is this user's alone, else on an abstract address.
    public static func listen(in folder: String?) throws(SystemError) -> OwnedFD {
        if let folder, let listener = try? listen(inOwn: folder) { return listener }
        return try UnixSocket.listenAbstractAutobind()
    }

    /// Removes the sockets in the folder of the one at `path` that nobody listens on: their daemons were killed.
    public static func removeStale(beside path: String, names: [String]) {
        guard let slash = path.lastIndex(of: "/") else { return }
        guard let lock = try? lockFolder(String(path[..<slash]), LOCK_EX) else { return }
        defer { _ = lock.rawValue }
        for name in names where isName(name) {
            let other = "\(path[...slash])\(name)"
            var status = stat()
            guard other != path, lstat(other, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { continue }
            do throws(SystemError) {
                _ = try UnixSocket.connect(to: other, timeout: .zero)
            } catch {
                if error.errno == ECONNREFUSED { unlink(other) }
            }
        }
    }

    private static func isName(_ name: String) -> Bool {
        name.hasPrefix("hwdaemon-private-") && name.hasSuffix(".sock")
    }

    private static func listen(inOwn folder: String) throws(SystemError) -> OwnedFD {
        let lock = try lockFolder(folder, LOCK_SH)
        defer { _ = lock.rawValue }
        let path = "\(folder)/hwdaemon-private-\(String(UInt64.random(in: 0...UInt64.max), radix: 16)).sock"
        let socket = OwnedFD(try syscall("socket") { chwd_socket_stream() })
        try UnixSocket.bind(socket, path)
        return try UnixSocket.startListening(consume socket)
    }

    /// Locks a folder, without waiting, if no other user can enter it.
    ///
    /// A process that creates a socket takes it shared: between bind(2) and listen(2) a socket refuses connections
    /// as a stale one does.
    private static func lockFolder(_ folder: String, _ operation: Int32) throws(SystemError) -> OwnedFD {
        guard folder.hasPrefix("/") else { throw SystemError(errno: EINVAL, call: "open", subject: folder) }
        let file = OwnedFD(
            try syscall("open", folder) { negated(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) })
        let number = file.rawValue
        var status = stat()
        try syscall("fstat", folder) { negated(fstat(number, &status)) }
        guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw SystemError(errno: EPERM, call: "open", subject: folder)
        }
        try syscall("flock", folder) { negated(flock(number, operation | LOCK_NB)) }
        return file
    }
}
