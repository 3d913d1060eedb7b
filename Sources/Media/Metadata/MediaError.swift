// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
internal import enum HWDSystem.FileName

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
    package static func noLevels(_ path: String, codec: String) -> MediaError {
        MediaError(.unsupported, "\(path) is \(codec): temporal levels can be dropped from HEVC only")
    }
}
