// SPDX-License-Identifier: MIT
package import HWDHEVC

/// Collects the types and levels of a track's pictures while it is written, for boxes of its sample table.
///
/// Players drop temporal levels, seek and skip by these boxes alone (ISO/IEC 14496-12 8.6.4, 10.4; 14496-15 8.4), and
/// libavformat's muxer writes none of them. Each sample takes two bytes of memory.
package struct PictureAnnotations: Sendable {
    /// The configurations of the samples so far, each once.
    private var records: [DecoderConfigurationRecord]
    /// Whether the file is a .mov.
    private let isQuickTime: Bool
    private var pictures: [SampleKind] = []
    /// Whether some access unit had no slice that could be parsed.
    private var hasUnknown = false

    /// Annotations of a stream with these parameter sets.
    package init(_ record: DecoderConfigurationRecord, isQuickTime: Bool) {
        records = [record]
        self.isQuickTime = isQuickTime
    }

    /// Changes the parameter sets of the samples that follow.
    package mutating func change(to record: DecoderConfigurationRecord) {
        if !records.contains(record) { records.append(record) }
    }

    /// Adds the next sample, whose NAL units have 4-byte lengths.
    package mutating func note(_ accessUnit: UnsafeRawBufferPointer) {
        guard let kind = unsafe SampleKind(accessUnit, .lengths(4)) else { return hasUnknown = true }
        pictures.append(kind)
    }

    /// Writes the boxes into the video track's sample table.
    ///
    /// A track with an access unit that could not be parsed gets none: incomplete annotations mislead players.
    /// - Throws: an error where the table has another number of samples than were added.
    package func write(into table: inout Box) throws(BoxError) {
        guard !hasUnknown, !pictures.isEmpty else { return }
        let sizes = table.first("stsz")?.fields
        guard sizes?.bigEndian(at: 8, 4) == UInt64(pictures.count) else {
            throw BoxError("the track does not have the \(pictures.count) samples that were written")
        }
        if let box = dependencies {
            // After the boxes that precede it in the recommended order of 14496-12 and QuickTime.
            let preceding: Set<FourCC> = ["stsd", "stts", "ctts", "cslg", "stss", "stps"]
            let last = table.children.lastIndex { preceding.contains($0.type) } ?? table.children.count - 1
            table.children.removeAll { $0.type == "sdtp" }
            table.children.insert(box, at: min(last + 1, table.children.count))
        }
        for group in groups where group.hasMembers { table.children += group.boxes }
    }

    /// Raises the number of levels in the track's `hvcC` to the number that was written.
    package func correct(_ configuration: inout Box) {
        // numTemporalLayers: three bits of the byte before numOfArrays (14496-15 8.3.3.1).
        guard !hasUnknown, levels > 1, configuration.fields.count > 21 else { return }
        if Int(configuration.fields[21] >> 3 & 7) < levels {
            configuration.fields[21] = configuration.fields[21] & 0b1100_0111 | UInt8(levels) << 3
        }
    }

    /// The number of temporal levels up to the highest that occurs.
    private var levels: Int { Int(pictures.lazy.map(\.temporalID).max() ?? 0) + 1 }

    private var groups: [SampleGroup] {
        var groups: [SampleGroup] = []
        if levels > 1 {
            var group = SampleGroup("tscl", entries: (0..<levels).map(levelEntry))
            for picture in pictures { group.append(UInt32(picture.temporalID) + 1) }
            groups.append(group)
        }
        for (type, members) in [("tsas" as FourCC, [NALUnitType.tsaN, .tsaR]), ("stsa", [.stsaN, .stsaR])] {
            var group = SampleGroup(type, entries: [[]])
            for picture in pictures { group.append(members.contains(picture.type) ? 1 : 0) }
            groups.append(group)
        }
        return groups + [keyFrames, openAccess]
    }

    /// `tscl` (14496-15 8.4.4): the profile and level that a decoder of the levels 0…`level` must support, which are the highest of
    /// all parameter sets, and the flags that hold for all of them.
    ///
    /// Bit and frame rates are 0, "unspecified", as Apple's devices write them.
    private func levelEntry(_ level: Int) -> [UInt8] {
        var (profile, levelIdc) = profileAndLevel(of: level, records[0])
        for record in records.dropFirst() {
            let other = profileAndLevel(of: level, record)
            if other.profile.profileIdc > profile.profileIdc {
                (profile.profileSpace, profile.profileIdc) = (other.profile.profileSpace, other.profile.profileIdc)
            }
            profile.tierFlag = profile.tierFlag || other.profile.tierFlag
            profile.profileCompatibilityFlags &= other.profile.profileCompatibilityFlags
            profile.constraintIndicatorFlags &= other.profile.constraintIndicatorFlags
            levelIdc = max(levelIdc, other.levelIdc)
        }
        var entry = [
            UInt8(level),
            UInt8(profile.profileSpace & 3) << 6 | (profile.tierFlag ? 0x20 : 0) | UInt8(profile.profileIdc & 31),
        ]
        entry.appendBigEndian(profile.profileCompatibilityFlags)
        entry.appendBigEndian(UInt16(truncatingIfNeeded: profile.constraintIndicatorFlags >> 32))
        entry.appendBigEndian(UInt32(truncatingIfNeeded: profile.constraintIndicatorFlags))
        entry.append(UInt8(truncatingIfNeeded: levelIdc))
        // tlMaxBitRate, tlAvgBitRate, tlConstantFrameRate, tlAvgFrameRate.
        return entry + [UInt8](repeating: 0, count: 7)
    }

    private func profileAndLevel(
        of level: Int, _ record: DecoderConfigurationRecord
    ) -> (profile: ProfileTier, levelIdc: Int) {
        let sps = record.nalUnits.lazy.compactMap { try? SequenceParameterSet(nal: $0) }
            .first { $0.header.nuhLayerId == 0 }
        return sps?.profileTierLevel.ofSubLayer(level) ?? (record.profile, record.generalLevelIdc)
    }

    /// `sync` (14496-15 8.4.4): the NAL unit type of every key frame.
    private var keyFrames: SampleGroup {
        let types = Set(pictures.lazy.filter(\.isIRAP).map(\.rawType)).sorted()
        var group = SampleGroup("sync", entries: types.map { [$0] })
        for picture in pictures {
            let entry = picture.isIRAP ? types.firstIndex(of: picture.rawType).map { $0 + 1 } : nil
            group.append(UInt32(entry ?? 0))
        }
        return group
    }

    /// `rap ` (14496-12 10.4): the key frames of open GOPs, with the number of their leading samples.
    private var openAccess: SampleGroup {
        var leading: [Int: UInt8] = [:]
        var (start, count, refersBack) = (Int?.none, 0, false)
        func close() {
            guard let start, refersBack else { return }
            // num_leading_samples_known, then seven bits of num_leading_samples.
            leading[start] = count < 128 ? 0x80 | UInt8(count) : 0
        }
        for (index, picture) in pictures.enumerated() {
            if picture.isIRAP {
                close()
                (start, count, refersBack) = (index, 0, false)
            } else if picture.isLeading {
                count += 1
                refersBack = refersBack || picture.type.isRASL
            } else {
                close()
                start = nil
            }
        }
        close()
        let entries = Set(leading.values).sorted()
        var group = SampleGroup("rap ", entries: entries.map { [$0] })
        for index in pictures.indices {
            let entry = leading[index].flatMap { entries.firstIndex(of: $0) }
            group.append(entry.map { UInt32($0) + 1 } ?? 0)
        }
        return group
    }

    /// `sdtp` (14496-12 8.6.4): the dependencies of each sample; nil where all are key frames.
    private var dependencies: Box? {
        guard pictures.contains(where: { !$0.isIRAP }) else { return nil }
        let top = UInt8(levels - 1)
        return Box("sdtp", [0, 0, 0, 0] + pictures.map { dependency($0, top) })
    }

    private func dependency(_ picture: SampleKind, _ top: UInt8) -> UInt8 {
        // is_leading: 1 depends on pictures before its key frame, 3 does not, 2 is no leading picture. QuickTime
        // defines these bits differently, so .mov files have 0, "unknown".
        var leading: UInt8 = picture.type.isRASL ? 1 : picture.type.isRADL ? 3 : 2
        if isQuickTime { leading = 0 }
        let dependsOn: UInt8 = picture.isIRAP ? 2 : 1
        // A sub-layer non-reference picture may still be a reference of higher levels. Pictures of the highest level
        // are never marked as depended on, even where they are references: that would keep players from dropping it.
        let dependedOn: UInt8
        if picture.type.isSubLayerNonReference {
            dependedOn = picture.temporalID == top ? 2 : 0
        } else {
            dependedOn = top > 0 && picture.temporalID == top ? 0 : 1
        }
        // sample_has_redundancy 2: HEVC has no redundant pictures.
        return leading << 6 | dependsOn << 4 | dependedOn << 2 | 2
    }
}
