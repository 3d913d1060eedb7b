// SPDX-License-Identifier: MIT
public import HWClient
public import HWDModel
public import HWMovies

/// Why a recording cannot begin, or ends early.
public struct CaptureError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs to act on.
    public enum Code: Hashable, Sendable {
        /// The source's frames have a format that is not recorded, or a setting is out of its range.
        case format
        /// No frame came: there is no file.
        case noFrames
        /// The source failed.
        case source
        /// The compression session failed, or could not be had.
        case session(ClientError.Code)
        /// The file cannot be created or written.
        case file(MovieError.Code)
        /// The machine lacks memory, threads or descriptors.
        case system
    }

    public let code: Code
    /// One sentence in lower case, without a full stop.
    public let reason: String

    public init(_ code: Code, _ reason: String) { (self.code, self.reason) = (code, reason) }

    /// An error of the session.
    public init(_ error: ClientError) { self.init(.session(error.code), error.reason) }

    /// An error of the file.
    public init(_ error: MovieError) { self.init(.file(error.code), error.reason) }

    /// Any error: one of another kind is the source's.
    init(_ error: any Error) {
        switch error {
        case let error as CaptureError: self = error
        case let error as ClientError: self.init(error)
        case let error as MovieError: self.init(error)
        case let error as SystemError: self.init(.system, "the recording cannot be started: \(error)")
        default: self.init(.source, "\(error)")
        }
    }

    public var description: String { reason }

    /// The exit code of a program that ends because of this error.
    public var exitStatus: ExitStatus {
        switch code {
        case .format: .badInput
        case .noFrames: .noInput
        case .source: .ioError
        case .session(let code): ClientError(code, reason).exitStatus
        case .file(let code): MovieError(code, reason).exitStatus
        case .system: .software
        }
    }
}
