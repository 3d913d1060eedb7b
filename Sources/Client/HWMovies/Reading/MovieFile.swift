// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDSystem

/// A movie in a file, which is open while this exists.
///
/// Its length is that at opening: what is appended later is not seen.
public final class MovieFile: MovieSource {
    public let length: UInt64
    /// The device and the number on it.
    let identity: (device: UInt64, inode: UInt64)
    private let descriptor: Int32
    private let path: String

    /// Opens a regular file.
    /// - Throws: `unreadable` for anything else, and with the system's error.
    public init(path: String) throws(MovieError) {
        let printable = FileName.printable(path)
        // Nonblocking, so that opening a FIFO does not wait for a writer.
        descriptor = open(FileName.bytes(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        self.path = printable
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            let reason = String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw MovieError(.unreadable, "\(printable) cannot be read: \(reason)")
        }
        guard status.st_mode & S_IFMT == S_IFREG, let length = UInt64(exactly: status.st_size) else {
            close(descriptor)
            throw MovieError(.unreadable, "\(printable) cannot be read: it is not a regular file")
        }
        self.length = length
        identity = (UInt64(status.st_dev), UInt64(status.st_ino))
    }

    deinit { close(descriptor) }

    public func read(_ range: Range<UInt64>) throws(MovieError) -> [UInt8] {
        guard range.upperBound <= length, let start = Int64(exactly: range.lowerBound) else {
            throw MovieError(.truncated, "\(path) ends before byte \(range.upperBound)")
        }
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            failure = PositionedIO.read(descriptor, into: UnsafeMutableRawBufferPointer(buffer), at: start)
            count = failure == 0 ? buffer.count : 0
        }
        guard failure == 0 else {
            var status = stat()
            if fstat(descriptor, &status) == 0, UInt64(clamping: status.st_size) < range.upperBound {
                throw MovieError(.truncated, "\(path) has become shorter than \(range.upperBound) bytes")
            }
            throw MovieError(.unreadable, "\(path) cannot be read: \(String(cString: strerror(failure)))")
        }
        return bytes
    }
}

extension Movie {
    /// Opens a file.
    /// - Throws: `unreadable`, and what `init(_:)` throws.
    public init(path: String) throws(MovieError) { try self.init(MovieFile(path: path)) }
}
