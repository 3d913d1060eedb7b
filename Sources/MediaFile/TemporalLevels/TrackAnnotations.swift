// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC

/// What a file's boxes say of a track's pictures, and whether that can be believed.
///
/// The boxes are anybody's work: what does not add up is named, and what the NAL unit headers contradict as well.
struct TrackAnnotations {
    /// The groups there are, by type, in the order of `SampleGroup`'s types here.
    private(set) var kinds: [String] = []
    /// The temporal level of every sample, in decoding order; nil where no box tells, or where it is damaged.
    private(set) var levels: [UInt8]?
    /// What is wrong with the boxes, one sentence each.
    private(set) var faults: [String] = []
    /// Whether what tells the levels is among that.
    private(set) var areLevelsDamaged = false
    /// Where the samples lie; nil where the table cannot be read.
    let table: SampleTable?

    private var groups: [FourCC: SampleGroup] = [:]
    private var dependencies: [UInt8]?

    static let types: [FourCC] = ["tscl", "tsas", "stsa", "sync", "rap "]
    /// Bytes of a `tscl` entry (ISO/IEC 14496-15 8.4.4).
    private static let levelEntrySize = 20

    /// Reads the boxes of a sample table; `subLayers` is how many levels the parameter sets speak of, nil if unknown.
    init(_ box: Box, subLayers: Int?) {
        var problem: String?
        do throws(BoxError) { table = try SampleTable(box) } catch {
            table = nil
            problem = error.reason
        }
        let samples = table?.count ?? 0
        for type in Self.types {
            do throws(BoxError) {
                guard let group = try SampleGroup(type, in: box) else { continue }
                kinds.append(type.description)
                guard table != nil else { continue }
                if let fault = group.fault(samples: samples) { throw BoxError(fault) }
                groups[type] = group
            } catch {
                blame(type, error.reason)
            }
        }
        if let fields = box.first("sdtp")?.fields {
            kinds.append("sdtp")
            if fields.count - 4 == samples {
                dependencies = Array(fields.dropFirst(4))
            } else if table != nil {
                faults.append("the box \"sdtp\" is for \(fields.count - 4) samples, and the track has \(samples)")
            }
        }
        if let problem, !kinds.isEmpty {
            faults.append("the sample table cannot be read: \(problem)")
            areLevelsDamaged = areLevelsDamaged || kinds.contains("tscl")
        }
        if let group = groups["tscl"] { readLevels(group, samples, subLayers) }
    }

    private mutating func blame(_ type: FourCC, _ reason: String) {
        faults.append(reason)
        if type == "tscl" { areLevelsDamaged = true }
    }

    private mutating func readLevels(_ group: SampleGroup, _ samples: Int, _ subLayers: Int?) {
        var ids: [UInt8] = []
        for entry in group.entries {
            guard entry.count >= Self.levelEntrySize else {
                return blame("tscl", "a description of the groups \"tscl\" has \(entry.count) bytes, not 20")
            }
            guard entry[0] < 7, subLayers.map({ entry[0] < $0 }) ?? true else {
                let known = subLayers.map { ", and the parameter sets know \($0)" } ?? ""
                return blame("tscl", "the groups \"tscl\" describe the temporal level \(entry[0])\(known)")
            }
            guard !ids.contains(entry[0]) else {
                return blame("tscl", "the groups \"tscl\" describe the temporal level \(entry[0]) twice")
            }
            ids.append(entry[0])
        }
        // One level needs no map: Apple's devices describe it and put no sample into it.
        guard group.isMapped || group.defaultIndex > 0 else {
            if subLayers ?? 1 > 1 { blame("tscl", "temporal levels are described, but no sample is in one") }
            return
        }
        var levels = [UInt8](repeating: 0, count: samples)
        var unmapped: Int?
        var count = 0
        group.forEach(samples: samples) { sample, index in
            if index == 0 {
                unmapped = unmapped ?? sample
                count += 1
            } else {
                levels[sample] = ids[index - 1]
            }
        }
        if let unmapped {
            return blame(
                "tscl",
                "\(count) samples are in no group \"tscl\", the first is sample \(unmapped + 1)")
        }
        self.levels = levels
    }

