// SPDX-License-Identifier: GPL-2.0-or-later

/// Where a track's samples lie, how large they are and when they are shown, by its `stbl` (ISO/IEC 14496-12 8.6, 8.7).
///
/// In decoding order and without edit lists: what sample groups count by.
struct SampleTable: Sendable {
    /// The first byte of each sample in the file.
    let offsets: [UInt64]
    private let sizes: [UInt32]
    /// When each sample is shown, in ticks of the media's time scale.
    let times: [Int64]

    /// The most samples of a track that are looked at: 19 hours at 240 frames a second.
    private static let maxCount = 1 << 24

    /// How many samples there are.
    var count: Int { offsets.count }

    /// Bytes of a sample.
    func size(_ sample: Int) -> Int { Int(sizes[sample]) }

    /// Reads the tables and has them agree with each other.
    /// - Throws: what is wrong with them.
    init(_ table: Box) throws(BoxError) {
        sizes = try Self.sizes(table)
        offsets = try Self.offsets(table, sizes)
        times = try Self.times(table, sizes.count)
    }

    /// Big-endian numbers of 32 bits that follow each other in a box.
    private struct BigEndianWords {
        let name: FourCC
        private let bytes: [UInt8]
        private let start: Int

        /// The list of a full box behind `start` bytes; `width` words an entry, and as many as the box says.
        init(_ table: Box, _ name: FourCC, start: Int, width: Int) throws(BoxError) {
            guard let box = table.first(name), let count = box.fields.bigEndian(at: start - 4, 4),
                Int(count) <= (box.fields.count - start) / (4 * width)
            else { throw BoxError("the box \"\(name)\" is missing or cut off") }
            self.name = name
            bytes = box.fields
            self.start = start
            self.count = Int(count)
        }

        let count: Int

        func callAsFunction(_ index: Int) -> UInt32 {
            bytes.withUnsafeBytes {
                UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: start + index * 4, as: UInt32.self))
            }
        }
    }

    private static func sizes(_ table: Box) throws(BoxError) -> [UInt32] {
        guard let fields = table.first("stsz")?.fields, let same = fields.bigEndian(at: 4, 4),
            let count = fields.bigEndian(at: 8, 4)
        else { throw BoxError("the box \"stsz\" is missing or cut off") }
        guard count <= maxCount else { throw BoxError("there are \(count) samples, more than are looked at") }
        if same != 0 { return [UInt32](repeating: UInt32(same), count: Int(count)) }
        let words = try BigEndianWords(table, "stsz", start: 12, width: 1)
        return (0..<words.count).map { words($0) }
    }

    private static func offsets(_ table: Box, _ sizes: [UInt32]) throws(BoxError) -> [UInt64] {
        let isWide = table.first("co64") != nil
        let chunks = try BigEndianWords(table, isWide ? "co64" : "stco", start: 8, width: isWide ? 2 : 1)
        let groups = try BigEndianWords(table, "stsc", start: 8, width: 3)
        var offsets: [UInt64] = []
        offsets.reserveCapacity(sizes.count)
        for group in 0..<groups.count {
            let first = Int(groups(group * 3))
            let end = group + 1 < groups.count ? Int(groups(group * 3 + 3)) : chunks.count + 1
            guard first >= 1, first < end, end <= chunks.count + 1 else {
                throw BoxError("the box \"stsc\" names chunks that are not there")
            }
            for chunk in first - 1..<end - 1 {
                var place =
                    isWide ? UInt64(chunks(chunk * 2)) << 32 | UInt64(chunks(chunk * 2 + 1)) : UInt64(chunks(chunk))
                guard place < 1 << 62 else { throw BoxError("a chunk lies outside of all files") }
                for _ in 0..<min(Int(groups(group * 3 + 1)), sizes.count - offsets.count) {
                    let size = UInt64(sizes[offsets.count])
                    offsets.append(place)
                    place += size
                }
            }
        }
        guard offsets.count == sizes.count else {
            throw BoxError("\(sizes.count - offsets.count) of \(sizes.count) samples are in no chunk")
        }
        return offsets
    }

    private static func times(_ table: Box, _ count: Int) throws(BoxError) -> [Int64] {
        let durations = try BigEndianWords(table, "stts", start: 8, width: 2)
        var times: [Int64] = []
        times.reserveCapacity(count)
        var time: Int64 = 0
        for run in 0..<durations.count {
            for _ in 0..<min(Int(durations(run * 2)), count - times.count) {
                times.append(time)
                time += Int64(durations(run * 2 + 1))
            }
        }
        guard times.count == count else {
            throw BoxError("the box \"stts\" gives times to \(times.count) of \(count) samples")
        }
        guard table.first("ctts") != nil else { return times }
        let shifts = try BigEndianWords(table, "ctts", start: 8, width: 2)
        var sample = 0
        for run in 0..<shifts.count {
            // Version 1 has signed ones, and QuickTime writes negative ones in version 0.
            let shift = Int64(Int32(bitPattern: shifts(run * 2 + 1)))
            for _ in 0..<min(Int(shifts(run * 2)), count - sample) {
                times[sample] += shift
                sample += 1
            }
        }
        return times
    }
}
