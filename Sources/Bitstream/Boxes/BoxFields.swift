// SPDX-License-Identifier: MIT

/// Reads the fields of a box one after another; numbers are big-endian.
public struct BoxFields: Sendable {
    /// The box, for errors.
    public let type: FourCC
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    /// The fields in the body of a box of `type`.
    public init(_ type: FourCC, _ body: ArraySlice<UInt8>) {
        self.type = type
        bytes = body
        position = body.startIndex
    }

    /// The bytes that are left.
    public var left: Int { bytes.endIndex - position }

    /// What is left, as it is.
    public var rest: ArraySlice<UInt8> { bytes[position...] }

    /// The next number, of 0…8 bytes; one of 0 bytes is 0.
    /// - Throws: an error that names the box where it ends before.
    public mutating func number(_ count: Int) throws(BoxError) -> UInt64 {
        guard count <= left else { throw BoxError("the box \"\(type)\" is cut off") }
        var value: UInt64 = 0
        for index in position..<position + count { value = value << 8 | UInt64(bytes[index]) }
        position += count
        return value
    }

    /// The next number, as an Int.
    /// - Throws: an error that names the box where it ends before.
    public mutating func int(_ count: Int) throws(BoxError) -> Int { Int(truncatingIfNeeded: try number(count)) }

    /// The next four bytes as a type.
    /// - Throws: an error that names the box where it ends before.
    public mutating func fourCC() throws(BoxError) -> FourCC { FourCC(rawValue: UInt32(try number(4))) }

    /// The version and the flags of a full box (ISO/IEC 14496-12 4.2).
    /// - Throws: an error that names the box where it ends before, or where the version exceeds `maximum`.
    public mutating func versionAndFlags(upTo maximum: Int) throws(BoxError) -> (version: Int, flags: Int) {
        let word = try int(4)
        guard word >> 24 <= maximum else { throw BoxError("the box \"\(type)\" has version \(word >> 24)") }
        return (word >> 24, word & 0xFF_FFFF)
    }

    /// The next `count` bytes.
    /// - Throws: an error that names the box where it ends before.
    public mutating func take(_ count: Int) throws(BoxError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= left else { throw BoxError("the box \"\(type)\" is cut off") }
        defer { position += count }
        return bytes[position..<position + count]
    }

    /// The text up to the next NUL, which is skipped; up to the end where there is none.
    public mutating func text() -> String {
        let end = bytes[position...].firstIndex(of: 0) ?? bytes.endIndex
        defer { position = min(end + 1, bytes.endIndex) }
        return end == position ? "" : String(decoding: bytes[position..<end], as: UTF8.self)
    }
}
