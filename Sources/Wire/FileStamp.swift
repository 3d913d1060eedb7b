// SPDX-License-Identifier: MIT

/// A file, or a folder or device, as it was when somebody looked.
public struct FileStamp: Codable, Hashable, Sendable {
    /// Where it lies.
    public var path: String
    /// What another content would have otherwise: size, time of change and number; empty where there was no file.
    public var stamp: String

    /// Names a file and how it was.
    public init(path: String, stamp: String) {
        self.path = path
        self.stamp = stamp
    }
}
