// SPDX-License-Identifier: MIT
internal import HWDBoxes
public import HWDModel

/// Why a movie, a track or a packet cannot be read, or a movie cannot be written.
public struct MovieError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs to act on.
    public enum Code: Hashable, Sendable {
        /// The file ends before its movie box, or before a packet does.
        case truncated
        /// The file contradicts itself or the standard.
        case malformed
        /// The file is legal and needs something that this module lacks.
        case unsupported
        /// The file exceeds one of `MovieLimits`.
        case limit
        /// The bytes of the file cannot be read.
        case unreadable
        /// The file is being recorded.
        case inUse
        /// The file cannot be created.
        case cannotCreate
        /// Writing failed.
        case io
        /// The caller passed what no movie can hold.
        case usage
    }

    public let code: Code
    /// One sentence in lower case, without a full stop.
    public let reason: String

    public init(_ code: Code, _ reason: String) { (self.code, self.reason) = (code, reason) }

    public var description: String { reason }

    /// The exit code of a program that ends because of this error.
    public var exitStatus: ExitStatus {
        switch code {
        case .truncated, .malformed, .unsupported, .limit: .badInput
        case .unreadable: .noInput
        case .inUse: .tryLater
        case .cannotCreate: .cannotCreate
        case .io: .ioError
        case .usage: .software
        }
    }
}

/// Runs `body` and turns a fault in a box into an error of this module.
func checkingBoxes<Value>(_ body: () throws(BoxError) -> Value) throws(MovieError) -> Value {
    do throws(BoxError) { return try body() } catch { throw MovieError(.malformed, error.reason) }
}
