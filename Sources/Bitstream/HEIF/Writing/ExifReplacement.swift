// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// A change of a file that moves none of its bytes: some are replaced, and others follow.
public struct FileEdit: Hashable, Sendable {
    /// A replacement of bytes.
    public struct Patch: Hashable, Sendable {
        public let offset: UInt64
        public let bytes: [UInt8]
    }

    public var patches: [Patch] = []
    /// What is added at the end.
    public var appended: [UInt8] = []
}

extension HEIFFile {
    /// The change that gives a picture another Exif structure.
    ///
    /// Its bytes are added at the end. A picture without Exif gets an item, and with it the file another `meta` box, which
    /// follows them; the one before becomes free space.
    /// - Throws: `unsupported` for a file to which nothing can be added, or whose fields are too narrow; `malformed` for
    ///   damaged boxes; what the source throws.
    public func replacingExif(
        of id: UInt32, with tiff: [UInt8], from source: some ByteSource
    ) throws(HEIFError) -> FileEdit {
        guard let meta = metaBox, endsWithBox else {
            throw HEIFError(.unsupported, "no box can be appended: the last box has no stated size or is cut off")
        }
        let data = Box("mdat", ExifItem.bytes(tiff: tiff))
        let place = (offset: fileLength + UInt64(Box.headerSize), length: UInt64(data.fields.count))
        let body = try source.read(meta.body)
        var edit = FileEdit()
        edit.appended = data.bytes
        do throws(BoxError) {
            if let exif = metadata(of: id).first(where: { $0.kind == .exif }) {
                let patch = try LocationEditor(body).moving(exif.id, to: place)
                edit.patches.append(
                    FileEdit.Patch(offset: meta.body.lowerBound + UInt64(patch.offset), bytes: patch.bytes))
            } else {
                // Items and groups share one space of numbers (ISO/IEC 14496-12 8.18.3).
                let last = max(items.last?.id ?? 0, groups.map(\.id).max() ?? 0)
                let written = try MetaEditor(body).addingExif(of: id, at: place, after: last)
                edit.appended += written.bytes
                edit.patches.append(FileEdit.Patch(offset: meta.start + 4, bytes: Array("free".utf8)))
            }
        } catch { throw HEIFError(.unsupported, error.reason) }
        return edit
    }
}

/// Changes the `iloc` box in the body of a `meta` box.
private struct LocationEditor {
    private let body: [UInt8]

    init(_ body: [UInt8]) { self.body = body }

    /// The bytes of an item's entry when its bytes are in one piece elsewhere in the file, and where the entry is.
    func moving(
        _ id: UInt32, to place: (offset: UInt64, length: UInt64)
    ) throws(BoxError) -> (offset: Int, bytes: [UInt8]) {
        var list = BoxList(body[4...])
        while let (header, contents) = try list.next() {
            guard header.type == "iloc" else { continue }
            let layout = try LocationLayout(contents)
            var fields = BoxFields("iloc", contents.dropFirst(layout.headSize))
            for _ in 0..<layout.count {
                let start = contents.endIndex - fields.left
                let entry = try layout.read(&fields)
                guard entry.id == id else { continue }
                guard entry.extents == 1 else {
                    throw BoxError("Exif has \(entry.extents) parts, which are not replaced")
                }
                return (start, try layout.entry(id, at: place))
            }
        }
        throw BoxError("item \(id) has no location")
    }
}

/// The widths of the fields of an `iloc` box.
private struct LocationLayout {
    let version: Int
    let count: Int
    private let widths: [Int]

    init(_ body: ArraySlice<UInt8>) throws(BoxError) {
        var fields = BoxFields("iloc", body)
        version = try fields.versionAndFlags(upTo: 2).version
        let sizes = try fields.int(2)
        widths = [sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15, version > 0 ? sizes & 15 : 0]
        count = try fields.int(version == 2 ? 4 : 2)
    }

    /// Bytes before the first entry.
    var headSize: Int { version == 2 ? 10 : 8 }

