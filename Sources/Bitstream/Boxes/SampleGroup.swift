// SPDX-License-Identifier: MIT

/// One grouping of a track's samples: `sgpd` with `sbgp` (ISO/IEC 14496-12 8.9).
package struct SampleGroup: Hashable, Sendable {
    /// Consecutive samples with the same description.
    package struct Run: Hashable, Sendable {
        package var count: UInt32
        /// `group_description_index`: from 1 on; 0 is none.
        package var index: UInt32
    }

    /// The `grouping_type`: `tscl`, `tsas`, `stsa`, `sync`, `rap `.
    package var type: FourCC
    /// The group descriptions.
    package var entries: [[UInt8]]
    /// The description of each sample, from the first sample on.
    package var runs: [Run] = []
    /// The description of the samples after the last run (version 2); 0 is none.
    package var defaultIndex: UInt32 = 0
    /// Whether there is an `sbgp`, even an empty one.
    package var isMapped = true

    /// A grouping without samples.
    package init(_ type: FourCC, entries: [[UInt8]]) {
        self.type = type
        self.entries = entries
    }

    /// Assigns a description to the next sample.
    package mutating func append(_ index: UInt32) {
        if let last = runs.indices.last, runs[last].index == index, runs[last].count < .max {
            runs[last].count += 1
        } else {
            runs.append(Run(count: 1, index: index))
        }
    }

    /// Whether any sample has a description.
    package var hasMembers: Bool { runs.contains { $0.index != 0 } }

    /// `sgpd` version 1 and `sbgp` version 0.
    package var boxes: [Box] {
        let lengths = Set(entries.map(\.count))
        let length = lengths.count == 1 ? lengths.first ?? 0 : 0
        var descriptions: [UInt8] = [1, 0, 0, 0]
        descriptions.appendBigEndian(type.rawValue)
        descriptions.appendBigEndian(UInt32(length))
        descriptions.appendBigEndian(UInt32(entries.count))
        for entry in entries {
            // With a default length of 0, as for entries that differ in theirs, each has a length field, even where that is 0 too.
            if length == 0 { descriptions.appendBigEndian(UInt32(entry.count)) }
            descriptions += entry
        }
        var map: [UInt8] = [0, 0, 0, 0]
        map.reserveCapacity(12 + runs.count * 8)
        map.appendBigEndian(type.rawValue)
        map.appendBigEndian(UInt32(runs.count))
        for run in runs {
            map.appendBigEndian(run.count)
            map.appendBigEndian(run.index)
        }
        return [Box("sgpd", descriptions), Box("sbgp", map)]
    }
}

extension SampleGroup {
    /// The most descriptions of a grouping; there are 64 NAL unit types and 7 levels.
    private static let maxEntries = 4096
    /// Bytes of an entry in version 0, which has no length field.
    private static let knownLengths: [FourCC: Int] = ["tscl": 20, "sync": 1, "rap ": 1, "tsas": 0, "stsa": 0]

    /// Parses the grouping `type` of a sample table; nil where there is none.
    /// - Throws: the first fault in its boxes.
    package init?(_ type: FourCC, in table: Box) throws(BoxError) {
        func boxes(_ kind: FourCC) -> [Box] {
            table.children.filter { $0.type == kind && $0.fields.fourCC(at: 4) == type }
        }
        let (descriptions, maps) = (boxes("sgpd"), boxes("sbgp"))
        guard descriptions.count <= 1, maps.count <= 1 else {
            throw BoxError("the grouping \"\(type)\" occurs more than once")
        }
        guard let first = descriptions.first else {
            guard maps.isEmpty else {
                throw BoxError("samples are in groups of type \"\(type)\" that have no description")
            }
            return nil
        }
        self.init(type, entries: [])
        try readEntries(first.fields)
        isMapped = !maps.isEmpty
        if let map = maps.first { try readRuns(map.fields) }
    }

    private mutating func readEntries(_ bytes: [UInt8]) throws(BoxError) {
        func cutOff() -> BoxError { BoxError("the description of the groups \"\(type)\" is cut off") }
        var offset = 8
        func next() throws(BoxError) -> UInt32 {
            guard let value = bytes.bigEndian(at: offset, 4) else { throw cutOff() }
            offset += 4
            return UInt32(value)
        }
        let version = bytes.first ?? 0
        guard version <= 2 else { throw BoxError("the groups \"\(type)\" are described in version \(version)") }
        var length = Self.knownLengths[type]
        if version >= 1 { length = Int(try next()) }
        // Version 2 has default_group_description_index after the length (8.9.3.2).
        if version >= 2 { defaultIndex = try next() }
        let count = try next()
        guard count <= Self.maxEntries else {
            throw BoxError("the groups \"\(type)\" have \(count) descriptions")
        }
        for _ in 0..<count {
            var size = length ?? 0
            if version >= 1, length == 0 { size = Int(try next()) }
            guard size <= bytes.count - offset else { throw cutOff() }
            entries.append(Array(bytes[offset..<offset + size]))
            offset += size
        }
    }

    /// Reads the body of an `sbgp`.
    /// - Throws: an error where it is cut off or has an unknown version.
    package mutating func readRuns(_ bytes: [UInt8]) throws(BoxError) {
        let version = bytes.first ?? 0
        guard version <= 1 else { throw BoxError("the map of the groups \"\(type)\" has version \(version)") }
        // Version 1 has grouping_type_parameter before the count (8.9.2.2).
        guard let rows = BigEndianTable(bytes, rowsAt: version == 1 ? 16 : 12, columns: 2) else {
            throw BoxError("the map of the groups \"\(type)\" is cut off")
        }
        runs = (0..<rows.rowCount).map { Run(count: rows[$0, 0], index: rows[$0, 1]) }
    }

    /// The first contradiction between the grouping and a track of `samples` samples; nil when there is none.
    package func fault(samples: Int) -> String? {
        var covered = 0
        for run in runs {
            guard run.index <= UInt32(entries.count) else {
                let group = "the group \"\(type)\" number \(run.index)"
                return "sample \(covered + 1) is in \(group), of which there are \(entries.count)"
            }
            covered += Int(run.count)
            guard covered <= samples else {
                return "the map of the groups \"\(type)\" is for more samples than the \(samples) of the track"
            }
        }
        guard defaultIndex <= UInt32(entries.count) else {
            return "the default of the groups \"\(type)\" is number \(defaultIndex) of \(entries.count)"
        }
        return nil
    }

    /// Calls `body` with each sample's description index, for a track of `samples` samples.
    package func forEach(samples: Int, _ body: (_ sample: Int, _ index: Int) -> Void) {
        var sample = 0
        for run in runs {
            for _ in 0..<min(Int(run.count), samples - sample) {
                body(sample, Int(run.index))
                sample += 1
            }
        }
        while sample < samples {
            body(sample, Int(defaultIndex))
            sample += 1
        }
    }
}
