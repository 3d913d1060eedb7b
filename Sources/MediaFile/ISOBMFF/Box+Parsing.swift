// SPDX-License-Identifier: GPL-2.0-or-later

extension Box {
    /// How many boxes a tree may have: a real `moov` has below a hundred a track.
    private static let maxCount = 1 << 16
    private static let maxDepth = 16

    /// Boxes that hold nothing but boxes.
    private static let containers: Set<FourCC> = ["moov", "trak", "mdia", "minf", "stbl", "edts"]
    /// Sample entries this module looks into: those of video (ISO/IEC 14496-12 12.1.3, 14496-15).
    static let visualEntries: Set<FourCC> = [
        "hvc1", "hev1", "dvh1", "dvhe", "avc1", "avc3", "mp4v", "av01", "vp09", "apch", "apcn", "apcs", "apco",
        "ap4h",
        "ap4x",
    ]
    /// Bytes of a VisualSampleEntry before its boxes, SampleEntry's eight among them.
    static let visualEntryFields = 78
    /// FullBox's version and flags, and the number of entries.
    private static let listFields = 8

    /// Reads boxes that follow each other until `bytes` end.
    /// - Throws: a sentence naming the box that leads outside.
    static func parse(_ bytes: ArraySlice<UInt8>) throws(BoxError) -> [Box] {
        var count = 0
        let (boxes, rest) = try parse(bytes, depth: 0, count: &count)
        guard rest.isEmpty else { throw BoxError("\(rest.count) bytes are left over after the last box") }
        return boxes
    }

    private static func parse(
        _ bytes: ArraySlice<UInt8>, depth: Int, count: inout Int
    ) throws(BoxError) -> (boxes: [Box], rest: ArraySlice<UInt8>) {
        var boxes: [Box] = []
        var rest = bytes
        while let header = BoxHeader(rest, available: UInt64(rest.count)), header.isWhole {
            count += 1
            guard count <= maxCount else { throw BoxError("there are more than \(maxCount) boxes") }
            let body = rest.dropFirst(header.headerSize).prefix(Int(header.size) - header.headerSize)
            boxes.append(try Box(header.type, body, depth: depth, count: &count))
            rest = rest.dropFirst(Int(header.size))
        }
        // Less than a header is left, or a header whose box does not fit.
        if rest.count >= headerSize {
            let type = FourCC(rawValue: UInt32(rest.bigEndian(at: 4, 4) ?? 0))
            throw BoxError("the box \"\(type)\" leads outside of what holds it")
        }
        return (boxes, rest)
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

/// What a box begins with.
struct BoxHeader: Hashable, Sendable {
    let type: FourCC
    /// Bytes of the box, header included.
    let size: UInt64
    /// 8, or 16 with a `largesize`.
    let headerSize: Int
    /// Whether the box ends where `available` does or before.
    let isWhole: Bool

    /// Reads the header in the first bytes of `bytes`; `available` bytes are left in the file or parent box.
    ///
    /// nil when there is none: too few bytes, or a size that the header itself does not fit in.
    init?(_ bytes: some Collection<UInt8>, available: UInt64) {
        guard let short = bytes.bigEndian(at: 0, 4), let type = bytes.bigEndian(at: 4, 4) else { return nil }
        self.type = FourCC(rawValue: UInt32(type))
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
