// SPDX-License-Identifier: MIT

/// A box type: four bytes, usually ASCII letters.
public struct FourCC: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public init(stringLiteral text: String) {
        rawValue = text.utf8.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The four characters, with `?` for bytes that are not printable ASCII.
    public var description: String {
        String(
            (0..<4).map { byte in
                let value = UInt8(truncatingIfNeeded: rawValue >> UInt32(24 - 8 * byte))
                return value >= 32 && value < 127 ? Character(Unicode.Scalar(value)) : "?"
            })
    }
}

/// A fault in a file's boxes, or a failure to read or write them.
public struct BoxError: Error, Hashable, Sendable {
    /// The fault, in lower case and without a full stop.
    public let reason: String
    /// Whether the system failed to read or write the file.
    public let isIO: Bool

    public init(_ reason: String, isIO: Bool = false) { (self.reason, self.isIO) = (reason, isIO) }
}

/// One box of an ISO base media file (ISO/IEC 14496-12 4.2): bytes, or child boxes in the types this module parses.
///
/// All other contents are kept byte for byte, so parsing and serializing a tree changes nothing.
public struct Box: Hashable, Sendable {
    public var type: FourCC
    /// The bytes before the child boxes; the whole body where `isContainer` is false.
    public var fields: [UInt8]
    /// The child boxes, in order.
    public var children: [Box] = []
    /// The bytes after them: QuickTime ends some lists with a 32-bit zero.
    public var trailer: [UInt8] = []
    /// Whether the body was parsed as boxes.
    public var isContainer = false

    /// A box with a body of bytes.
    public init(_ type: FourCC, _ fields: [UInt8]) {
        self.type = type
        self.fields = fields
    }

    /// A box with child boxes.
    public init(_ type: FourCC, fields: [UInt8] = [], children: [Box]) {
        self.init(type, fields)
        self.children = children
        isContainer = true
    }

    /// Bytes of the box, header included.
    public var size: Int {
        let body = fields.count + trailer.count + children.reduce(0) { $0 + $1.size }
        return body + (body + Self.headerSize > Int(UInt32.max) ? Self.largeHeaderSize : Self.headerSize)
    }

    /// Bytes of a header: the size and the type.
    public static let headerSize = 8
    /// Bytes of a header with a `largesize`.
    public static let largeHeaderSize = 16

    /// The serialized box, header included.
    public var bytes: [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(size)
        append(to: &result)
        return result
    }

    private func append(to bytes: inout [UInt8]) {
        let size = size
        if size > Int(UInt32.max) {
            bytes.appendBigEndian(UInt32(1))
            bytes.appendBigEndian(type.rawValue)
            bytes.appendBigEndian(UInt64(size))
        } else {
            bytes.appendBigEndian(UInt32(size))
            bytes.appendBigEndian(type.rawValue)
        }
        bytes += fields
        for child in children { child.append(to: &bytes) }
        bytes += trailer
    }

    /// The descendant at `path`: the first child of the first type, its first child of the second type, and so on.
    public func first(_ path: FourCC...) -> Box? { first(path: path) }

    /// The same for a path that is an array.
    public func first(path: [FourCC]) -> Box? {
        var box = self
        for type in path {
            guard let next = box.children.first(where: { $0.type == type }) else { return nil }
            box = next
        }
        return box
    }

    /// Applies `body` to the descendant at `path`; false where there is none.
    @discardableResult
    public mutating func edit(_ path: [FourCC], _ body: (inout Box) throws(BoxError) -> Void) throws(BoxError)
        -> Bool
    {
        guard let type = path.first else {
            try body(&self)
            return true
        }
        guard let index = children.firstIndex(where: { $0.type == type }) else { return false }
        return try children[index].edit(Array(path.dropFirst()), body)
    }

    /// Replaces the first child of the same type, or appends `box`.
    public mutating func put(_ box: Box) {
        if let index = children.firstIndex(where: { $0.type == box.type }) {
            children[index] = box
        } else {
            children.append(box)
        }
    }

    /// Calls `body` for this box and all its descendants.
    public mutating func forEach(_ body: (inout Box) throws(BoxError) -> Void) throws(BoxError) {
        try body(&self)
        for index in children.indices { try children[index].forEach(body) }
    }
}

extension Box {
    /// The path from a `trak` to its sample table (ISO/IEC 14496-12 8.5.1).
    public static let sampleTablePath: [FourCC] = ["mdia", "minf", "stbl"]

    /// The `track_ID` of a `trak` (ISO/IEC 14496-12 8.3.2); nil for other boxes and damaged ones.
    public var trackID: Int? {
        guard type == "trak", let header = first("tkhd") else { return nil }
        return header.fields.bigEndian(at: header.offsetAfterTimes, 4).map { Int($0) }
    }

    /// The offset of the field that follows the creation and modification times of a `tkhd` or `mdhd`.
    ///
    /// Each time has 8 bytes in version 1 and 4 in version 0 (ISO/IEC 14496-12 8.3.2, 8.4.2).
    public var offsetAfterTimes: Int { fields.first == 1 ? 20 : 12 }
}
