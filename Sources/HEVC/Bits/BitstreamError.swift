// SPDX-License-Identifier: GPL-2.0-or-later

/// Why bytes are not the H.265 syntax they should be, or why a structure cannot be written as such.
public struct BitstreamError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for a program to act on.
    public enum Code: Hashable, Sendable {
        /// The data end before the syntax does.
        case truncated
        /// A syntax element has a value the standard (or a bound of this module) forbids.
        case outOfRange
        /// The structure contradicts itself or lacks a mandatory bit.
        case malformed
        /// Legal syntax that this module does not interpret.
        case unsupported
        /// A parameter set that is referred to has not been seen.
        case missingParameterSet
    }

    /// The kind of failure.
    public let code: Code
    /// One sentence for a person, naming the syntax element.
    public let reason: String

    /// An error with its kind and one sentence.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// The sentence.
    public var description: String { reason }
}
