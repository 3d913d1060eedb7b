// SPDX-License-Identifier: MIT

/// The chunks of a track, from its `stsc` and `stco` or `co64` (ISO/IEC 14496-12 8.7.4, 8.7.5).
public struct ChunkTable: Hashable, Sendable {
    /// Consecutive samples that are adjacent in the file and share a sample entry.
    public struct Chunk: Hashable, Sendable {
        /// The file position of its first sample.
        public var offset: UInt64
        /// The number of its samples.
        public var sampleCount: Int
        /// The number of its sample entry, from 1.
        public var entry: Int

        /// A chunk; the numbers as the properties state.
        public init(offset: UInt64, sampleCount: Int, entry: Int) {
            self.offset = offset
            self.sampleCount = sampleCount
            self.entry = entry
        }
    }

    /// The chunks, in the order of the samples.
    public private(set) var chunks: [Chunk] = []

    /// The most chunks of a track: as many as a movie box of 64 MiB can have.
    private static let maxCount = 1 << 24

    /// The chunks of a track that is written, in the order of the samples.
    public init(_ chunks: [Chunk]) { self.chunks = chunks }

    /// Reads the tables.
    /// - Throws: an error where a box is missing or cut off, has too many rows, or names chunks that do not exist.
    public init(_ table: Box) throws(BoxError) {
        let isWide = table.first("co64") != nil
        let offsets = try table.rows(isWide ? "co64" : "stco", columns: isWide ? 2 : 1)
        guard offsets.rowCount <= Self.maxCount else {
            throw BoxError("a track has more than \(Self.maxCount) chunks")
        }
        let groups = try table.rows("stsc", columns: 3)
        chunks.reserveCapacity(offsets.rowCount)
        for group in 0..<groups.rowCount {
            let first = Int(groups[group, 0])
            let end = group + 1 < groups.rowCount ? Int(groups[group + 1, 0]) : offsets.rowCount + 1
            guard first >= 1, first < end, end <= offsets.rowCount + 1 else {
                throw BoxError("the box \"stsc\" refers to chunks that do not exist")
            }
            for chunk in first - 1..<end - 1 {
                let offset = offsets.number(chunk)
                guard offset < 1 << 62 else { throw BoxError("a chunk offset exceeds any file size") }
                chunks.append(
                    Chunk(offset: offset, sampleCount: Int(groups[group, 1]), entry: Int(groups[group, 2])))
            }
        }
    }

    /// The first sample that a sample entry describes; the entry's number counts from 1.
    public struct Run: Hashable, Sendable {
        public var start: Int
        public var entry: Int

        /// The run that starts with a sample; both numbers as the properties state.
        public init(start: Int, entry: Int) {
            self.start = start
            self.entry = entry
        }
    }

    /// Assigns sample entries, and splits the chunks that two of them would share.
    ///
    /// - Parameters:
    ///   - runs: ascending; the first one starts with sample 0.
    ///   - size: the bytes of a sample.
    public mutating func assign(_ runs: [Run], size: (Int) -> Int) {
        var result: [Chunk] = []
        var sample = 0
        var run = 0
        for chunk in chunks {
            var part = Chunk(offset: chunk.offset, sampleCount: 0, entry: 0)
            var offset = chunk.offset
            for _ in 0..<chunk.sampleCount {
                while run + 1 < runs.count, runs[run + 1].start <= sample { run += 1 }
                if part.sampleCount > 0, part.entry != runs[run].entry {
                    result.append(part)
                    part = Chunk(offset: offset, sampleCount: 0, entry: 0)
                }
                part.entry = runs[run].entry
                part.sampleCount += 1
                offset += UInt64(size(sample))
                sample += 1
            }
            if part.sampleCount > 0 { result.append(part) }
        }
        chunks = result
    }

    /// Replaces the boxes of a sample table; offsets have 64 bits where it has a `co64`.
    public func write(into table: inout Box) {
        let isWide = table.first("co64") != nil
        var offsets = Self.head(chunks.count)
        var groups: [UInt8] = []
        var groupCount = 0
        var last: Chunk?
        for (index, chunk) in chunks.enumerated() {
            if isWide {
                offsets.appendBigEndian(chunk.offset)
            } else {
                offsets.appendBigEndian(UInt32(truncatingIfNeeded: chunk.offset))
            }
            guard last?.sampleCount != chunk.sampleCount || last?.entry != chunk.entry else { continue }
            for number in [index + 1, chunk.sampleCount, chunk.entry] {
                groups.appendBigEndian(UInt32(truncatingIfNeeded: number))
            }
            groupCount += 1
            last = chunk
        }
        table.put(Box(isWide ? "co64" : "stco", offsets))
        table.put(Box("stsc", Self.head(groupCount) + groups))
    }

    /// Version, flags and the number of rows.
    private static func head(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = [0, 0, 0, 0]
        bytes.appendBigEndian(UInt32(truncatingIfNeeded: count))
        return bytes
    }
}

extension Box {
    /// The rows of 32-bit words of a child box, the first at byte `start` of its body.
    /// - Throws: an error where the box is missing or cut off.
    public func rows(_ name: FourCC, at start: Int = 8, columns: Int) throws(BoxError) -> BigEndianTable {
        guard let box = first(name), let rows = BigEndianTable(box.fields, rowsAt: start, columns: columns)
        else { throw BoxError("the box \"\(name)\" is missing or cut off") }
        return rows
    }
}
