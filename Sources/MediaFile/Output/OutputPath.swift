// SPDX-License-Identifier: GPL-2.0-or-later

/// File extensions of outputs, which select their formats.
enum OutputPath {
    /// The extension of a path's last component in lower case; empty without one.
    static func fileExtension(_ path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        return name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
    }

    /// The error for an extension that is none of `known`.
    static func unknownExtension(_ path: String, known: [String]) -> MediaError {
        let list = known.map { ".\($0)" }.joined(separator: ", ")
        return MediaError(.usage, "\(path): the file extension of an output must be one of \(list)")
    }
}