    /// Compares what the boxes say with what the pictures' headers say, of the samples from the first on.
    mutating func compare(with pictures: [SampleKind?]) {
        if let levels {
            contradict("tscl", pictures) { sample, picture in
                levels[sample] == picture.temporalID
                    ? nil
                    : "to be of temporal level \(levels[sample]), and its NAL units say \(picture.temporalID)"
            }
        }
        for (type, members) in [("tsas" as FourCC, [NALUnitType.tsaN, .tsaR]), ("stsa", [.stsaN, .stsaR])] {
            compareMembers(type, pictures) { _, picture in
                members.contains(picture.type)
                    ? nil : "to be a switching point, and its NAL units say that it is none"
            }
        }
        compareMembers("sync", pictures) { entry, picture in
            (entry.first ?? 0) & 63 == picture.rawType && picture.isIRAP
                ? nil : "to be a key frame of another type than its NAL units say"
        }
        compareMembers("rap ", pictures) { _, picture in
            picture.isIRAP ? nil : "to be a random access point, and its NAL units say that it is none"
        }
        guard let dependencies else { return }
        let top = pictures.lazy.compactMap { $0?.temporalID }.max() ?? 0
        contradict("sdtp", pictures) { sample, picture in
            let (dependsOn, dependedOn) = (dependencies[sample] >> 4 & 3, dependencies[sample] >> 2 & 3)
            if picture.isIRAP ? dependsOn == 1 : dependsOn == 2 {
                return "\(picture.isIRAP ? "" : "not ")to depend on others, and its NAL units say the opposite"
            }
            // A type that allows references does not say that there are any; of lower levels there are.
            let isNeeded = picture.temporalID < top && !picture.type.isSubLayerNonReference
            return dependedOn == 2 && isNeeded ? "to be disposable, and higher levels depend on it" : nil
        }
    }

    private mutating func compareMembers(
        _ type: FourCC, _ pictures: [SampleKind?], _ judge: ([UInt8], SampleKind) -> String?
    ) {
        guard let group = groups[type], let table else { return }
        var entryOf = [Int](repeating: 0, count: table.count)
        group.forEach(samples: table.count) { sample, index in entryOf[sample] = index }
        contradict(type, pictures) { sample, picture in
            entryOf[sample] == 0 ? nil : judge(group.entries[entryOf[sample] - 1], picture)
        }
    }

    /// Names the first sample that `judge` has something to say of, and how many more there are.
    private mutating func contradict(
        _ type: FourCC, _ pictures: [SampleKind?], _ judge: (Int, SampleKind) -> String?
    ) {
        var first: (sample: Int, words: String)?
        var count = 0
        for (sample, picture) in pictures.enumerated() {
            guard let picture, let words = judge(sample, picture) else { continue }
            first = first ?? (sample, words)
            count += 1
        }
        guard let first else { return }
        let others = count > 1 ? " (\(count - 1) more samples are wrong)" : ""
        blame(type, "\"\(type)\": sample \(first.sample + 1) is said \(first.words)\(others)")
        if type == "tscl" { levels = nil }
    }
}

extension TrackAnnotations {
    /// Looks at the headers of the first `count` samples in the file.
    ///
    /// A header that cannot be found, and what follows a sample that lies outside of the file, is nil.
    func pictures(_ source: PositionedReader, _ framing: SampleKind.Framing, count: Int) -> [SampleKind?] {
        guard let table, case .lengths(let lengthSize) = framing else { return [] }
        return (0..<min(count, table.count)).map { sample in
            var place = table.offsets[sample]
            let end = place + UInt64(table.size(sample))
            // Delimiters, parameter sets and messages may come before the first slice.
            for _ in 0..<64 {
                guard place + UInt64(lengthSize) + 2 <= end,
                    let head = source.read(at: place, lengthSize + 2),
                    let length = head.bigEndian(at: 0, lengthSize)
                else { return nil }
                if length >= 2, let kind = SampleKind(header: head[lengthSize], head[lengthSize + 1]) {
                    return kind
                }
                place += UInt64(lengthSize) + length
            }
            return nil
        }
    }
}
