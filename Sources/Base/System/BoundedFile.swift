// SPDX-License-Identifier: MIT
internal import Glibc

/// Reads small files at paths that may lead to anything.
public enum BoundedFile {
    /// Why a file was not read.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        public let reason: String
        public var description: String { reason }
    }

    /// Reads a file of at most `limit` bytes.
    ///
    /// - Throws: the system's error, also for a larger file.
    public static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        // Nonblocking, so that opening a FIFO does not wait for a writer.
        let file = open(FileName.bytes(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else { throw Failure(reason: String(cString: strerror(errno))) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: max(1, min(limit, 1 << 16)))
        while true {
            let count = Glibc.read(file, &buffer, buffer.count)
            guard count >= 0 else { throw Failure(reason: String(cString: strerror(errno))) }
            if count == 0 { return bytes }
            bytes += buffer.prefix(count)
            guard bytes.count <= limit else { throw Failure(reason: "it is larger than \(limit) bytes") }
        }
    }
}
