// SPDX-License-Identifier: MIT
internal import Glibc
public import HWDWire

extension FileStamp {
    /// The stamp of a file in its present state.
    public init(now path: String) {
        self.init(path: path, stamp: Self.stamp(path))
    }

    /// Whether the file has not changed since the stamp was taken.
    public var holds: Bool { Self.stamp(path) == stamp }

    private static func stamp(_ path: String) -> String {
        var status = stat()
        guard !path.isEmpty, stat(path, &status) == 0 else { return "" }
        // A device's times do not identify it; its owner and mode decide who may open it.
        if status.st_mode & S_IFMT == S_IFCHR {
            return "device \(status.st_rdev) \(status.st_ino) \(status.st_uid):\(status.st_gid) \(status.st_mode)"
        }
        return "\(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(status.st_ino)"
    }
}
