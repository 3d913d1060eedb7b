// SPDX-License-Identifier: MIT
internal import HWDBoxes

extension HEIFFile {
    /// Where the bytes of an item are, in order.
    /// - Throws: `malformed` where the item does not exist or has no bytes; `truncated` where they lead outside of the
    ///   file; `unsupported` where they are in another file; `limit` and `cycle` for items that are made of others.
    public func spans(of id: UInt32) throws(HEIFError) -> [ByteSpan] {
        var count = 0
        return try spans(of: id, depth: 0, count: &count)
    }

    /// Bytes of an item.
    public func size(of id: UInt32) throws(HEIFError) -> UInt64 { Self.size(try spans(of: id)) }

    /// The bytes of an item.
    /// - Throws: what `spans` throws; `limit` where there are more than `limit`; what the source throws.
    public func data(of id: UInt32, from source: some ByteSource, limit: UInt64) throws(HEIFError) -> [UInt8] {
        let spans = try spans(of: id)
        guard Self.size(spans) <= limit else {
            throw HEIFError(.limit, "item \(id) has \(Self.size(spans)) bytes; \(limit) are supported")
        }
        var bytes: [UInt8] = []
        for span in spans {
            bytes +=
                span.isInItemData
                ? Array(itemData[Int(span.range.lowerBound)..<Int(span.range.upperBound)])
                : try source.read(span.range)
        }
        return bytes
    }

    /// The first bytes of a part of an item, `most` at most.
    /// - Throws: what the source throws.
    public func bytes(
        of span: ByteSpan, most: UInt64, from source: some ByteSource
    ) throws(HEIFError) -> [UInt8] {
        let range = span.range.lowerBound..<min(span.range.upperBound, span.range.lowerBound + most)
        return span.isInItemData
            ? Array(itemData[Int(range.lowerBound)..<Int(range.upperBound)]) : try source.read(range)
    }

    private static func size(_ spans: [ByteSpan]) -> UInt64 {
        spans.reduce(0) { $0 + UInt64($1.range.count) }
    }

    private func spans(of id: UInt32, depth: Int, count: inout Int) throws(HEIFError) -> [ByteSpan] {
        guard let item = item(id) else { throw HEIFError(.malformed, "item \(id) does not exist") }
        guard let number = item.location else { throw HEIFError(.malformed, "item \(id) has no location") }
        let location = locations.locations[Int(number)]
        let reference = location.dataReference
        guard reference == 0 || ownDataReferences.contains(reference) || location.method == 1 else {
            throw HEIFError(.unsupported, "the bytes of item \(id) are in another file")
        }
        guard !location.extents.isEmpty else { throw HEIFError(.malformed, "item \(id) has no bytes") }
        count += location.extents.count
        guard count <= HEIFLimits.extents, depth <= HEIFLimits.depth else {
            throw HEIFError(.limit, "item \(id) is made of too many parts of other items")
        }
        var result: [ByteSpan] = []
        result.reserveCapacity(location.extents.count)
        for extent in locations.extents[Int(location.extents.lowerBound)..<Int(location.extents.upperBound)] {
            if location.method == 2 {
                result += try part(extent, of: id, depth: depth, count: &count)
            } else {
                let available = location.method == 1 ? UInt64(itemData.count) : fileLength
                result.append(
                    ByteSpan(isInItemData: location.method == 1, range: try Self.range(extent, available, id)))
            }
        }
        // The same bytes may be named many times; together they are no more than the file.
        guard Self.size(result) <= max(fileLength, 1) else {
            throw HEIFError(.malformed, "item \(id) has more bytes than the file")
        }
        return result
    }

    private static func range(
        _ extent: ItemLocations.Extent, _ available: UInt64, _ id: UInt32
    ) throws(HEIFError) -> Range<UInt64> {
        guard extent.offset < available, extent.length <= available - extent.offset else {
            throw HEIFError(.truncated, "the bytes of item \(id) lead outside of the file")
        }
        return extent.offset..<(extent.length == 0 ? available : extent.offset + extent.length)
    }

    /// A part of another item, which the `iloc` reference names (construction method 2).
    private func part(
        _ extent: ItemLocations.Extent, of id: UInt32, depth: Int, count: inout Int
    ) throws(HEIFError) -> [ByteSpan] {
        let others = references.targets("iloc", of: id)
        let index = max(Int(extent.index), 1) - 1
        guard index < others.count else {
            throw HEIFError(.malformed, "item \(id) is a part of an item that it does not name")
        }
        let spans = try spans(of: others[index], depth: depth + 1, count: &count)
        let wanted = try Self.range(extent, Self.size(spans), id)
        var (result, position) = ([ByteSpan](), UInt64(0))
        for span in spans {
            let length = UInt64(span.range.count)
            let (low, high) = (max(wanted.lowerBound, position), min(wanted.upperBound, position + length))
            if low < high {
                let start = span.range.lowerBound + (low - position)
                result.append(ByteSpan(isInItemData: span.isInItemData, range: start..<start + (high - low)))
            }
            position += length
        }
        count += result.count
        return result
    }
}
