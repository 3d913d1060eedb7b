// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC

/// Notes what the pictures of a track are while it is written, and then says so in the track's sample table.
///
/// Players drop temporal levels, seek and skip by these boxes alone (ISO/IEC 14496-12 8.6.4, 10.4; 14496-15 8.4), and
/// libavformat's muxer writes none of them. Two bytes a sample are kept.
struct PictureAnnotations: Sendable {
    private let record: DecoderConfigurationRecord
    /// Whether the file is QuickTime's.
    private let isQuickTime: Bool
    private var pictures: [SampleKind] = []
    /// Whether an access unit came whose picture could not be told.
    private var hasUnknown = false

    /// Nothing written yet, of a stream with these parameter sets.
    init(_ record: DecoderConfigurationRecord, isQuickTime: Bool) {
        self.record = record
        self.isQuickTime = isQuickTime
    }

    /// Takes down the next sample, NAL units with 4-byte lengths.
    mutating func note(_ accessUnit: UnsafeRawBufferPointer) {
        guard let kind = SampleKind(accessUnit, .lengths(4)) else { return hasUnknown = true }
        pictures.append(kind)
    }

    /// Writes the boxes into the video track's sample table.
    ///
    /// A track with an access unit whose picture cannot be told gets none: half of the truth would mislead.
    /// - Throws: where the table is not that of what was noted.
    func write(into table: inout Box) throws(BoxError) {
        guard !hasUnknown, !pictures.isEmpty else { return }
        let sizes = table.first("stsz")?.fields
        guard sizes?.bigEndian(at: 8, 4) == UInt64(pictures.count) else {
            throw BoxError("the track does not have the \(pictures.count) samples that were written")
        }
        if let box = dependencies {
            // Behind the boxes that come before it in 14496-12's and QuickTime's recommended order.
            let before: Set<FourCC> = ["stsd", "stts", "ctts", "cslg", "stss", "stps"]
            let place = table.children.lastIndex { before.contains($0.type) } ?? table.children.count - 1
            table.children.removeAll { $0.type == "sdtp" }
            table.children.insert(box, at: min(place + 1, table.children.count))
        }
        for group in groups where group.hasMembers { table.children += group.boxes }
    }

    /// Has the track's `hvcC` tell how many levels there are, where it tells of fewer than were written.
    func correct(_ configuration: inout Box) {
        // numTemporalLayers: three bits of the byte before numOfArrays (14496-15 8.3.3.1).
        guard !hasUnknown, levels > 1, configuration.fields.count > 21 else { return }
        if Int(configuration.fields[21] >> 3 & 7) < levels {
            configuration.fields[21] = configuration.fields[21] & 0b1100_0111 | UInt8(levels) << 3
        }
    }

    /// Temporal levels that occur.
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

    /// `tscl` (14496-15 8.4.4): what a decoder of the levels 0…`level` must be able to do.
    ///
    /// Bit and frame rates are 0, not told, as Apple's devices write them.
    private func levelEntry(_ level: Int) -> [UInt8] {
        let sps = record.nalUnits.lazy.compactMap { try? SequenceParameterSet(nal: $0) }
            .first { $0.header.nuhLayerId == 0 }
        let (profile, levelIdc) =
            sps?.profileTierLevel.ofSubLayer(level) ?? (record.profile, record.generalLevelIdc)
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

    /// `sync` (14496-15 8.4.4): the type of every key frame.
    private var keyFrames: SampleGroup {
        let types = Set(pictures.lazy.filter(\.isIRAP).map(\.rawType)).sorted()
        var group = SampleGroup("sync", entries: types.map { [$0] })
        for picture in pictures {
            let place = picture.isIRAP ? types.firstIndex(of: picture.rawType).map { $0 + 1 } : nil
            group.append(UInt32(place ?? 0))
        }
        return group
    }

    /// `rap ` (14496-12 10.4): key frames of open GOPs, with how many of the samples behind them are shown before them.
    private var openAccess: SampleGroup {
        var leading: [Int: UInt8] = [:]
        var (start, count, refersBack) = (Int?.none, 0, false)
        func close() {
            guard let start, refersBack else { return }
            // num_leading_samples_known, then seven bits of number.
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
            let place = leading[index].flatMap { entries.firstIndex(of: $0) }
            group.append(place.map { UInt32($0) + 1 } ?? 0)
        }
        return group
    }

    /// `sdtp` (14496-12 8.6.4): on what each sample depends and what depends on it; nil where all are key frames.
    private var dependencies: Box? {
        guard pictures.contains(where: { !$0.isIRAP }) else { return nil }
        let top = UInt8(levels - 1)
        return Box("sdtp", [0, 0, 0, 0] + pictures.map { dependency($0, top) })
    }

    private func dependency(_ picture: SampleKind, _ top: UInt8) -> UInt8 {
        // is_leading: 1 refers to what was before its key frame, 3 does not, 2 is no leading picture. QuickTime's own
        // definition has another meaning in these bits, so its files leave them 0, "not known".
        var leading: UInt8 = picture.type.isRASL ? 1 : picture.type.isRADL ? 3 : 2
        if isQuickTime { leading = 0 }
        let dependsOn: UInt8 = picture.isIRAP ? 2 : 1
        // Pictures that nothing of their level refers to can still be referred to by higher levels. That a picture
        // of the highest level may be referred to is true and of no use: no level could be dropped without it.
        let dependedOn: UInt8
        if picture.type.isSubLayerNonReference {
            dependedOn = picture.temporalID == top ? 2 : 0
        } else {
            dependedOn = top > 0 && picture.temporalID == top ? 0 : 1
        }
        // sample_has_redundancy: HEVC has no redundant pictures.
        return leading << 6 | dependsOn << 4 | dependedOn << 2 | 2
    }
}
