// SPDX-License-Identifier: MIT
internal import Glibc

/// The entries of a directory.
public enum Directory {
    /// Why a directory cannot be read.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// The error number of opendir(3).
        public let errno: Int32

        /// The C library's text for the number.
        public var description: String { String(cString: strerror(errno)) }
    }

    /// The names in a directory except `.` and `..`, in the file system's order, as `FileName` represents bytes.
    ///
    /// - Parameter limit: the most names that are read, which bounds the memory for a directory that others write.
    public static func names(in path: String, limit: Int = .max) throws(Failure) -> [String] {
        guard let stream = opendir(FileName.bytes(path)) else { throw Failure(errno: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while names.count < limit, let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                FileName.string(Array(bytes.prefix { $0 != 0 }))
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
