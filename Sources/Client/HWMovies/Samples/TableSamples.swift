// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// The samples of a track's `stbl` (ISO/IEC 14496-12 8.6, 8.7), in decoding order.
///
/// The tables stay as they are in the file: a count that the file states without rows for it takes no memory.
struct TableSamples: Sendable {
    let count: Int
    private let durations: RunTable
    /// The decode time of each row's first sample.
    private let rowTimes: [Int64]
    private let shifts: RunTable?
    private let sizes: Sizes
    private let chunks: Chunks
    private let dependencies: ArraySlice<UInt8>

    /// Reads the tables and checks that they agree.
    /// - Throws: the first disagreement.
    init(_ table: Box) throws(BoxError) {
        sizes = try Sizes(table)
        count = sizes.count
        durations = RunTable(try table.rows("stts", columns: 2))
        shifts = table.first("ctts") == nil ? nil : RunTable(try table.rows("ctts", columns: 2))
        chunks = try Chunks(table)
        guard durations.count >= count else {
            throw BoxError("the box \"stts\" has times for \(durations.count) of \(count) samples")
        }
        guard chunks.sampleCount >= count else {
            throw BoxError("\(count - chunks.sampleCount) of \(count) samples are in no chunk")
        }
        var time: Int64 = 0
        var times: [Int64] = []
        times.reserveCapacity(durations.rowCount)
        for row in 0..<durations.rowCount {
            times.append(time)
            let samples = Int64(durations.start(row + 1) - durations.start(row))
            let (ticks, isLong) = samples.multipliedReportingOverflow(by: Int64(durations.value(row)))
            let (sum, overflow) = time.addingReportingOverflow(ticks)
            guard !isLong, !overflow, sum < greatestTime else {
                throw BoxError("the times of the samples are too large")
            }
            time = sum
        }
        rowTimes = times
        let body = table.first("sdtp")?.fields.dropFirst(4) ?? []
        dependencies = body.count >= count ? body.prefix(count) : []
    }

    /// The decode time behind the last sample.
    var end: Int64 {
        guard count > 0 else { return 0 }
        let last = time(count - 1)
        return last.decode + last.duration
    }

    /// The least difference between composition and decode time, or 0.
    var leastShift: Int64 {
        guard let shifts else { return 0 }
        return (0..<shifts.rowCount).reduce(0) { min($0, Self.signed(shifts.value($1))) }
    }

    /// Whether composition times may differ from decode times.
    var isReordered: Bool { shifts != nil }

    /// Whether all samples last one tick and have the same size, as those of sound that is not compressed do.
    var isUniform: Bool { durations.rowCount == 1 && durations.value(0) == 1 && sizes.common != nil }

    // Signed in version 1; QuickTime writes negative offsets in version 0, too.
    private static func signed(_ value: UInt32) -> Int64 { Int64(Int32(bitPattern: value)) }

    func time(_ sample: Int) -> SampleTime {
        let row = durations.row(of: sample) ?? 0
        let duration = Int64(durations.value(row))
        let shift = shifts.flatMap { table in table.row(of: sample).map { Self.signed(table.value($0)) } } ?? 0
        return SampleTime(
            decode: rowTimes[row] + Int64(sample - durations.start(row)) * duration, shift: shift,
            duration: duration)
    }

    /// The byte of `sdtp`; nil without one.
    func dependency(_ sample: Int) -> UInt8? {
        dependencies.isEmpty ? nil : dependencies[dependencies.startIndex + sample]
    }

    /// Where a sample is; nil where that is behind the largest file.
    func place(_ sample: Int, _ cursor: inout Cursor) -> SamplePlace? {
        if sample != cursor.sample || sample >= cursor.chunkEnd {
            let chunk = chunks.chunk(of: sample)
            guard let skipped = sizes.sum(chunk.samples.lowerBound..<sample) else { return nil }
            let (offset, overflow) = chunk.offset.addingReportingOverflow(skipped)
            guard !overflow else { return nil }
            cursor = Cursor(sample: sample, chunkEnd: chunk.samples.upperBound, offset: offset, entry: chunk.entry)
        }
        let place = SamplePlace(offset: cursor.offset, size: UInt64(sizes[sample]), entry: cursor.entry)
        guard let range = place.range else { return nil }
        (cursor.sample, cursor.offset) = (sample + 1, range.upperBound)
        return place
    }

    /// The samples of the chunk that has a sample.
    func chunk(of sample: Int) -> Range<Int> { chunks.chunk(of: sample).samples.clamped(to: 0..<count) }

