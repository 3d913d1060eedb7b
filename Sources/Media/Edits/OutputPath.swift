// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDMetadata

/// File extensions of outputs, which select their formats.
package enum OutputPath {
    /// The extension of a path's last component in lower case; empty without one.
    package static func fileExtension(_ path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        return name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
    }

    /// Whether a name is a URL, such as `https://example.org/a.mp4`, and not a file's.
    package static func isURL(_ path: String) -> Bool {
        guard let end = path.utf8.firstIndex(of: UInt8(ascii: ":")), end > path.utf8.startIndex,
            path.utf8[end...].starts(with: "://".utf8)
        else { return false }
        // RFC 3986 3.1.
        return path.utf8[..<end].allSatisfy { byte in
            ("a"..."z").contains(Character(Unicode.Scalar(byte | 0x20))) || "+-.0123456789".utf8.contains(byte)
        }
    }

    /// The error for an extension that is none of `known`.
    package static func unknownExtension(_ path: String, known: [String]) -> MediaError {
        let list = known.map { ".\($0)" }.joined(separator: ", ")
        return MediaError(.usage, "\(path): the file extension of an output must be one of \(list)")
    }
}
