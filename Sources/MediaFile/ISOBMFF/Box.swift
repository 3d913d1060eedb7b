// SPDX-License-Identifier: GPL-2.0-or-later

/// A box's type: four bytes, mostly letters.
struct FourCC: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    let rawValue: UInt32

    init(rawValue: UInt32) { self.rawValue = rawValue }

    init(stringLiteral text: StaticString) {
        rawValue = text.withUTF8Buffer { $0.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
    }

    /// The letters; a byte that is none is a `?`.
    var description: String {
        String(
            (0..<4).map { byte in
                let value = UInt8(truncatingIfNeeded: rawValue >> UInt32(24 - 8 * byte))
                return value >= 32 && value < 127 ? Character(Unicode.Scalar(value)) : "?"
            })
    }
}

/// Why a file's boxes cannot be read or changed.
struct BoxError: Error, Hashable, Sendable {
    /// One sentence.
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// One box of an ISO base media file (ISO/IEC 14496-12 4.2): bytes, or other boxes where this module looks inside.
///
/// What is not looked into is kept byte for byte, so reading and writing a tree changes nothing.
struct Box: Hashable, Sendable {
    var type: FourCC
    /// What comes before the boxes inside; the whole body where `isContainer` is false.
    var fields: [UInt8]
    /// The boxes inside, in order.
    var children: [Box] = []
    /// What comes after them: QuickTime ends some lists with a zero.
    var trailer: [UInt8] = []
    /// Whether the body was read as boxes.
    var isContainer = false

    /// A box of bytes.
    init(_ type: FourCC, _ fields: [UInt8]) {
        self.type = type
        self.fields = fields
    }

    /// A box of boxes.
    init(_ type: FourCC, fields: [UInt8] = [], children: [Box]) {
        self.init(type, fields)
        self.children = children
        isContainer = true
    }

    /// Bytes of the box with its header.
    var size: Int {
        let body = fields.count + trailer.count + children.reduce(0) { $0 + $1.size }
        return body + (body + Self.headerSize > Int(UInt32.max) ? Self.largeHeaderSize : Self.headerSize)
    }

    static let headerSize = 8
    static let largeHeaderSize = 16

    /// The bytes of the box with its header.
    var bytes: [UInt8] {
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

    /// The first box of each type in turn, from the children of this one on; nil where there is none.
    func first(_ path: FourCC...) -> Box? {
        var box = self
        for type in path {
            guard let next = box.children.first(where: { $0.type == type }) else { return nil }
            box = next
        }
        return box
    }

    /// Changes the first box of each type in turn; false where there is none.
    @discardableResult
    mutating func edit(_ path: [FourCC], _ body: (inout Box) throws(BoxError) -> Void) throws(BoxError) -> Bool {
        guard let type = path.first else {
            try body(&self)
            return true
        }
        guard let index = children.firstIndex(where: { $0.type == type }) else { return false }
        return try children[index].edit(Array(path.dropFirst()), body)
    }

    /// Puts `box` where the first of its type is, or behind the last child.
    mutating func put(_ box: Box) {
        if let index = children.firstIndex(where: { $0.type == box.type }) {
            children[index] = box
        } else {
            children.append(box)
        }
    }

    /// Calls `body` for this box and every one inside it.
    mutating func forEach(_ body: (inout Box) throws(BoxError) -> Void) throws(BoxError) {
        try body(&self)
        for index in children.indices { try children[index].forEach(body) }
    }
}

extension [UInt8] {
    /// Appends a number, most significant byte first.
    mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}

extension Collection<UInt8> {
    /// The number in the `count` bytes from `offset` on, most significant first; nil when they are not all there.
    func bigEndian(at offset: Int, _ count: Int) -> UInt64? {
        guard offset >= 0, offset <= self.count, self.count - offset >= count else { return nil }
        return dropFirst(offset).prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
