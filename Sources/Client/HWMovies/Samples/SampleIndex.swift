// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// All samples of a track in decoding order: those of the movie box, then those of the fragments.
struct SampleIndex: Sendable {
    private let table: TableSamples
    private var fragments: [FragmentSamples] = []
    /// The first sample of each run of a fragment.
    private var starts: [Int] = []
    /// The descriptions of groups in the movie box, to which fragments refer.
    private var described: [FourCC: SampleGroup] = [:]
    private(set) var count: Int
    /// The samples that decoding can begin with.
    private(set) var sync = SampleRanges()
    /// The groups of the samples, by `grouping_type`.
    private(set) var groups: [FourCC: GroupMap] = [:]
    /// The least difference between composition and decode time, or 0.
    private(set) var leastShift: Int64
    /// Whether composition times may differ from decode times.
    private(set) var isReordered: Bool
    /// The decode time behind the last sample.
    private(set) var end: Int64

    /// Reads a `stbl`.
    /// - Throws: the first contradiction in it.
    init(_ box: Box) throws(BoxError) {
        table = try TableSamples(box)
        count = table.count
        (leastShift, isReordered, end) = (table.leastShift, table.isReordered, table.end)
        described = try readGroups(box.children, 0..<count)
        sync = try Self.sync(box, count, groups["rap "])
    }

    var hasFragments: Bool { !fragments.isEmpty }

    /// Whether all samples last one tick and have the same size, as those of sound that is not compressed do.
    var isUniform: Bool { table.isUniform && fragments.isEmpty }

    /// The samples of `stss` and of QuickTime's `stps`, and those of `rap ` groups; all where there is no `stss`.
    private static func sync(_ box: Box, _ count: Int, _ open: GroupMap?) throws(BoxError) -> SampleRanges {
        var ranges = SampleRanges()
        guard box.first("stss") != nil else {
            _ = ranges.append(0..<count)
            return ranges
        }
        for name in ["stss", "stps"] as [FourCC] where box.first(name) != nil {
            let rows = try box.rows(name, columns: 1)
            // In order and from 1; what is no sample is left out.
            var numbers = (0..<rows.rowCount).map { rows[$0, 0] }
            if !zip(numbers, numbers.dropFirst()).allSatisfy({ $0 < $1 }) { numbers.sort() }
            var these = SampleRanges()
            for number in numbers where number >= 1 && Int(number) <= count {
                _ = these.append(Int(number) - 1..<Int(number))
            }
            ranges = ranges.union(these)
        }
        return open.map { ranges.union($0.members) } ?? ranges
    }

    /// Reads the groups of `samples` from the boxes of their table or fragment, and returns those boxes' descriptions.
    ///
    /// A fragment may refer to the movie's descriptions, and numbers its own from 65537 (8.9.4).
    private mutating func readGroups(
        _ boxes: [Box], _ samples: Range<Int>
    ) throws(BoxError) -> [FourCC: SampleGroup] {
        var (own, maps): ([FourCC: SampleGroup], [FourCC: SampleGroup]) = ([:], [:])
        for box in boxes where box.type == "sgpd" || box.type == "sbgp" {
            guard let type = box.fields.fourCC(at: 4) else { throw BoxError("the box \"\(box.type)\" is cut off") }
            guard groups[type] != nil || groups.count + own.count < MovieLimits.groupTypes else { continue }
            if box.type == "sgpd" {
                if own[type] == nil { own[type] = try SampleGroup(type, in: Box("stbl", children: [box])) }
            } else if maps[type] == nil {
                var map = SampleGroup(type, entries: [])
                try map.readRuns(box.fields)
                maps[type] = map
            }
        }
        for type in Set(described.keys).union(own.keys).union(maps.keys) {
            guard let nearest = own[type] ?? described[type] else {
                throw BoxError("samples are in groups of type \"\(type)\" that have no description")
            }
            let common = described[type] ?? own[type]
            func description(_ index: UInt32) -> [UInt8]? {
                let entries = (index > 0x1_0000 ? own[type] : common)?.entries ?? []
                let number = Int(index & 0xFFFF) - 1
                return entries.indices.contains(number) ? entries[number] : nil
            }
            // Taken out, so that it is changed in place: a copy for each fragment takes quadratic time.
            var map = groups.removeValue(forKey: type) ?? GroupMap()
            if let entries = own[type]?.entries { entries.forEach { map.declare($0) } }
            map.append(upTo: samples.lowerBound, nil)
            var sample = samples.lowerBound
            for run in maps[type]?.runs ?? [] {
                sample = min(samples.upperBound, sample + Int(run.count))
                map.append(upTo: sample, description(run.index))
            }
            let rest = Int(nearest.defaultIndex) - 1
            map.append(
                upTo: samples.upperBound, nearest.entries.indices.contains(rest) ? nearest.entries[rest] : nil)
            groups[type] = map
        }
        return own
    }

    /// Adds the runs of a `traf`, and the groups among its boxes.
    /// - Throws: the first contradiction in them.
    mutating func append(_ runs: [FragmentSamples], _ boxes: [Box]) throws(BoxError) {
        let first = count
        for run in runs where run.count > 0 {
            guard count + run.count <= MovieLimits.samples, run.appendSync(to: &sync, from: count) else {
                throw BoxError("a track has more than \(MovieLimits.samples) samples")
            }
            starts.append(count)
            fragments.append(run)
            count += run.count
            leastShift = min(leastShift, run.leastShift)
            isReordered = isReordered || run.isReordered
            end = run.end
        }
        _ = try readGroups(boxes, first..<count)
    }

    /// The run of a fragment that has a sample, and the sample's number in it; nil for one of the movie box.
    private func fragment(of sample: Int) -> (run: FragmentSamples, sample: Int)? {
        guard sample >= table.count else { return nil }
        let number = starts.partitionPoint { $0 > sample } - 1
        return (fragments[number], sample - starts[number])
    }

    func time(_ sample: Int) -> SampleTime {
        fragment(of: sample).map { $0.run.time($0.sample) } ?? table.time(sample)
    }

    /// Where a sample is; nil where that is behind the largest file.
    func place(_ sample: Int, _ cursor: inout TableSamples.Cursor) -> SamplePlace? {
        fragment(of: sample).map { $0.run.place($0.sample) } ?? table.place(sample, &cursor)
    }

    /// The dependencies of a sample, as a byte of `sdtp` (8.6.4); nil where nothing states them.
    func dependency(_ sample: Int) -> UInt8? {
        fragment(of: sample).map { $0.run.dependency($0.sample) } ?? table.dependency(sample)
    }

    /// The samples of the chunk that has a sample of the movie box.
    func chunk(of sample: Int) -> Range<Int> { table.chunk(of: sample) }

    /// The last sample that decoding can begin with and that is composed at `time` or before; nil where there is none.
    func sync(atOrBefore time: Int64) -> Int? { sync.last { self.time($0).composition > time } }
}
