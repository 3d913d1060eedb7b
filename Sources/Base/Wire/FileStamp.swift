// SPDX-License-Identifier: MIT

/// The state of a file, directory or device at one moment, to notice later changes.
public struct FileStamp: Codable, Hashable, Sendable {
    public var path: String
    /// Size, change time and inode number in one text; empty where there was no file.
    public var stamp: String

    public init(path: String, stamp: String) {
        self.path = path
        self.stamp = stamp
    }
}
