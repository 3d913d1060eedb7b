// SPDX-License-Identifier: MIT

/// The bytes of a movie.
public protocol MovieSource: Sendable {
    /// Bytes of the file.
    var length: UInt64 { get }

    /// All bytes of a range that is inside the file.
    /// - Throws: `unreadable` where that fails; `truncated` where the file has become shorter.
    func read(_ range: Range<UInt64>) throws(MovieError) -> [UInt8]
}

/// A movie in memory.
public struct MovieMemory: MovieSource {
    private let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public var length: UInt64 { UInt64(bytes.count) }

    public func read(_ range: Range<UInt64>) throws(MovieError) -> [UInt8] {
        guard range.upperBound <= length else {
            throw MovieError(.truncated, "the file ends before byte \(range.upperBound)")
        }
        return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }
}
