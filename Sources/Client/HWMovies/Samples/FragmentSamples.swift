// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// What `trex` states of a track's samples in fragments, and `tfhd` of those of one fragment (ISO/IEC 14496-12 8.8.3, 8.8.7).
struct FragmentDefaults: Hashable, Sendable {
    var entry = 1
    var duration: UInt32 = 0
    var size: UInt32 = 0
    var flags: UInt32 = 0
}

/// The samples of one `trun` (ISO/IEC 14496-12 8.8.8).
///
/// The rows stay as they are in the file; times and offsets of every 64th sample are kept.
struct FragmentSamples: Sendable {
    let count: Int
    /// The decode time of the first sample.
    let start: Int64
    /// The decode time behind the last sample.
    private(set) var end: Int64
    /// The byte behind the last sample.
    private(set) var endOffset: UInt64
    /// The least difference between composition and decode time, or 0.
    private(set) var leastShift: Int64 = 0
    private let defaults: FragmentDefaults
    private let firstFlags: UInt32?
    private let fields: Fields
    private let rows: [UInt8]
    private let offset: UInt64
    private var checkpoints: [(time: Int64, offset: UInt64)] = []
    private static let stride = 64
    private static let tooLarge = BoxError("the times or sizes of a fragment are too large")

    /// Which fields a row has, in this order.
    private struct Fields: Hashable {
        let hasDuration: Bool
        let hasSize: Bool
        let hasFlags: Bool
        let hasShift: Bool

        init(_ flags: Int) {
            hasDuration = flags & 0x100 != 0
            hasSize = flags & 0x200 != 0
            hasFlags = flags & 0x400 != 0
            hasShift = flags & 0x800 != 0
        }

        var rowSize: Int { [hasDuration, hasSize, hasFlags, hasShift].reduce(0) { $0 + ($1 ? 4 : 0) } }
        var sizeOffset: Int { hasDuration ? 4 : 0 }
        var flagsOffset: Int { sizeOffset + (hasSize ? 4 : 0) }
        var shiftOffset: Int { flagsOffset + (hasFlags ? 4 : 0) }
    }

    /// Where the samples of a run begin.
    struct Origin {
        /// What a data offset counts from.
        var base: UInt64
        /// Where they are without a data offset.
        var next: UInt64
        /// The decode time of the first.
        var time: Int64
    }

    /// Reads the body of a `trun`.
    init(_ body: ArraySlice<UInt8>, _ defaults: FragmentDefaults, _ origin: Origin) throws(BoxError) {
        var box = BoxFields("trun", body)
        let (_, flags) = try box.versionAndFlags(upTo: 1)
        count = try box.int(4)
        fields = Fields(flags)
        var start = origin.next
        if flags & 1 != 0 {
            let shift = Int64(Int32(truncatingIfNeeded: try box.int(4)))
            let (sum, overflow) =
                shift < 0
                ? origin.base.subtractingReportingOverflow(shift.magnitude)
                : origin.base.addingReportingOverflow(shift.magnitude)
            guard !overflow else { throw BoxError("a fragment begins before the file") }
            start = sum
        }
        firstFlags = flags & 4 != 0 ? UInt32(try box.number(4)) : nil
        rows = Array(try box.take(count * fields.rowSize))
        self.defaults = defaults
        (offset, self.start) = (start, origin.time)
        (end, endOffset) = (origin.time, start)
        guard origin.time >= 0, origin.time < greatestTime else { throw Self.tooLarge }
        try measure()
    }

    /// Sums up the rows.
    private mutating func measure() throws(BoxError) {
        guard fields.rowSize > 0 else {
            let (bytes, overflow) = UInt64(count).multipliedReportingOverflow(by: UInt64(defaults.size))
            let (last, exceeds) = offset.addingReportingOverflow(bytes)
            let (ticks, isLong) = Int64(count).multipliedReportingOverflow(by: Int64(defaults.duration))
            guard !overflow, !exceeds, !isLong, ticks < greatestTime else { throw Self.tooLarge }
            (end, endOffset) = (start + ticks, last)
            return
        }
        var (time, place) = (start, offset)
        checkpoints.reserveCapacity(count / Self.stride + 1)
        for sample in 0..<count {
            if sample.isMultiple(of: Self.stride) { checkpoints.append((time, place)) }
            let (next, overflow) = place.addingReportingOverflow(UInt64(size(sample)))
            guard !overflow else { throw Self.tooLarge }
            (time, place) = (time + Int64(duration(sample)), next)
            leastShift = min(leastShift, shift(sample))
        }
        (end, endOffset) = (time, place)
    }

    private func word(_ sample: Int, _ field: Int) -> UInt32 {
        let place = sample * fields.rowSize + field
        return UInt32(rows[place]) << 24 | UInt32(rows[place + 1]) << 16 | UInt32(rows[place + 2]) << 8
            | UInt32(rows[place + 3])
    }

    private func duration(_ sample: Int) -> UInt32 { fields.hasDuration ? word(sample, 0) : defaults.duration }

    private func size(_ sample: Int) -> UInt32 {
        fields.hasSize ? word(sample, fields.sizeOffset) : defaults.size
    }

    private func shift(_ sample: Int) -> Int64 {
        fields.hasShift ? Int64(Int32(bitPattern: word(sample, fields.shiftOffset))) : 0
    }

    /// `sample_flags` (8.8.3.1).
    private func flags(_ sample: Int) -> UInt32 {
        if sample == 0, let firstFlags { return firstFlags }
        return fields.hasFlags ? word(sample, fields.flagsOffset) : defaults.flags
    }

    /// The time and the place of a sample.
    private func sums(_ sample: Int) -> (time: Int64, offset: UInt64) {
        guard fields.rowSize > 0 else {
            return (
                start + Int64(sample) * Int64(defaults.duration), offset + UInt64(sample) * UInt64(defaults.size)
            )
        }
        var (time, place) = checkpoints[sample / Self.stride]
        for earlier in sample / Self.stride * Self.stride..<sample {
            time += Int64(duration(earlier))
            place += UInt64(size(earlier))
        }
        return (time, place)
    }

    func time(_ sample: Int) -> SampleTime {
        SampleTime(decode: sums(sample).time, shift: shift(sample), duration: Int64(duration(sample)))
    }

    func place(_ sample: Int) -> SamplePlace {
        SamplePlace(offset: sums(sample).offset, size: UInt64(size(sample)), entry: defaults.entry)
    }

    /// The flags as a byte of `sdtp`; nil where they say nothing.
    func dependency(_ sample: Int) -> UInt8? {
        let byte = UInt8(truncatingIfNeeded: flags(sample) >> 20)
        return byte == 0 ? nil : byte
    }

    /// Whether composition times may differ from decode times.
    var isReordered: Bool { fields.hasShift }

    /// Adds the samples that are not marked as dependent on others; false where they cannot be added.
    func appendSync(to ranges: inout SampleRanges, from first: Int) -> Bool {
        func isSync(_ sample: Int) -> Bool { flags(sample) & 0x1_0000 == 0 }
        guard count > 0 else { return true }
        guard fields.hasFlags else {
            if isSync(0), !ranges.append(first..<first + 1) { return false }
            return count == 1 || !isSync(1) || ranges.append(first + 1..<first + count)
        }
        for sample in 0..<count where isSync(sample) {
            guard ranges.append(first + sample..<first + sample + 1) else { return false }
        }
        return true
    }
}
