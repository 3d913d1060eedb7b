// SPDX-License-Identifier: MIT

/// The bytes of a file.
///
/// This module does no I/O of its own.
public protocol ByteSource {
    /// Bytes of the file.
    var length: UInt64 { get }

    /// All bytes of a range that is inside the file.
    /// - Throws: `unreadable` where that fails.
    func read(_ range: Range<UInt64>) throws(HEIFError) -> [UInt8]
}

/// A file in memory.
public struct MemorySource: ByteSource, Sendable {
    private let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public var length: UInt64 { UInt64(bytes.count) }

    public func read(_ range: Range<UInt64>) throws(HEIFError) -> [UInt8] {
        guard range.upperBound <= length else {
            throw HEIFError(.unreadable, "the file ends before byte \(range.upperBound)")
        }
        return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }
}
