// SPDX-License-Identifier: MIT

extension Box {
    /// The most boxes of a tree; real `moov` boxes have fewer than a hundred per track.
    private static let maxCount = 1 << 16
    private static let maxDepth = 16

    /// Types whose body is a list of boxes.
    private static let containers: Set<FourCC> = ["moov", "trak", "mdia", "minf", "stbl", "edts"]
    /// Sample entries that are parsed: those of video (ISO/IEC 14496-12 12.1.3, 14496-15).
    public static let visualEntries: Set<FourCC> = [
        "hvc1", "hev1", "dvh1", "dvhe", "avc1", "avc3", "mp4v", "av01", "vp09", "apch", "apcn", "apcs", "apco",
        "ap4h", "ap4x",
    ]
    /// Bytes of a VisualSampleEntry before its boxes, including SampleEntry's eight.
    public static let visualEntryFields = 78
    /// Bytes of FullBox's version and flags and of the entry count.
    private static let listFields = 8

    /// Parses consecutive boxes up to the end of `bytes`.
    /// - Throws: an error that names the box that exceeds `bytes` or its parent.
    public static func parse(_ bytes: ArraySlice<UInt8>) throws(BoxError) -> [Box] {
        var count = 0
        let (boxes, rest) = try parse(bytes, depth: 0, count: &count)
        guard rest.isEmpty else { throw BoxError("\(rest.count) bytes are left over after the last box") }
        return boxes
    }

    private static func parse(
        _ bytes: ArraySlice<UInt8>, depth: Int, count: inout Int
    ) throws(BoxError) -> (boxes: [Box], rest: ArraySlice<UInt8>) {
        var boxes: [Box] = []
        var list = BoxList(bytes)
        while let (header, body) = try list.next() {
            count += 1
            guard count <= maxCount else { throw BoxError("there are more than \(maxCount) boxes") }
            boxes.append(try Box(header.type, body, depth: depth, count: &count))
        }
        return (boxes, list.rest)
    }

    private init(
        _ type: FourCC, _ body: ArraySlice<UInt8>, depth: Int, count: inout Int
    ) throws(BoxError) {
        let fieldSize: Int
        if Self.containers.contains(type) {
            fieldSize = 0
        } else if type == "stsd" {
            fieldSize = Self.listFields
        } else if Self.visualEntries.contains(type) {
            fieldSize = Self.visualEntryFields
        } else {
            self.init(type, Array(body))
            return
        }
        guard body.count >= fieldSize, depth < Self.maxDepth else {
            throw BoxError("the box \"\(type)\" is cut off")
        }
        let inside = body.dropFirst(fieldSize)
        let (children, rest) = try Self.parse(inside, depth: depth + 1, count: &count)
        self.init(type, fields: Array(body.prefix(fieldSize)), children: children)
        trailer = Array(rest)
    }
}

/// The boxes of a list one after another, as slices of its bytes.
public struct BoxList: Sendable {
    /// What follows the last box that was read: after the end, what is shorter than a header.
    public private(set) var rest: ArraySlice<UInt8>

    /// A list that fills `bytes`.
    public init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// The next box and its body; nil where no whole header is left.
    /// - Throws: an error that names the box that exceeds the list.
    public mutating func next() throws(BoxError) -> (header: BoxHeader, body: ArraySlice<UInt8>)? {
        guard let header = BoxHeader(rest, available: UInt64(rest.count)), header.isWhole else {
            // The bytes begin with a header whose box does not fit.
            if rest.count >= Box.headerSize, let type = rest.fourCC(at: 4) {
                throw BoxError("the box \"\(type)\" exceeds its parent")
            }
            return nil
        }
        let body = rest.dropFirst(header.headerSize).prefix(Int(header.size) - header.headerSize)
        rest = rest.dropFirst(Int(header.size))
        return (header, body)
    }
}

/// The header of a box: its type and size (ISO/IEC 14496-12 4.2).
public struct BoxHeader: Hashable, Sendable {
    public let type: FourCC
    /// Bytes of the box, header included.
    public let size: UInt64
    /// 8, or 16 with a `largesize`.
    public let headerSize: Int
    /// Whether the box fits into the bytes that are available.
    public let isWhole: Bool

    /// Parses the header at the start of `bytes`; `available` bytes are left in the file or parent box.
    ///
    /// nil when bytes are missing, or the size is smaller than the header.
    public init?(_ bytes: some Collection<UInt8>, available: UInt64) {
        guard let short = bytes.bigEndian(at: 0, 4), let type = bytes.fourCC(at: 4) else { return nil }
        self.type = type
        switch short {
        case 0: (size, headerSize) = (available, Box.headerSize)
        case 1:
            guard let large = bytes.bigEndian(at: 8, 8) else { return nil }
            (size, headerSize) = (large, Box.largeHeaderSize)
        default: (size, headerSize) = (short, Box.headerSize)
        }
        guard size >= UInt64(headerSize) else { return nil }
        isWhole = size <= available
    }
}
