// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel

/// Reads small files at paths that may lead to anything.
enum BoundedFile {
    private static let maxSize = 1 << 20

    /// Reads a file of at most 1 MiB.
    ///
    /// - Throws: `Parameter` with the system's error, or for a larger file.
    static func read(_ path: String) throws(SessionError) -> [UInt8] {
        // Nonblocking, so that opening a FIFO does not wait for a writer.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else { throw SessionError(.parameter, String(cString: strerror(errno))) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(file, &buffer, buffer.count)
            guard count >= 0 else { throw SessionError(.parameter, String(cString: strerror(errno))) }
            if count == 0 { return bytes }
            bytes += buffer.prefix(count)
            guard bytes.count <= maxSize else {
                throw SessionError(.parameter, "it is larger than \(maxSize) bytes")
            }
        }
    }
}
