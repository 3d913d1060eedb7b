// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
public import HWDModel

/// Why a file could not be read or written: a kind for programs and one sentence for people.
public struct MediaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What sort of thing went wrong.
    public enum Kind: Hashable, Sendable {
        /// The input is not there, or is no file.
        case noInput
        /// The input's bytes are damaged, cut off, or of no known format.
        case badInput
        /// The output cannot be created where it was asked for.
        case cannotCreate
        /// Reading or writing failed half way.
        case io
        /// The caller may not read the input.
        case noPermission
        /// The input or what the output should hold is of a kind that is not supported.
        case unsupported
        /// `cancel()` was called.
        case interrupted
        /// The call itself is wrong: an unknown ending, an output that is the input, packets out of order.
        case usage
    }

    /// What sort of thing went wrong.
    public let kind: Kind
    /// What went wrong, in one line, naming the file.
    public let reason: String

    /// Makes an error; line breaks in `reason` become spaces.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = String(reason.map { $0.isNewline ? " " : $0 })
    }

    /// `reason`.
    public var description: String { reason }

    /// The exit code of `hwctl` that stands for this error.
    public var exitStatus: ExitStatus {
        switch kind {
        case .noInput: .noInput
        case .badInput, .unsupported: .badInput
        case .cannotCreate: .cannotCreate
        case .io, .interrupted: .ioError
        case .noPermission: .noPermission
        case .usage: .usage
        }
    }
}

extension MediaError {
    /// The error for an input of which no temporal level can be dropped.
    static func noLevels(_ path: String, codec: String) -> MediaError {
        MediaError(.unsupported, "\(path) is \(codec): temporal levels are dropped from HEVC alone")
    }

    /// The error for an input that a system call refused with `error`.
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

    /// The error for an output that a system call refused to create with `error`.
    static func creating(_ path: String, errno error: Int32) -> MediaError {
        MediaError(.cannotCreate, "\(path) cannot be created: \(text(ofErrno: error))")
    }

    /// The kind of failure that a libav code means while reading.
    static func readingKind(_ code: Int32) -> Kind {
        if code == clibav_exit() { return .interrupted }
        switch clibav_errno(code) {
        case EIO, ENXIO, ESTALE: return .io
        default: return .badInput
        }
    }

    /// The system's words for an errno.
    static func text(ofErrno error: Int32) -> String {
        strerror(error).map { String(cString: $0) } ?? "error \(error)"
    }

    /// libav's words for one of its codes.
    static func text(ofLibAV code: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(AV_ERROR_MAX_STRING_SIZE)) { buffer in
            guard let start = buffer.baseAddress else { return "error \(code)" }
            clibav_error_text(code, start, buffer.count)
            return String(cString: start)
        }
    }
}
