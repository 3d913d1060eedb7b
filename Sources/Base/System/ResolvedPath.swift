// SPDX-License-Identifier: MIT
internal import Glibc

/// Paths without symbolic links.
public enum ResolvedPath {
    /// The absolute path of a file with every link of the chain followed; nil where there is no such file.
    public static func of(_ path: String) -> String? {
        guard let found = realpath(FileName.bytes(path), nil) else { return nil }
        defer { free(found) }
        return FileName.string(found)
    }

    /// The text of a symbolic link, which need not lead to a file; nil for anything else.
    public static func link(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink(FileName.bytes(path), &buffer, buffer.count)
        guard length >= 0 else { return nil }
        return FileName.string(buffer.prefix(length).map { UInt8(bitPattern: $0) })
    }
}
