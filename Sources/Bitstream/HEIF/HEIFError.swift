// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// Why a HEIF file cannot be read, or why one cannot be written.
public struct HEIFError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs to act on.
    public enum Code: Hashable, Sendable {
        /// The file ends before its boxes or its pictures do.
        case truncated
        /// The file contradicts itself or the standard.
        case malformed
        /// The file is legal and needs something that this module lacks.
        case unsupported
        /// The file exceeds one of `HEIFLimits`.
        case limit
        /// Items refer to each other in a circle.
        case cycle
        /// The bytes of the file cannot be read.
        case unreadable
    }

    public let code: Code
    /// One sentence in lower case, without a full stop.
    public let reason: String

    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// A fault in a box.
    init(_ error: BoxError) { self.init(.malformed, error.reason) }

    public var description: String { reason }
}

/// Runs `body` and turns a fault in a box into an error of this module.
func checkingBoxes<Value>(_ body: () throws(BoxError) -> Value) throws(HEIFError) -> Value {
    do throws(BoxError) { return try body() } catch { throw HEIFError(error) }
}
