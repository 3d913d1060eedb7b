// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.exp2

/// What a display's EDID says of HDR (VESA E-EDID 1.4; CTA-861-H 7.5).
public struct EDID: Hashable, Sendable, Encodable {
    /// Three letters, such as `DEL`.
    public var manufacturer: String
    /// The product code of the manufacturer.
    public var product: Int
    /// The display's name; nil without one.
    public var name: String?
    /// Nil without an HDR static metadata data block.
    public var hdr: HDR?
    /// Whether the colorimetry data block lists BT.2020 in any form.
    public var hasBT2020: Bool
    /// What does not follow the standard; the blocks before it were read.
    public var faults: [String]

    enum CodingKeys: String, CodingKey {
        case manufacturer, product, name, hdr, faults
        case hasBT2020 = "bt2020"
    }

    /// The HDR static metadata data block (CTA-861-H 7.5.13).
    public struct HDR: Hashable, Sendable, Encodable {
        public var supportsPQ: Bool
        public var supportsHLG: Bool
        /// Whether static metadata of type 1 are understood.
        public var supportsType1: Bool
        /// cd/m²; nil when not given.
        public var maxLuminance: Double?
        /// cd/m², of a whole picture; nil when not given.
        public var maxFrameAverage: Double?
        /// cd/m²; nil when not given.
        public var minLuminance: Double?

        enum CodingKeys: String, CodingKey {
            case supportsPQ = "pq"
            case supportsHLG = "hlg"
            case supportsType1 = "static_metadata_type_1"
            case maxLuminance = "max_luminance"
            case maxFrameAverage = "max_frame_average"
            case minLuminance = "min_luminance"
        }
    }

    /// Why bytes are no EDID.
    public struct Failure: Error, Hashable, Sendable {
        public let reason: String
    }

    private static let blockSize = 128
    /// A base block and 255 extensions.
    static let maxSize = 256 * blockSize

    /// Parses an EDID of at least one block; faults of extensions are listed, not thrown.
    public init(_ bytes: [UInt8]) throws(Failure) {
        guard bytes.count >= Self.blockSize else {
            throw Failure(reason: "an EDID of \(bytes.count) bytes has no whole block")
        }
        guard bytes.starts(with: [0, 255, 255, 255, 255, 255, 255, 0]) else {
            throw Failure(reason: "the EDID does not begin with its header")
        }
        let base = Array(bytes.prefix(Self.blockSize))
        let letters = UInt16(base[8]) << 8 | UInt16(base[9])
        manufacturer = String(
            [10, 5, 0].map { Character(Unicode.Scalar(UInt8(64 + (letters >> UInt16($0)) & 31))) })
        product = Int(base[10]) | Int(base[11]) << 8
        name = Self.name(base)
        (hdr, hasBT2020, faults) = (nil, false, [])
        if !Self.isSumRight(base) { faults.append("the checksum of block 0 is wrong") }
        let (declared, present) = (Int(base[126]), min(bytes.count, Self.maxSize) / Self.blockSize - 1)
        if declared > present { faults.append("\(declared - present) of \(declared) extension blocks are missing") }
        for number in 0..<min(declared, present) {
            let start = (number + 1) * Self.blockSize
            addExtension(Array(bytes[start..<start + Self.blockSize]), number + 1)
        }
    }

    private static func isSumRight(_ block: [UInt8]) -> Bool { block.reduce(0, &+) == 0 }

    /// The descriptor of type FC (E-EDID 3.10.3.4): up to 13 characters, ended by a line feed.
    private static func name(_ base: [UInt8]) -> String? {
        for start in stride(from: 54, to: 126, by: 18) where base[start..<start + 4].elementsEqual([0, 0, 0, 0xFC])
        {
            let text = base[(start + 5)..<(start + 18)].prefix { $0 != 0x0A }
            let shown = String(decoding: text.filter { $0 >= 32 && $0 < 127 }, as: UTF8.self)
            return shown.isEmpty ? nil : shown
        }
        return nil
    }

    private mutating func addExtension(_ block: [UInt8], _ number: Int) {
        // Other extensions, such as block maps and DisplayID, are not read.
        guard block[0] == 2 else { return }
        if !Self.isSumRight(block) { faults.append("the checksum of block \(number) is wrong") }
        // Where detailed timings begin; 0 where there are neither timings nor data blocks.
        let end = Int(block[2])
        guard end != 0, block[1] >= 3 else { return }
        guard end >= 4, end < Self.blockSize else {
            return faults.append("the data blocks of block \(number) end at byte \(end)")
        }
        var position = 4
        while position < end {
            let length = Int(block[position] & 31)
            guard position + 1 + length <= end else {
                return faults.append("a data block of block \(number) exceeds its end")
            }
            // Tag 7: the first byte is an extended tag.
            if block[position] >> 5 == 7, length > 0 {
                addExtended(block[position + 1], Array(block[(position + 2)..<(position + 1 + length)]))
            }
            position += 1 + length
        }
    }

    private mutating func addExtended(_ tag: UInt8, _ body: [UInt8]) {
        switch tag {
        case 5:
            // Bits 5 to 7: BT.2020 constant luminance, Y'CbCr and RGB.
            hasBT2020 = hasBT2020 || (body.first ?? 0) & 0xE0 != 0
        case 6:
            guard body.count >= 2 else { return faults.append("the HDR static metadata data block is too short") }
            hdr = hdr ?? HDR(body)
        default: break
        }
    }
}

extension EDID.HDR {
    /// Reads the block after its extended tag, at least 2 bytes.
    fileprivate init(_ body: [UInt8]) {
        supportsPQ = body[0] & 4 != 0
        supportsHLG = body[0] & 8 != 0
        supportsType1 = body[1] & 1 != 0
        // A code of 0 is "not given".
        func code(_ index: Int) -> Double? { index < body.count && body[index] > 0 ? Double(body[index]) : nil }
        func luminance(_ code: Double) -> Double { 50 * exp2(code / 32) }
        maxLuminance = code(2).map(luminance)
        maxFrameAverage = code(3).map(luminance)
        if let maxLuminance, let least = code(4) {
            minLuminance = maxLuminance * (least / 255) * (least / 255) / 100
        }
    }
}
