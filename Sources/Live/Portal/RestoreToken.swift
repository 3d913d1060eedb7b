// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem

/// The file of what a portal gave, so that the same screen or window needs no dialog again.
package struct RestoreToken {
    /// `$XDG_STATE_HOME/hwdaemon/screencast-KIND`, or under `~/.local/state`.
    package let path: String
    private let folder: String

    /// Bytes of a token at most; portals have those of a UUID.
    private static let limit = 4096

    /// - Parameters:
    ///   - kind: what was chosen; a choice is used again for the same kind only.
    ///   - variable: a variable of the environment; nil where it is not set.
    /// - Returns: nil where neither variable has a folder.
    package init?(_ kind: String, _ variable: (String) -> String? = Environment.value) {
        func absolute(_ name: String) -> String? { variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        guard let state = absolute("XDG_STATE_HOME") ?? absolute("HOME").map({ $0 + "/.local/state" }) else {
            return nil
        }
        folder = state + "/hwdaemon"
        path = "\(folder)/screencast-\(kind)"
    }

    /// The token; nil where there is none that can be one.
    package func read() -> String? {
        guard let bytes = try? BoundedFile.read(path, limit: Self.limit),
            let token = String(validating: bytes, as: UTF8.self), Self.isToken(token)
        else { return nil }
        return token
    }

    /// Replaces the token, for this user alone to read; without one, which is used once, the file is removed.
    /// - Returns: why it is not kept; nil where it is.
    package func write(_ token: String?) -> String? {
        // First, so that no permissions of the earlier file are kept.
        unlink(FileName.bytes(path))
        guard let token else { return nil }
        guard Self.isToken(token) else { return "the portal's token is too long, or no text" }
        createFolder()
        do throws(AtomicFile.Failure) {
            let file = try AtomicFile(path)
            let bytes = Array(token.utf8)
            guard fchmod(file.descriptor, 0o600) == 0 else { throw .writing(path, errno: errno) }
            let result = bytes.withUnsafeBytes { PositionedIO.write(file.descriptor, $0, at: 0) }
            guard result == 0 else { throw .writing(path, errno: result) }
            try file.complete(sync: false)
            return nil
        } catch { return error.reason }
    }

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= limit
            && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    }

    /// Creates the folders that are missing; a file in one that cannot be created fails with the reason.
    private func createFolder() {
        var path = ""
        for name in folder.split(separator: "/") {
            path += "/\(name)"
            mkdir(FileName.bytes(path), 0o700)
        }
    }
}
