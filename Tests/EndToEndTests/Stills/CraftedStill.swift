// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

/// A HEIF file of one coded picture (ISO/IEC 23008-12), with what ffmpeg's encoders make.
struct CraftedStill {
    /// The type of the item.
    var type: String
    var brand: String
    var width = 320
    var height = 240
    /// The property with the codec's configuration; nil without one.
    var configuration: (type: String, body: Data)?
    var data: Data
    /// The bodies of its `colr` boxes.
    var colors: [Data] = []

    init(_ type: String, brand: String, configuration: (type: String, body: Data)?, data: Data) {
        (self.type, self.brand, self.configuration, self.data) = (type, brand, configuration, data)
    }

    /// The picture of an MP4 file that has one.
    ///
    /// - Parameter record: the type of the box in its sample entry.
    init(_ type: String, brand: String, record: String, mp4 path: String) throws {
        let file = try Data(contentsOf: URL(fileURLWithPath: path))
        self.init(
            type, brand: brand, configuration: (record, try Self.body(record, in: file)),
            data: try Self.body("mdat", in: file))
    }

    /// The body of the first box of a type.
    private static func body(_ type: String, in file: Data) throws -> Data {
        let place = try #require(file.range(of: Data(type.utf8)))
        let size = file[place.lowerBound - 4..<place.lowerBound].reduce(0) { $0 << 8 | Int($1) }
        return file[place.upperBound..<place.lowerBound - 4 + size]
    }

    private static func number(_ value: Int, _ bytes: Int = 4) -> Data {
        Data((0..<bytes).map { UInt8(value >> (8 * (bytes - 1 - $0)) & 255) })
    }

    private static func box(_ type: String, _ body: Data) -> Data {
        number(body.count + 8) + Data(type.utf8) + body
    }

    /// The body of `colr` with code points (ISO/IEC 14496-12 12.1.5).
    static func codePoints(_ primaries: Int, _ transfer: Int, _ matrix: Int, isFullRange: Bool) -> Data {
        let numbers = [primaries, transfer, matrix].map { number($0, 2) }.reduce(Data(), +)
        return Data("nclx".utf8) + numbers + Data([isFullRange ? 0x80 : 0])
    }

    /// The file.
    var bytes: Data {
        let size = Self.box("ispe", Self.number(0) + Self.number(width) + Self.number(height))
        let codec = configuration.map { Self.box($0.type, $0.body) } ?? Data()
        let list: [UInt8] = codec.isEmpty ? [1, 1] : [2, 0x82, 1]
        let listed = [UInt8(list.count - 1 + colors.count)] + list.dropFirst()
        let more = colors.indices.map { UInt8(list.count + $0) }
        let association = Self.number(0) + Self.number(1) + Self.number(1, 2) + Data(listed + more)
        let properties = size + codec + colors.map { Self.box("colr", $0) }.reduce(Data(), +)
        let entry = Self.box("infe", Data([2, 0, 0, 0, 0, 1, 0, 0]) + Data(type.utf8) + Data([0]))
        let kind = Self.number(0) + Self.number(0) + Data("pict".utf8) + Data(count: 13)
        let start = Self.box("ftyp", Data(brand.utf8) + Self.number(0) + Data("mif1".utf8) + Data(brand.utf8))
        func head(_ offset: Int) -> Data {
            let place = Data([0, 0, 0, 0, 0x44, 0, 0, 1, 0, 1, 0, 0, 0, 1])
            let boxes = [
                Self.box("hdlr", kind), Self.box("pitm", Self.number(0) + Self.number(1, 2)),
                Self.box("iinf", Self.number(0) + Self.number(1, 2) + entry),
                Self.box("iprp", Self.box("ipco", properties) + Self.box("ipma", association)),
                Self.box("iloc", place + Self.number(offset) + Self.number(data.count)),
            ]
            return start + Self.box("meta", Self.number(0) + boxes.reduce(Data(), +))
        }
        return head(head(0).count + 8) + Self.box("mdat", data)
    }
    /// A file whose picture is an overlay (ISO/IEC 23008-12 6.6.2.2): the picture, and the same again from a column on.
    ///
    /// - Parameter hasAlpha: whether the upper one has alpha, which is the luma of the same picture.
    func overlaid(at column: Int, hasAlpha: Bool) -> Data {
        let urn = Data("urn:mpeg:hevc:2015:auxid:1".utf8) + Data([0])
        let properties = [
            Self.box("ispe", Self.number(0) + Self.number(width) + Self.number(height)),
            configuration.map { Self.box($0.type, $0.body) } ?? Self.box("free", Data()),
            Self.box("colr", colors.first ?? Self.codePoints(1, 13, 6, isFullRange: true)),
            Self.box("auxC", Self.number(0) + urn),
        ]
        let places = [0, 0, 0, 0, width, height, 0, 0, column, 0].map { Self.number($0, 2) }
        let body = Data([0, 0]) + places.reduce(Data(), +)
        typealias Item = (id: Int, type: String, properties: [UInt8], offset: Int, size: Int)
        let coded = (1...2).map {
            (id: $0, type: type, properties: [1, 0x82, 3] as [UInt8], offset: 0, size: data.count)
        }
        let alpha: [Item] = hasAlpha ? [(3, type, [1, 0x82, 0x84], 0, data.count)] : []
        let items: [Item] = coded + alpha + [(4, "iovl", [1, 3], data.count, body.count)]
        func reference(_ type: String, _ from: Int, _ targets: [Int]) -> Data {
            Self.box(type, ([from, targets.count] + targets).map { Self.number($0, 2) }.reduce(Data(), +))
        }
        let references = reference("dimg", 4, [1, 2]) + (hasAlpha ? reference("auxl", 3, [2]) : Data())
        let entries = items.map { item in
            Self.box(
                "infe",
                Data([2, 0, 0, 0]) + Self.number(item.id, 2) + Data([0, 0]) + Data(item.type.utf8) + Data([0]))
        }
        let associations = items.map { Self.number($0.id, 2) + Data([UInt8($0.properties.count)] + $0.properties) }
        let kind = Self.number(0) + Self.number(0) + Data("pict".utf8) + Data(count: 13)
        let start = Self.box("ftyp", Data(brand.utf8) + Self.number(0) + Data("mif1".utf8) + Data(brand.utf8))
        let count = Self.number(items.count, 2)
        func head(_ offset: Int) -> Data {
            let locations = items.map { item in
                Self.number(item.id, 2) + Self.number(0, 2) + Self.number(1, 2) + Self.number(offset + item.offset)
                    + Self.number(item.size)
            }
            let boxes = [
                Self.box("hdlr", kind), Self.box("pitm", Self.number(0) + Self.number(4, 2)),
                Self.box("iinf", Self.number(0) + count + entries.reduce(Data(), +)),
                Self.box("iref", Self.number(0) + references),
                Self.box(
                    "iprp",
                    Self.box("ipco", properties.reduce(Data(), +))
                        + Self.box(
                            "ipma", Self.number(0) + Self.number(items.count) + associations.reduce(Data(), +))),
                Self.box("iloc", Self.number(0) + Data([0x44, 0]) + count + locations.reduce(Data(), +)),
            ]
            return start + Self.box("meta", Self.number(0) + boxes.reduce(Data(), +))
        }
        return head(head(0).count + 8) + Self.box("mdat", data + body)
    }
}
