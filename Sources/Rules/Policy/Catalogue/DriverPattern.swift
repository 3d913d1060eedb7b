// SPDX-License-Identifier: GPL-2.0-or-later

/// Numbers separated by dots, compared one by one; a missing number is 0.
public struct DriverVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The numbers without trailing zeros.
    public let numbers: [Int]

    /// Reads `22.3.6`: one to eight numbers of at most nine digits; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard 1...8 ~= parts.count else { return nil }
        var numbers: [Int] = []
        for part in parts {
            guard 1...9 ~= part.utf8.count, part.utf8.allSatisfy(Glob.isDigit), let number = Int(part)
            else { return nil }
            numbers.append(number)
        }
        while numbers.last == 0 { numbers.removeLast() }
        self.numbers = numbers
    }

    public static func < (left: DriverVersion, right: DriverVersion) -> Bool {
        left.numbers.lexicographicallyPrecedes(right.numbers)
    }

    public var description: String {
        numbers.isEmpty ? "0" : numbers.map(String.init).joined(separator: ".")
    }
}

/// A pattern for a driver's vendor string: `*` matches any text, `{version}` (at most once) matches its version.
///
/// Example: `Mesa Gallium driver {version} for AMD *`.
public struct DriverPattern: Hashable, Sendable {
    private let before: Glob
    private let after: Glob?

    public struct Match: Hashable, Sendable {
        /// Nil when the pattern has no `{version}`.
        public var version: DriverVersion?
    }

    /// Nil for an empty pattern and for a second `{version}`.
    public init?(_ text: String) {
        var parts: [Glob] = []
        var rest = Array(text.utf8)[...]
        let mark = Array("{version}".utf8)
        var part: [UInt8] = []
        while let byte = rest.first {
            if rest.starts(with: mark) {
                parts.append(Glob(part))
                part = []
                rest = rest.dropFirst(mark.count)
            } else {
                part.append(byte)
                rest = rest.dropFirst()
            }
        }
        guard !text.isEmpty, parts.count <= 1 else { return nil }
        before = parts.first ?? Glob(part)
        after = parts.isEmpty ? nil : Glob(part)
    }

    /// Matches the whole of `text`, case-sensitively; nil when it does not match.
    public func match(_ text: String) -> Match? {
        let bytes = Array(text.utf8)
        guard let after else { return before.matches(bytes[...]) ? Match(version: nil) : nil }
        var start = 0
        while start < bytes.count {
            guard Glob.isDigit(bytes[start]) else {
                start += 1
                continue
            }
            // The longest run of digits and dots that ends in a digit, so that numbers are never split.
            var end = start
            while end < bytes.count, Glob.isDigit(bytes[end]) || bytes[end] == UInt8(ascii: ".") { end += 1 }
            let next = end
            while bytes[end - 1] == UInt8(ascii: ".") { end -= 1 }
            if let version = DriverVersion(String(decoding: bytes[start..<end], as: UTF8.self)),
                before.matches(bytes[..<start]), after.matches(bytes[end...])
            {
                return Match(version: version)
            }
            start = next
        }
        return nil
    }
}

/// A pattern in which `*` matches any text, including none.
struct Glob: Hashable, Sendable {
    private let pattern: [UInt8]

    init(_ pattern: [UInt8]) { self.pattern = pattern }
    init(_ pattern: String) { self.pattern = Array(pattern.utf8) }

    static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    func matches(_ text: String) -> Bool { matches(Array(text.utf8)[...]) }

    /// Backtracks to the last `*` only, which is sufficient: the steps are at most the product of both lengths.
    func matches(_ text: ArraySlice<UInt8>) -> Bool {
        var position = 0
        var index = text.startIndex
        var star: (position: Int, index: Int)?
        while index < text.endIndex {
            if position < pattern.count, pattern[position] == UInt8(ascii: "*") {
                star = (position, index)
                position += 1
            } else if position < pattern.count, pattern[position] == text[index] {
                position += 1
                index += 1
            } else if let last = star {
                star = (last.position, last.index + 1)
                position = last.position + 1
                index = last.index + 1
            } else {
                return false
            }
        }
        return pattern[position...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
