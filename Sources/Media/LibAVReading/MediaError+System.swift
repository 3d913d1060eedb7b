// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
package import HWDMetadata

// Errors of the system and of libav.
extension MediaError {
    /// The error for an input that cannot be opened, by errno.
    package static func opening(_ path: String, errno error: Int32) -> MediaError {
        switch error {
        case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG:
            MediaError(.noInput, "\(path): \(text(ofErrno: error))")
        case EISDIR:
            MediaError(.noInput, "\(path) is a directory, not a media file")
        case EACCES, EPERM:
            MediaError(.noPermission, "\(path) cannot be read: \(text(ofErrno: error))")
        default:
            MediaError(.io, "\(path) cannot be opened: \(text(ofErrno: error))")
        }
    }

    /// The error for an output that cannot be created, by errno.
    static func creating(_ path: String, errno error: Int32) -> MediaError {
        MediaError(.cannotCreate, "\(path) cannot be created: \(text(ofErrno: error))")
    }

    /// The kind of a libav error code of reading.
    static func readingKind(_ code: Int32) -> Kind {
        if code == clibav_exit() { return .interrupted }
        switch clibav_errno(code) {
        case EIO, ENXIO, ESTALE: return .io
        default: return .badInput
        }
    }

    /// The system's message for an errno.
    package static func text(ofErrno error: Int32) -> String {
        strerror(error).map { String(cString: $0) } ?? "error \(error)"
    }

    /// libav's message for one of its error codes.
    package static func text(ofLibAV code: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(AV_ERROR_MAX_STRING_SIZE)) { buffer in
            guard let start = buffer.baseAddress else { return "error \(code)" }
            clibav_error_text(code, start, buffer.count)
            return String(cString: start)
        }
    }
}