    /// Where the next sample is, if it is in the same chunk.
    struct Cursor: Sendable {
        fileprivate var sample = -1
        fileprivate var chunkEnd = 0
        fileprivate var offset: UInt64 = 0
        fileprivate var entry = 0
    }
}

/// The sizes of samples: `stsz` or `stz2` (ISO/IEC 14496-12 8.7.3).
private struct Sizes: Sendable {
    let count: Int
    /// The size of every sample; nil where they differ.
    let common: UInt32?
    private let bytes: ArraySlice<UInt8>
    /// 4, 8, 16 or 32.
    private let bits: Int

    init(_ table: Box) throws(BoxError) {
        let box = table.first("stsz") ?? table.first("stz2")
        guard let box, let first = box.fields.bigEndian(at: 4, 4), let count = box.fields.bigEndian(at: 8, 4) else {
            throw BoxError("the box \"stsz\" is missing or cut off")
        }
        let isCompact = box.type == "stz2"
        bits = isCompact ? Int(first & 255) : 32
        guard [4, 8, 16, 32].contains(bits), !isCompact || bits < 32 else {
            throw BoxError("the box \"stz2\" has sizes of \(bits) bits")
        }
        self.count = Int(count)
        common = isCompact || first == 0 ? nil : UInt32(first)
        bytes = box.fields.dropFirst(12)
        guard common != nil || bytes.count >= (self.count * bits + 7) / 8 else {
            throw BoxError("the box \"\(box.type)\" is missing or cut off")
        }
    }

    subscript(sample: Int) -> UInt32 {
        if let common { return common }
        let start = bytes.startIndex
        switch bits {
        case 4:
            let pair = bytes[start + sample / 2]
            return UInt32(sample.isMultiple(of: 2) ? pair >> 4 : pair & 15)
        case 8: return UInt32(bytes[start + sample])
        case 16: return UInt32(bytes[start + 2 * sample]) << 8 | UInt32(bytes[start + 2 * sample + 1])
        default:
            let place = start + 4 * sample
            return UInt32(bytes[place]) << 24 | UInt32(bytes[place + 1]) << 16 | UInt32(bytes[place + 2]) << 8
                | UInt32(bytes[place + 3])
        }
    }

    /// Bytes of consecutive samples; nil for more than 64 bits can state.
    func sum(_ samples: Range<Int>) -> UInt64? {
        if let common {
            let (product, overflow) = UInt64(common).multipliedReportingOverflow(by: UInt64(samples.count))
            return overflow ? nil : product
        }
        return samples.reduce(0) { $0 + UInt64(self[$1]) }
    }
}

/// The chunks of samples: `stsc` with `stco` or `co64` (ISO/IEC 14496-12 8.7.4, 8.7.5).
private struct Chunks: Sendable {
    /// The number of samples that all chunks have.
    let sampleCount: Int
    private let offsets: BigEndianTable
    private let groups: BigEndianTable
    /// The first sample of each row of `stsc`.
    private let starts: [Int]

    init(_ table: Box) throws(BoxError) {
        let isWide = table.first("co64") != nil
        offsets = try table.rows(isWide ? "co64" : "stco", columns: isWide ? 2 : 1)
        groups = try table.rows("stsc", columns: 3)
        var starts: [Int] = []
        starts.reserveCapacity(groups.rowCount)
        var total = 0
        for group in 0..<groups.rowCount {
            let first = Int(groups[group, 0])
            let end = group + 1 < groups.rowCount ? Int(groups[group + 1, 0]) : offsets.rowCount + 1
            // The last row may be for chunks that a writer never made.
            guard first >= 1, first < end || first == end && group + 1 == groups.rowCount,
                end <= offsets.rowCount + 1
            else { throw BoxError("the box \"stsc\" refers to chunks that do not exist") }
            starts.append(total)
            total += (end - first) * Int(groups[group, 1])
        }
        if groups.rowCount > 0, groups[0, 0] != 1 {
            throw BoxError("the box \"stsc\" does not begin with the first chunk")
        }
        self.starts = starts
        sampleCount = total
    }

    /// The chunk of a sample, which exists.
    func chunk(of sample: Int) -> (offset: UInt64, samples: Range<Int>, entry: Int) {
        let group = starts.partitionPoint { $0 > sample } - 1
        let size = Int(groups[group, 1])
        let index = (sample - starts[group]) / size
        let first = starts[group] + index * size
        let offset = offsets.number(Int(groups[group, 0]) - 1 + index)
        return (offset, first..<first + size, Int(groups[group, 2]))
    }
}
