// SPDX-License-Identifier: MIT

/// Why bytes do not follow the H.265 syntax, or why a structure cannot be written in it.
public struct BitstreamError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs to act on.
    public enum Code: Hashable, Sendable {
        /// The data end before the syntax does.
        case truncated
        /// A syntax element has a value that the standard or a limit of this module forbids.
        case outOfRange
        /// The structure contradicts itself or lacks a mandatory bit.
        case malformed
        /// Legal syntax that this module does not interpret.
        case unsupported
        /// A parameter set that is referred to has not been seen.
        case missingParameterSet
    }

    public let code: Code
    /// What is wrong, naming the syntax element: lower case, without a full stop.
    public let reason: String

    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { reason }
}
