// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem
internal import HWDTransport

/// The socket's file, removed at the end unless another daemon's socket has replaced it.
struct SocketFile {
    let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Identifies the socket at `path`; nil if there is none any more.
    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        device = status.st_dev
        inode = status.st_ino
    }

    /// Identifies the file of an inherited socket; nil if it has none.
    init?(inherited number: Int32) {
        guard let path = try? UnixSocket.address(of: number), path.hasPrefix("/") else { return nil }
        self.init(path)
    }

    /// Removes the file if it is still the same socket.
    func remove() {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
        unlink(path)
    }

    /// Removes the sockets in its folder of private daemons that were killed together with their clients.
    func removeStaleNeighbors() {
        guard let slash = path.lastIndex(of: "/") else { return }
        guard let names = try? Directory.names(in: String(path[..<slash])) else { return }
        PrivateSocket.removeStale(beside: path, names: names)
    }
}
