// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel

/// Reads files that may be anything.
enum BoundedFile {
    private static let maximum = 1 << 20

    /// A file's bytes, 1 MiB of them at most.
    ///
    /// - Throws: `Parameter` with what the system said, or for a larger file.
    static func read(_ path: String) throws(SessionError) -> [UInt8] {
        // Nonblocking, so that a FIFO by that name stops nobody.
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
            guard bytes.count <= maximum else {
                throw SessionError(.parameter, "it is larger than \(maximum) bytes")
            }
        }
    }
}
