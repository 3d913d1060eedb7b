// SPDX-License-Identifier: MIT

/// The times of a sample, in ticks of its media.
struct SampleTime: Hashable, Sendable {
    /// On the media's time line.
    var decode: Int64
    /// From the decode time to the composition time.
    var shift: Int64
    var duration: Int64

    /// The time at which it is composed, on the media's time line.
    var composition: Int64 { decode &+ shift }
}

/// Where a sample is in the file.
struct SamplePlace: Hashable, Sendable {
    var offset: UInt64
    var size: UInt64
    /// The number of its sample entry, from 1.
    var entry: Int

    /// nil where the sample ends behind the largest file.
    var range: Range<UInt64>? {
        let (end, overflow) = offset.addingReportingOverflow(size)
        return overflow ? nil : offset..<end
    }
}

/// The greatest time or offset of a sample: sums of a few of them do not overflow.
let greatestTime: Int64 = 1 << 60

/// Ranges of samples, ascending and apart: those that decoding can begin with.
struct SampleRanges: Sendable {
    private var starts: [UInt32] = []
    private var ends: [UInt32] = []

    /// Adds samples behind those before; false where they are not.
    mutating func append(_ range: Range<Int>) -> Bool {
        guard let start = UInt32(exactly: range.lowerBound), let end = UInt32(exactly: range.upperBound) else {
            return false
        }
        guard start < end else { return true }
        guard start >= ends.last ?? 0 else { return false }
        if start == ends.last {
            ends[ends.count - 1] = end
        } else {
            starts.append(start)
            ends.append(end)
        }
        return true
    }

    var isEmpty: Bool { starts.isEmpty }

    func contains(_ sample: Int) -> Bool {
        let range = starts.partitionPoint { $0 > sample } - 1
        return range >= 0 && sample < ends[range]
    }

    /// The last sample that does not satisfy `isAfter`, which all samples behind it do; nil where all of them do.
    func last(before isAfter: (Int) -> Bool) -> Int? {
        let range = starts.partitionPoint { isAfter(Int($0)) } - 1
        guard range >= 0 else { return nil }
        var (low, high) = (Int(starts[range]), Int(ends[range]))
        while high - low > 1 {
            let middle = (low + high) / 2
            if isAfter(middle) { high = middle } else { low = middle }
        }
        return low
    }

    /// The first sample behind `sample`; nil where there is none.
    func next(after sample: Int) -> Int? {
        if contains(sample + 1) { return sample + 1 }
        let range = starts.partitionPoint { $0 > sample }
        return range < starts.count ? Int(starts[range]) : nil
    }

    /// The ranges, in order.
    var ranges: some Sequence<Range<Int>> { zip(starts, ends).lazy.map { Int($0)..<Int($1) } }

    /// Both, in order.
    func union(_ other: SampleRanges) -> SampleRanges {
        var result = SampleRanges()
        var (ours, theirs) = (0, 0)
        while ours < starts.count || theirs < other.starts.count {
            let isOurs = theirs == other.starts.count || ours < starts.count && starts[ours] <= other.starts[theirs]
            let range =
                isOurs ? Int(starts[ours])..<Int(ends[ours]) : Int(other.starts[theirs])..<Int(other.ends[theirs])
            let covered = Int(result.ends.last ?? 0)
            if range.upperBound > covered { _ = result.append(max(range.lowerBound, covered)..<range.upperBound) }
            if isOurs { ours += 1 } else { theirs += 1 }
        }
        return result
    }
}

/// The group of each sample in one grouping: `sbgp` with `sgpd` (ISO/IEC 14496-12 8.9).
struct GroupMap: Sendable {
    /// The descriptions, each once.
    private(set) var descriptions: [[UInt8]] = []
    private var numbers: [[UInt8]: Int32] = [:]
    /// The sample behind each run, and its description or -1.
    private var ends: [Int] = []
    private var values: [Int32] = []

    /// Assigns samples up to `end` to a group; nil is none.
    mutating func append(upTo end: Int, _ description: [UInt8]?) {
        guard end > ends.last ?? 0 else { return }
        var value: Int32 = -1
        if let description { value = number(description) }
        if values.last == value {
            ends[ends.count - 1] = end
        } else {
            ends.append(end)
            values.append(value)
        }
    }

    private mutating func number(_ description: [UInt8]) -> Int32 {
        if let known = numbers[description] { return known }
        let number = Int32(descriptions.count)
        numbers[description] = number
        descriptions.append(description)
        return number
    }

    /// Adds a description that no sample may have.
    mutating func declare(_ description: [UInt8]) { _ = number(description) }

    /// The sample behind the last that was assigned.
    var end: Int { ends.last ?? 0 }

    /// The description of a sample's group.
    subscript(sample: Int) -> [UInt8]? {
        let run = ends.partitionPoint { $0 > sample }
        return run < ends.count && values[run] >= 0 ? descriptions[Int(values[run])] : nil
    }

    /// The samples with a description.
    var members: SampleRanges {
        var result = SampleRanges()
        var start = 0
        for (end, value) in zip(ends, values) {
            if value >= 0 { _ = result.append(start..<end) }
            start = end
        }
        return result
    }
}
