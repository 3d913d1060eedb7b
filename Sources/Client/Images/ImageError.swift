// SPDX-License-Identifier: MIT
public import HWClient
package import HWDHEIF
public import HWDModel
package import HWDSystem
internal import HWDTransport

/// Why a picture cannot be read or written.
public struct ImageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for control flow.
    public enum Code: Hashable, Sendable {
        /// The file does not exist.
        case noInput
        /// The user may not read the file.
        case noPermission
        /// The file is damaged, cut off, or no HEIF file.
        case damaged
        /// The file has no such item, or the picture no such auxiliary one.
        case noSuchPicture
        /// The file, or what was requested, needs something that this library lacks, or exceeds its limits.
        case unsupported
        /// A parameter is wrong.
        case parameter
        /// The output cannot be created.
        case cannotCreate
        /// Reading or writing failed.
        case io
        /// Hardware is required and cannot be used.
        case noHardware
        /// The task was canceled, or `isCancelled` returned true.
        case cancelled
        /// The daemon cannot be reached, or a session failed.
        case client(ClientError.Code)
        /// A fault inside this library or a session's process.
        case fault
    }

    /// The kind of failure.
    public let code: Code
    /// A one-line message, which names the file.
    public let reason: String

    /// Makes an error; control characters in `reason`, such as those of a file name, are escaped.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = FileName.printable(reason)
    }

    /// The message.
    public var description: String { reason }

    /// The exit code of a program that ends because of this error.
    public var exitStatus: ExitStatus {
        switch code {
        case .noInput: .noInput
        case .noPermission: .noPermission
        case .damaged, .noSuchPicture, .unsupported: .badInput
        case .parameter: .usage
        case .cannotCreate: .cannotCreate
        case .io, .cancelled: .ioError
        case .noHardware: .unavailable
        case .client(let code): ClientError(code, reason).exitStatus
        case .fault: .software
        }
    }
}

extension ImageError {
    package static let cancelled = ImageError(.cancelled, "canceled")

    /// The error for a HEIF file that cannot be read or written.
    package init(_ error: HEIFError, _ path: String) {
        let code: Code =
            switch error.code {
            case .unreadable: .io
            case .unsupported, .limit: .unsupported
            default: .damaged
            }
        self.init(code, "\(path): \(error.reason)")
    }

    /// The error for a file that is not written.
    package init(_ failure: AtomicFile.Failure) {
        let code: Code =
            switch failure.kind {
            case .cannotCreate: .cannotCreate
            case .io: .io
            case .usage: .parameter
            }
        self.init(code, failure.reason)
    }

    init(_ error: ClientError) {
        let code: Code =
            switch error.code {
            case .session(.couldNotFindVideoEncoder), .session(.couldNotFindVideoDecoder): .noHardware
            // What is wrong with a picture is no fault of its session.
            case .session where error.exitStatus == .badInput: .damaged
            default: .client(error.code)
            }
        self.init(code, error.reason)
    }

    /// Any error of this library's parts.
    init(_ error: any Error) {
        switch error {
        case let error as ImageError: self = error
        case let error as ClientError: self.init(error)
        case let error as SessionError: self.init(ClientError(error))
        default: self.init(.fault, "\(error)")
        }
    }

    /// Calls `body`, whose errors become this type.
    static func wrapping<Value>(_ body: () throws -> Value) throws(ImageError) -> Value {
        do { return try body() } catch { throw ImageError(error) }
    }
}
