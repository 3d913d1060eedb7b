// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A table of colors from a .cube file (IRIDAS, Adobe).
///
/// Two tables are equal if they are the same object.
public final class CubeTable: Sendable {
    /// The longest text that is read.
    public static let maxBytes = EffectTable.maxTableBytes
    /// The most entries of an axis.
    public static let maxSize = (line: 65536, cube: 129)

    /// Whether it has three dimensions, or else one for each channel.
    public let isCube: Bool
    /// Entries of an axis, at least 2.
    public let size: Int
    /// The color of the first entry.
    public let low: Triple
    /// The color of the last entry, above `low`.
    public let high: Triple
    /// R, G and B of each entry, red fastest.
    public let values: [Float]

    /// Reads the text of a file.
    ///
    /// Numbers have a point in every locale. Comments, unknown keywords before the data and text after the three numbers of a row
    /// are ignored.
    /// - Throws: `Parameter`, with the line and what is wrong there.
    public init(text: [UInt8]) throws(SessionError) {
        guard text.count <= Self.maxBytes else {
            throw SessionError(.parameter, "the table has more than \(Self.maxBytes >> 20) MiB")
        }
        var parser = CubeParser()
        let hasMark = text.starts(with: [0xEF, 0xBB, 0xBF])
        var number = 1
        var rest = text.dropFirst(hasMark ? 3 : 0)[...]
        while !rest.isEmpty {
            let end = rest.firstIndex { $0 == 0x0A || $0 == 0x0D } ?? rest.endIndex
            let line = rest[..<end]
            rest = rest[end...]
            let isReturn = rest.first == 0x0D
            rest = rest.dropFirst()
            if isReturn, rest.first == 0x0A { rest = rest.dropFirst() }
            do throws(SessionError) { try parser.take(line) } catch {
                throw SessionError(.parameter, "line \(number): \(error.reason)")
            }
            number += 1
        }
        guard let size = parser.size else { throw SessionError(.parameter, "the table has no size") }
        let expected = parser.isCube ? size * size * size : size
        guard parser.values.count == 3 * expected else {
            throw SessionError(.parameter, "the table has \(parser.values.count / 3) rows, not \(expected)")
        }
        guard parser.low.x < parser.high.x, parser.low.y < parser.high.y, parser.low.z < parser.high.z else {
            throw SessionError(.parameter, "the table's domain is empty")
        }
        (isCube, self.size) = (parser.isCube, size)
        (low, high, values) = (parser.low, parser.high, parser.values)
    }
}

extension CubeTable {
    /// A text of the same table without what is not needed.
    public var compactText: String {
        func words(_ triple: Triple) -> String { "\(triple.x) \(triple.y) \(triple.z)" }
        var text = isCube ? "LUT_3D_SIZE \(size)\n" : "LUT_1D_SIZE \(size)\n"
        if low != .zero { text += "DOMAIN_MIN \(words(low))\n" }
        if high != .one { text += "DOMAIN_MAX \(words(high))\n" }
        for index in stride(from: 0, to: values.count, by: 3) {
            text += "\(values[index]) \(values[index + 1]) \(values[index + 2])\n"
        }
        return text
    }
}

extension CubeTable: Hashable {
    public static func == (first: CubeTable, second: CubeTable) -> Bool { first === second }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// What the lines of a .cube file have said so far.
private struct CubeParser {
    var isCube = false
    var size: Int?
    var low = Triple.zero
    var high = Triple.one
    var values: [Float] = []

    mutating func take(_ line: ArraySlice<UInt8>) throws(SessionError) {
        // Words are few and short, except for comments and titles.
        let words = line.prefix { $0 != UInt8(ascii: "#") }.split(maxSplits: 4) { $0 == 0x20 || $0 == 0x09 }
        guard let first = words.first?.first else { return }
        switch first {
        case 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            let row = try Self.triple(words.prefix(3).map { String(decoding: $0, as: UTF8.self) })
            if values.count >= 3 * mostRows { throw SessionError(.parameter, "there are too many rows") }
            values.append(Float(row.x))
            values.append(Float(row.y))
            values.append(Float(row.z))
        default:
            try take(words.map { String(decoding: $0, as: UTF8.self) })
        }
    }

    private var mostRows: Int {
        let (line, cube) = CubeTable.maxSize
        return size.map { isCube ? $0 * $0 * $0 : $0 } ?? max(line, cube * cube * cube)
    }

    private mutating func take(_ words: [String]) throws(SessionError) {
        switch words[0].uppercased() {
        case "LUT_1D_SIZE", "LUT_3D_SIZE":
            guard size == nil else {
                throw SessionError(.parameter, "a second size: tables of both kinds in one file are not supported")
            }
            isCube = words[0].uppercased() == "LUT_3D_SIZE"
            let most = isCube ? CubeTable.maxSize.cube : CubeTable.maxSize.line
            guard let number = words.dropFirst().first.flatMap({ Int($0) }), (2...most).contains(number) else {
                let shown = words.count > 1 ? words[1].printable(maxBytes: 32) : "none"
                throw SessionError(.parameter, "the size is \(shown), not 2 to \(most)")
            }
            size = number
        case "DOMAIN_MIN": low = try Self.triple(Array(words.dropFirst().prefix(3)))
        case "DOMAIN_MAX": high = try Self.triple(Array(words.dropFirst().prefix(3)))
        case "LUT_1D_INPUT_RANGE", "LUT_3D_INPUT_RANGE":
            guard words.count > 2 else { throw SessionError(.parameter, "a range has two numbers") }
            low = try Self.triple([words[1], words[1], words[1]])
            high = try Self.triple([words[2], words[2], words[2]])
        case "TITLE": break
        case "NAN", "INF", "INFINITY": throw SessionError(.parameter, "\(words[0]) is not a number")
        default:
            guard values.isEmpty else {
                throw SessionError(.parameter, "'\(words[0].printable(maxBytes: 32))' is not a row of numbers")
            }
        }
    }

    /// Three numbers that a half float can hold, or some more.
    private static func triple(_ words: [String]) throws(SessionError) -> Triple {
        let numbers = words.compactMap { PlainNumber.read($0[...]) }.filter { $0.magnitude <= 1e6 }
        guard numbers.count == 3, words.count == 3 else {
            let shown = words.joined(separator: " ").printable(maxBytes: 64)
            throw SessionError(.parameter, "'\(shown)' is not three numbers")
        }
        return [numbers[0], numbers[1], numbers[2]]
    }
}
