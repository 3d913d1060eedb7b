// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes
internal import HWDHEVC

/// The sample groups and `sdtp` of a track, with their faults.
///
/// The boxes are untrusted: contradictions among them, and with the pictures' NAL unit headers, are reported.
package struct TrackAnnotations {
    /// The types that occur, in the order of `types`, then `sdtp`.
    package private(set) var kinds: [String] = []
    /// The temporal level of every sample, in decoding order; nil where no box has it, or that box is damaged.
    package private(set) var levels: [UInt8]?
    /// The faults, each in lower case and without a full stop.
    package private(set) var faults: [String] = []
    /// Whether `tscl` is among the faults.
    package private(set) var areLevelsDamaged = false
    /// The samples' positions; nil where the table cannot be parsed.
    package let table: SampleTable?

    private var groups: [FourCC: SampleGroup] = [:]
    private var dependencies: [UInt8]?

    static let types: [FourCC] = ["tscl", "tsas", "stsa", "sync", "rap "]
    /// Bytes of a `tscl` entry (ISO/IEC 14496-15 8.4.4).
    private static let levelEntrySize = 20

    /// Parses the boxes of a sample table.
    ///
    /// - Parameter subLayers: the number of sub-layers in the parameter sets; nil when unknown.
    package init(_ box: Box, subLayers: Int?) {
        var tableFault: String?
        do throws(BoxError) { table = try SampleTable(box) } catch {
            table = nil
            tableFault = error.reason
        }
        let samples = table?.count ?? 0
        readGroups(box, samples)
        if let fields = box.first("sdtp")?.fields {
            kinds.append("sdtp")
            if fields.count - 4 == samples {
                dependencies = Array(fields.dropFirst(4))
            } else if table != nil {
                faults.append("the box \"sdtp\" is for \(fields.count - 4) samples, and the track has \(samples)")
            }
        }
        if let tableFault, !kinds.isEmpty {
            faults.append("the sample table cannot be read: \(tableFault)")
            areLevelsDamaged = areLevelsDamaged || kinds.contains("tscl")
        }
        if let group = groups["tscl"] { readLevels(group, samples, subLayers) }
    }

    private mutating func readGroups(_ box: Box, _ samples: Int) {
        for type in Self.types {
            do throws(BoxError) {
                guard let group = try SampleGroup(type, in: box) else { continue }
                kinds.append(type.description)
                guard table != nil else { continue }
                if let fault = group.fault(samples: samples) { throw BoxError(fault) }
                groups[type] = group
            } catch {
                addFault(type, error.reason)
            }
        }
    }

    private mutating func addFault(_ type: FourCC, _ reason: String) {
        faults.append(reason)
        if type == "tscl" { areLevelsDamaged = true }
    }

    private mutating func readLevels(_ group: SampleGroup, _ samples: Int, _ subLayers: Int?) {
        var ids: [UInt8] = []
        for entry in group.entries {
            guard entry.count >= Self.levelEntrySize else {
                return addFault("tscl", "a description of the groups \"tscl\" has \(entry.count) bytes, not 20")
            }
            guard entry[0] < 7, subLayers.map({ entry[0] < $0 }) ?? true else {
                let known = subLayers.map { ", and the parameter sets have \($0)" } ?? ""
                return addFault("tscl", "the groups \"tscl\" describe the temporal level \(entry[0])\(known)")
            }
            guard !ids.contains(entry[0]) else {
                return addFault("tscl", "the groups \"tscl\" describe the temporal level \(entry[0]) twice")
            }
            ids.append(entry[0])
        }
        // Apple's devices describe a single level and map no sample to it.
        guard group.isMapped || group.defaultIndex > 0 else {
            if subLayers ?? 1 > 1 { addFault("tscl", "temporal levels are described, but no sample has one") }
            return
        }
        readLevelMap(group, ids, samples)
    }

    private mutating func readLevelMap(_ group: SampleGroup, _ ids: [UInt8], _ samples: Int) {
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
            return addFault(
                "tscl", "\(count) samples are in no group \"tscl\", the first is sample \(unmapped + 1)")
        }
        self.levels = levels
    }
}

extension TrackAnnotations {
    /// Compares the annotations with the headers of the track's pictures, from the first sample on.
    package mutating func compare(with pictures: [SampleKind?]) {
        if let levels {
            check("tscl", pictures) { sample, picture in
                levels[sample] == picture.temporalID
                    ? nil
                    : "as temporal level \(levels[sample]), but its NAL unit header has \(picture.temporalID)"
            }
        }
        for (type, members) in [("tsas" as FourCC, [NALUnitType.tsaN, .tsaR]), ("stsa", [.stsaN, .stsaR])] {
            checkMembers(type, pictures) { _, picture in
                members.contains(picture.type) ? nil : "as a switching point, but its NAL unit type is none"
            }
        }
        checkMembers("sync", pictures) { entry, picture in
            (entry.first ?? 0) & 63 == picture.rawType && picture.isIRAP
                ? nil : "as a key frame of another type than its NAL units have"
        }
        checkMembers("rap ", pictures) { _, picture in
            picture.isIRAP ? nil : "as a random access point, but its NAL unit type is none"
        }
        checkDependencies(pictures)
    }

    private mutating func checkDependencies(_ pictures: [SampleKind?]) {
        guard let dependencies else { return }
        let top = pictures.lazy.compactMap { $0?.temporalID }.max() ?? 0
        check("sdtp", pictures) { sample, picture in
            let (dependsOn, dependedOn) = (dependencies[sample] >> 4 & 3, dependencies[sample] >> 2 & 3)
            if picture.isIRAP ? dependsOn == 1 : dependsOn == 2 {
                return picture.isIRAP
                    ? "as dependent on others, but it is a key frame"
                    : "as independent of others, but it is no key frame"
            }
            // A reference type does not imply that a picture refers to it, except from the levels above.
            let isNeeded = picture.temporalID < top && !picture.type.isSubLayerNonReference
            return dependedOn == 2 && isNeeded ? "as disposable, but higher levels depend on it" : nil
        }
    }

    private mutating func checkMembers(
        _ type: FourCC, _ pictures: [SampleKind?], _ contradiction: ([UInt8], SampleKind) -> String?
    ) {
        guard let group = groups[type], let table else { return }
        var entryOf = [Int](repeating: 0, count: table.count)
        group.forEach(samples: table.count) { sample, index in entryOf[sample] = index }
        check(type, pictures) { sample, picture in
            entryOf[sample] == 0 ? nil : contradiction(group.entries[entryOf[sample] - 1], picture)
        }
    }

    /// Adds a fault for the first sample with a contradiction, with the number of others.
    private mutating func check(
        _ type: FourCC, _ pictures: [SampleKind?], _ contradiction: (Int, SampleKind) -> String?
    ) {
        var first: (sample: Int, text: String)?
        var count = 0
        for (sample, picture) in pictures.enumerated() {
            guard let picture, let text = contradiction(sample, picture) else { continue }
            first = first ?? (sample, text)
            count += 1
        }
        guard let first else { return }
        let others = count > 1 ? " (\(count - 1) more samples are wrong)" : ""
        addFault(type, "\"\(type)\": sample \(first.sample + 1) is marked \(first.text)\(others)")
        if type == "tscl" { levels = nil }
    }
}