    func read(_ fields: inout BoxFields) throws(BoxError) -> (id: UInt32, extents: Int) {
        let id = UInt32(try fields.number(version == 2 ? 4 : 2))
        _ = try fields.take((version > 0 ? 2 : 0) + 2 + widths[2])
        let extents = try fields.int(2)
        _ = try fields.take(extents * (widths[0] + widths[1] + widths[3]))
        return (id, extents)
    }

    /// An entry of an item in one piece.
    func entry(_ id: UInt32, at place: (offset: UInt64, length: UInt64)) throws(BoxError) -> [UInt8] {
        func number(_ value: UInt64, _ width: Int) throws(BoxError) -> [UInt8] {
            guard width == 8 || value < 1 << UInt64(8 * width) else {
                throw BoxError("the fields of the file's locations are too narrow for what is added")
            }
            return (0..<width).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (width - 1 - $0))) }
        }
        var bytes = try number(UInt64(id), version == 2 ? 4 : 2)
        if version > 0 { bytes += [0, 0] }
        bytes += [0, 0] + [UInt8](repeating: 0, count: widths[2]) + [0, 1]
        bytes += [UInt8](repeating: 0, count: widths[3])
        return bytes + (try number(place.offset, widths[0])) + (try number(place.length, widths[1]))
    }
}

/// Adds an item to the body of a `meta` box.
private struct MetaEditor {
    private var children: [Box] = []

    init(_ body: [UInt8]) throws(BoxError) {
        var list = BoxList(body[4...])
        while let (header, contents) = try list.next() { children.append(Box(header.type, Array(contents))) }
    }

    /// The box with an Exif item that describes another one; `last` is the highest id of items and groups.
    func addingExif(
        of id: UInt32, at place: (offset: UInt64, length: UInt64), after last: UInt32
    ) throws(BoxError) -> Box {
        guard last < 0xFFFF, id <= 0xFFFF else { throw BoxError("the file has no id of 16 bits for Exif") }
        let item = last + 1
        var boxes = children
        try edit("iinf", of: &boxes) { (box) throws(BoxError) in
            let isWide = box.first == 1
            try Self.increment(&box, at: 4, isWide ? 4 : 2)
            var entry: [UInt8] = [2, 0, 0, 1]
            entry.appendBigEndian(UInt16(truncatingIfNeeded: item))
            box += Box("infe", entry + [0, 0] + Array("Exif".utf8) + [0]).bytes
        }
        try edit("iloc", of: &boxes) { (box) throws(BoxError) in
            let layout = try LocationLayout(box[...])
            try Self.increment(
                &box, at: layout.headSize - (layout.version == 2 ? 4 : 2), layout.version == 2 ? 4 : 2)
            box += try layout.entry(item, at: place)
        }
        if !boxes.contains(where: { $0.type == "iref" }) { boxes.append(Box("iref", [0, 0, 0, 0])) }
        try edit("iref", of: &boxes) { (box) throws(BoxError) in
            let high: [UInt8] = box.first == 0 ? [] : [0, 0]
            func number(_ id: UInt32) -> [UInt8] { high + [UInt8(id >> 8 & 255), UInt8(id & 255)] }
            box += Box("cdsc", number(item) + [0, 1] + number(id)).bytes
        }
        return Box("meta", fields: [0, 0, 0, 0], children: boxes)
    }

    private func edit(
        _ type: FourCC, of boxes: inout [Box], _ body: (inout [UInt8]) throws(BoxError) -> Void
    ) throws(BoxError) {
        guard let index = boxes.firstIndex(where: { $0.type == type }) else {
            throw BoxError("the meta box has no box \"\(type)\"")
        }
        try body(&boxes[index].fields)
    }

    private static func increment(_ bytes: inout [UInt8], at offset: Int, _ width: Int) throws(BoxError) {
        guard let value = bytes.bigEndian(at: offset, width), value + 1 < 1 << UInt64(8 * width) else {
            throw BoxError("the file cannot have another item")
        }
        for byte in 0..<width {
            bytes[offset + byte] = UInt8(truncatingIfNeeded: (value + 1) >> UInt64(8 * (width - 1 - byte)))
        }
    }
}
