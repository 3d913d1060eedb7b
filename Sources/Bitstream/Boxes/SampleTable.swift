// SPDX-License-Identifier: MIT

/// The positions, sizes and presentation times of a track's samples, from its `stbl` (ISO/IEC 14496-12 8.6, 8.7).
///
/// In decoding order and without edit lists, as sample groups count.
public struct SampleTable: Sendable {
    /// The file position of each sample.
    public let offsets: [UInt64]
    private let sizes: [UInt32]
    /// The composition time of each sample, in ticks of the media's time scale.
    public let times: [Int64]

    /// Tables with more samples are refused: 19 hours at 240 frames a second.
    private static let maxCount = 1 << 24

    /// The number of samples.
    public var count: Int { offsets.count }

    /// Bytes of a sample.
    public func size(_ sample: Int) -> Int { Int(sizes[sample]) }

    /// Reads the tables and checks that they agree.
    /// - Throws: the first disagreement.
    public init(_ table: Box) throws(BoxError) {
        sizes = try Self.sizes(table)
        offsets = try Self.offsets(table, sizes)
        times = try Self.times(table, sizes.count)
    }

    private static func sizes(_ table: Box) throws(BoxError) -> [UInt32] {
        guard let fields = table.first("stsz")?.fields, let common = fields.bigEndian(at: 4, 4),
            let count = fields.bigEndian(at: 8, 4)
        else { throw BoxError("the box \"stsz\" is missing or cut off") }
        guard count <= maxCount else { throw BoxError("the track has \(count) samples; \(maxCount) are supported") }
        if common != 0 { return [UInt32](repeating: UInt32(common), count: Int(count)) }
        let rows = try table.rows("stsz", at: 12, columns: 1)
        return (0..<rows.rowCount).map { rows[$0, 0] }
    }

    private static func offsets(_ table: Box, _ sizes: [UInt32]) throws(BoxError) -> [UInt64] {
        var offsets: [UInt64] = []
        offsets.reserveCapacity(sizes.count)
        for chunk in try ChunkTable(table).chunks {
            var offset = chunk.offset
            for _ in 0..<min(chunk.sampleCount, sizes.count - offsets.count) {
                let size = UInt64(sizes[offsets.count])
                offsets.append(offset)
                offset += size
            }
        }
        guard offsets.count == sizes.count else {
            throw BoxError("\(sizes.count - offsets.count) of \(sizes.count) samples are in no chunk")
        }
        return offsets
    }

    private static func times(_ table: Box, _ count: Int) throws(BoxError) -> [Int64] {
        let durations = try table.rows("stts", columns: 2)
        var times: [Int64] = []
        times.reserveCapacity(count)
        var time: Int64 = 0
        for run in 0..<durations.rowCount {
            for _ in 0..<min(Int(durations[run, 0]), count - times.count) {
                times.append(time)
                time += Int64(durations[run, 1])
            }
        }
        guard times.count == count else {
            throw BoxError("the box \"stts\" has times for \(times.count) of \(count) samples")
        }
        guard table.first("ctts") != nil else { return times }
        let shifts = try table.rows("ctts", columns: 2)
        var sample = 0
        for run in 0..<shifts.rowCount {
            // Signed in version 1; QuickTime writes negative offsets in version 0 too.
            let shift = Int64(Int32(bitPattern: shifts[run, 1]))
            for _ in 0..<min(Int(shifts[run, 0]), count - sample) {
                times[sample] += shift
                sample += 1
            }
        }
        return times
    }
}
