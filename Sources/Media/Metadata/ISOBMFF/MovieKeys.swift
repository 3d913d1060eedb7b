// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes

/// Metadata with keys of any name: a `meta` box of handler type `mdta` ("QuickTime File Format", metadata).
package struct MovieKeys: Hashable, Sendable {
    /// QuickTime's `meta` has no version; that of ISO/IEC 14496-12 (8.11.1) has.
    private let version: [UInt8]
    /// The other boxes of a `meta` box that was read.
    private var others: [Box] = []
    private var keys: [[UInt8]] = []
    /// The values, by the number of their key from 1 as their type.
    private var values: [Box] = []

    private static let maxKeys = 1 << 16

    /// No keys.
    package init(isQuickTime: Bool) {
        version = isQuickTime ? [] : [0, 0, 0, 0]
        var handler = [UInt8](repeating: 0, count: 8)
        handler += Array("mdta".utf8) + [UInt8](repeating: 0, count: 13)
        others = [Box("hdlr", handler)]
    }

    /// The keys of a movie's `meta` box.
    ///
    /// - Throws: the fault in a box, and a box of another handler.
    package init(_ meta: Box) throws(BoxError) {
        version = meta.fields.fourCC(at: 4) == "hdlr" ? [] : Array(meta.fields.prefix(4))
        var list = BoxList(meta.fields.dropFirst(version.count))
        while let (header, body) = try list.next() {
            switch header.type {
            case "keys": keys = try Self.keys(body)
            case "ilst": values = try Self.values(body)
            default: others.append(Box(header.type, Array(body)))
            }
        }
        guard others.first(where: { $0.type == "hdlr" })?.fields.fourCC(at: 8) == "mdta" else {
            throw BoxError("the movie's metadata have no keys")
        }
    }

    private static func keys(_ body: ArraySlice<UInt8>) throws(BoxError) -> [[UInt8]] {
        var fields = BoxFields("keys", body)
        _ = try fields.versionAndFlags(upTo: 0)
        let count = try fields.int(4)
        guard count <= min(maxKeys, fields.left / 8) else { throw BoxError("the box \"keys\" is cut off") }
        var keys: [[UInt8]] = []
        for _ in 0..<count {
            let size = try fields.int(4)
            guard size >= 8 else { throw BoxError("the box \"keys\" has a key of \(size) bytes") }
            keys.append(Array(try fields.take(size - 4)))
        }
        return keys
    }

    private static func values(_ body: ArraySlice<UInt8>) throws(BoxError) -> [Box] {
        var (values, list) = ([Box](), BoxList(body))
        while let (header, body) = try list.next() { values.append(Box(header.type, Array(body))) }
        return values
    }

    private static func key(_ name: String) -> [UInt8] { Array("mdta".utf8) + Array(name.utf8) }

    /// Adds a text; the key is new.
    mutating func append(_ name: String, _ text: String) {
        keys.append(Self.key(name))
        values.append(Self.value(UInt32(keys.count), text))
    }

    /// The value of a key, by its number from 1.
    private static func value(_ key: UInt32, _ text: String) -> Box {
        // Type 1, UTF-8, without a locale.
        let data = Box("data", [0, 0, 0, 1, 0, 0, 0, 0] + Array(text.utf8))
        return Box(FourCC(rawValue: key), data.bytes)
    }

    /// Sets a text, instead of what the key has.
    package mutating func set(_ name: String, _ text: String) {
        let known = Set(keys.indices.filter { keys[$0] == Self.key(name) }.map { UInt32($0 + 1) })
        values.removeAll { known.contains($0.type.rawValue) }
        guard let number = known.min() else { return append(name, text) }
        values.append(Self.value(number, text))
    }

    /// The text of a key; nil without one.
    package func text(_ name: String) -> String? {
        guard let index = keys.firstIndex(of: Self.key(name)),
            let value = values.first(where: { $0.type.rawValue == UInt32(index + 1) })
        else { return nil }
        var list = BoxList(value.fields[...])
        guard let (header, body) = try? list.next(), header.type == "data", body.bigEndian(at: 0, 4) == 1 else {
            return nil
        }
        return String(decoding: body.dropFirst(8), as: UTF8.self)
    }

    /// The `meta` box.
    package var box: Box {
        var list: [UInt8] = [0, 0, 0, 0]
        list.appendBigEndian(UInt32(keys.count))
        for key in keys {
            list.appendBigEndian(UInt32(key.count + 4))
            list += key
        }
        return Box(
            "meta", fields: version, children: others + [Box("keys", list), Box("ilst", children: values)])
    }
}
