// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
public import HWDModel
internal import HWDSystem

/// An error in reading or writing a file.
public struct MediaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error, which determines the exit status.
    public enum Kind: Hashable, Sendable {
        /// The input does not exist, or is no file.
        case noInput
        /// The input is damaged, cut off, or of an unknown format.
        case badInput
        /// The output cannot be created.
        case cannotCreate
        /// Writing the output failed, as on a full disk.
        case cannotWrite
        /// Reading failed, or memory is exhausted.
        case io
        /// The input is not readable by the user.
        case noPermission
        /// The input, or the requested output, is of an unsupported kind.
        case unsupported
        /// `cancel()` was called.
        case interrupted
        /// Standard output is a pipe that nobody reads any more.
        case closedPipe
        /// Invalid use: an unknown file extension, an output that is the input, packets out of order.
        case usage
    }

    /// The kind of error.
    public let kind: Kind
    /// A one-line message that names the file.
    public let reason: String

    /// Makes an error; control characters in `reason`, such as those of a file name, are escaped.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = FileName.printable(reason)
    }

    /// The message.
    public var description: String { reason }

    /// The exit status of `hwctl` for this error.
    public var exitStatus: ExitStatus {
        switch kind {
        case .noInput: .noInput
        case .badInput, .unsupported: .badInput
        case .cannotCreate: .cannotCreate
        case .cannotWrite, .io, .interrupted, .closedPipe: .ioError
        case .noPermission: .noPermission
        case .usage: .usage
        }
    }
}

extension MediaError {
    /// The error for an input whose codec has no temporal levels that can be dropped.
    static func noLevels(_ path: String, codec: String) -> MediaError {
        MediaError(.unsupported, "\(path) is \(codec): temporal levels can be dropped from HEVC only")
    }

    /// The error for an input that cannot be opened, by errno.
    static func opening(_ path: String, errno error: Int32) -> MediaError {
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
    static func text(ofErrno error: Int32) -> String {
        strerror(error).map { String(cString: $0) } ?? "error \(error)"
    }

    /// libav's message for one of its error codes.
    static func text(ofLibAV code: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(AV_ERROR_MAX_STRING_SIZE)) { buffer in
            guard let start = buffer.baseAddress else { return "error \(code)" }
            clibav_error_text(code, start, buffer.count)
            return String(cString: start)
        }
    }
}
