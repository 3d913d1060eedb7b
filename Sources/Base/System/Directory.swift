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
        return names(stream, limit: limit) { _ in true }
    }

    /// The names in a directory that begin with a dot, except `.` and `..`; none where it cannot be read.
    static func hiddenNames(in path: String) -> [String] {
        guard let stream = opendir(FileName.bytes(path)) else { return [] }
        defer { closedir(stream) }
        return names(stream, limit: .max) { $0 == UInt8(ascii: ".") }
    }

    /// The names in an open directory except `.` and `..`; none where it cannot be read.
    static func names(of descriptor: Int32) -> [String] {
        let own = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard own >= 0 else { return [] }
        guard let stream = fdopendir(own) else {
            close(own)
            return []
        }
        defer { closedir(stream) }
        return names(stream, limit: .max) { _ in true }
    }

    /// - Parameter isWanted: whether names with this first byte are.
    private static func names(_ stream: OpaquePointer, limit: Int, _ isWanted: (UInt8) -> Bool) -> [String] {
        var names: [String] = []
        while names.count < limit, let entry = readdir(stream) {
            guard isWanted(UInt8(bitPattern: entry.pointee.d_name.0)) else { continue }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                FileName.string(Array(bytes.prefix { $0 != 0 }))
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
