// SPDX-License-Identifier: MIT
import Glibc

/// A file that is written from its start.
public final class OutputFile {
    private let stream: UnsafeMutablePointer<FILE>

    /// Creates or truncates the file; nil when it cannot be opened.
    public init?(_ path: String) {
        guard let stream = fopen(path, "wbe") else { return nil }
        self.stream = stream
    }

    deinit { fclose(stream) }

    /// Appends bytes.
    public func write(_ bytes: [UInt8]) { fwrite(bytes, 1, bytes.count, stream) }
}
