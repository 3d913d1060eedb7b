// SPDX-License-Identifier: MIT

extension ExifFields {
    /// The fields of a structure that describe a photograph: of a TIFF file with samples a structure without them and without
    /// the fields that say how they are stored, else the structure as it is.
    ///
    /// - Returns: nil where there are none, or the bytes are no TIFF structure.
    public static func withoutSamples(in bytes: [UInt8]) -> [UInt8]? {
        guard let reader = TIFFReader(bytes), let first = reader.number(4, 4) else { return nil }
        let tags = reader.entries(at: first, most: ExifExtract.maxEntries).map(\.tag)
        guard tags.contains(where: ExifExtract.samples.contains) else { return bytes }
        var writer = ExifExtract(reader)
        return writer.structure(directory: first)
    }
}

/// Copies directories of a TIFF structure to another one.
private struct ExifExtract {
    /// The fields of the first directory that Exif has (Exif 2.32 4.6.4, and Windows' fields of texts and ratings).
    private static let kept: Set<Int> = [
        0x010E, 0x010F, 0x0110, 0x0112, 0x011A, 0x011B, 0x0128, 0x0131, 0x0132, 0x013B, 0x013C, 0x013E, 0x013F,
        0x4746, 0x4749, 0x8298, 0x8769, 0x8825, 0x9C9B, 0x9C9C, 0x9C9D, 0x9C9E, 0x9C9F,
    ]
    /// Fields that name a directory: Exif, GPS and interoperability.
    private static let directories: Set<Int> = [0x8769, 0x8825, 0xA005]
    /// Fields that say nothing of a photograph where there are no others: how it is turned, and its resolution.
    private static let formal: Set<Int> = [0x0112, 0x011A, 0x011B, 0x0128]
    /// Fields of samples: where strips, tiles and further pictures are.
    static let samples: Set<Int> = [0x0111, 0x0144, 0x014A]
    static let maxEntries = 1024
    private static let maxDepth = 3

    private let reader: TIFFReader
    private var bytes: [UInt8]

    init(_ reader: TIFFReader) {
        self.reader = reader
        bytes = reader.isLittleEndian ? [0x49, 0x49, 42, 0, 0, 0, 0, 0] : [0x4D, 0x4D, 0, 42, 0, 0, 0, 0]
    }

    mutating func structure(directory place: Int) -> [UInt8]? {
        let entries = reader.entries(at: place, most: Self.maxEntries).filter { Self.kept.contains($0.tag) }
        guard entries.contains(where: { !Self.formal.contains($0.tag) }),
            let first = directory(entries, depth: 0)
        else { return nil }
        bytes.replaceSubrange(4..<8, with: number(first, 4))
        return bytes
    }

    /// Writes a directory behind its values, and returns its place; nil for an empty one.
    private mutating func directory(_ entries: [TIFFReader.Entry], depth: Int) -> Int? {
        var fields: [[UInt8]] = []
        // A directory that names others many times, itself among them, would grow with each.
        var named: Set<Int> = []
        for entry in entries.sorted(by: { $0.tag < $1.tag }) {
            if Self.directories.contains(entry.tag), !named.insert(entry.tag).inserted { continue }
            guard let field = field(entry, depth: depth) else { continue }
            fields.append(field)
        }
        guard !fields.isEmpty, hasRoom(for: 12 * fields.count + 6) else { return nil }
        return append(number(fields.count, 2) + fields.flatMap { $0 } + [0, 0, 0, 0])
    }

    private mutating func field(_ entry: TIFFReader.Entry, depth: Int) -> [UInt8]? {
        let head = number(entry.tag, 2) + number(entry.type, 2) + number(entry.count, 4)
        if Self.directories.contains(entry.tag) {
            guard depth < Self.maxDepth, let place = reader.integer(entry),
                let copy = directory(reader.entries(at: place, most: Self.maxEntries), depth: depth + 1)
            else { return nil }
            return head + number(copy, 4)
        }
        // Fields may share their bytes.
        guard let data = reader.slice(entry), !data.isEmpty, hasRoom(for: data.count) else { return nil }
        if data.count <= 4 { return head + data + [UInt8](repeating: 0, count: 4 - data.count) }
        return head + number(append(data), 4)
    }

    private func hasRoom(for count: Int) -> Bool { bytes.count + count <= Int(HEIFLimits.metadataSize) }

    /// Appends bytes at an even place, and returns it.
    private mutating func append(_ data: some Collection<UInt8>) -> Int {
        if bytes.count % 2 == 1 { bytes.append(0) }
        defer { bytes += data }
        return bytes.count
    }

    private func number(_ value: Int, _ count: Int) -> [UInt8] {
        let digits = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        return reader.isLittleEndian ? digits : digits.reversed()
    }
}
