// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes
internal import HWDModel

/// The contents of a .mov or .mp4 input's boxes that libavformat does not report.
package struct SourceBoxes {
    private let movie: Box
    /// The numbers of the sample entries of a track's chunks, from 1, in order and again where they return, by the track's number;
    /// none where the sample table does not show them, as that of a fragmented movie.
    private let entryNumbers: [Int: [Int]]

    /// The contents of a movie box.
    package init(movie: Box) {
        self.movie = movie
        var numbers: [Int: [Int]] = [:]
        // Of tracks of one number the first counts.
        for track in movie.children.reversed() where movie.first("mvex") == nil {
            guard let id = track.trackID else { continue }
            numbers[id] = Self.entryNumbers(track)
        }
        entryNumbers = numbers
    }

    private static func entryNumbers(_ track: Box) -> [Int]? {
        guard let table = track.first(path: Box.sampleTablePath), let chunks = try? ChunkTable(table).chunks else {
            return nil
        }
        var numbers: [Int] = []
        for chunk in chunks where chunk.sampleCount > 0 && chunk.entry != numbers.last {
            numbers.append(chunk.entry)
        }
        return numbers
    }

    /// The clean aperture of the track's pictures, which decode to `width`×`height`; nil when it is the whole picture.
    package func cleanAperture(track: Int32, width: Int, height: Int) -> CleanAperture? {
        guard let entry = sampleEntry(track: track),
            let aperture = entry.first("clap").flatMap({ CleanAperture($0.fields) }),
            aperture.fits(codedWidth: width, codedHeight: height)
        else { return nil }
        let whole = CleanAperture(width: width, height: height, ofCodedWidth: width, codedHeight: height)
        return aperture == whole ? nil : aperture
    }

    /// The sample groups and `sdtp` of a track; nil where there is no such track, or it is fragmented.
    package func annotations(track: Int32, subLayers: Int?) -> TrackAnnotations? {
        guard movie.first("mvex") == nil, let table = sampleTable(track: track) else { return nil }
        return TrackAnnotations(table, subLayers: subLayers)
    }

    /// The boxes of these types in the sample entry of a track's first sample.
    package func entryBoxes(track: Int32, _ types: Set<FourCC>) -> [Box] {
        sampleEntry(track: track)?.children.filter { types.contains($0.type) } ?? []
    }

    /// The ICC profile of a track's first sample (`colr` of type `prof` or `rICC`, ISO/IEC 14496-12 12.1.5); nil without one.
    package func profile(track: Int32) -> [UInt8]? { sampleEntry(track: track).flatMap(Self.profile) }

    /// Whether samples of a track have another ICC profile than its first one; false where the sample table does not show which
    /// entries they use.
    package func profileVaries(track: Int32) -> Bool {
        entryNumbers[Int(track)] != nil && Set(sampleEntries(track: track).map(Self.profile)).count > 1
    }

    private static func profile(_ entry: Box) -> [UInt8]? {
        let forms: [FourCC?] = ["prof", "rICC"]
        return entry.children.first { $0.type == "colr" && forms.contains($0.fields.fourCC(at: 0)) }
            .map { Array($0.fields.dropFirst(4)) }.flatMap { $0.isEmpty || $0.count > maxProfile ? nil : $0 }
    }

    private static let maxProfile = 4 << 20

    /// The description of a track's projection in the first version of Google's format, which is no box of a sample entry.
    package func projectionText(track: Int32) -> Box? {
        box(track: track)?.children.first { Projection.isText($0) }
    }

    /// The title of a track, from its user data; nil without one.
    package func title(track: Int32) -> String? {
        userData(box(track: track)).first { $0.type == "name" }
            .map { String(decoding: $0.fields.prefix(Self.maxTitle).prefix { $0 != 0 }, as: UTF8.self).printable() }
            .flatMap { $0.isEmpty ? nil : $0 }
    }

    private static let maxTitle = 1 << 12

    /// The boxes of the user data of a movie or track; none where they are damaged.
    private func userData(_ parent: Box?) -> [Box] {
        guard let data = parent?.first("udta") else { return [] }
        var (list, boxes) = (BoxList(data.fields[...]), [Box]())
        while let (header, body) = try? list.next() { boxes.append(Box(header.type, Array(body))) }
        return boxes
    }

    /// The types of a movie's boxes, by place.
    package struct BoxTypes {
        package var entry: [FourCC] = []
        package var track: [FourCC] = []
        package var movie: [FourCC] = []
        package var userData: [FourCC] = []
    }

    /// All types of boxes in the sample entry and the box of a track, in the movie box and in the user data of both.
    package func types(track: Int32) -> BoxTypes {
        let track = box(track: track)
        var types = BoxTypes()
        types.entry =
            track.map { Int32($0.trackID ?? 0) }.flatMap { sampleEntry(track: $0) }?.children.map(\.type) ?? []
        types.track = track?.children.filter { !Projection.isText($0) }.map(\.type) ?? []
        types.movie = movie.children.map(\.type)
        // International text has types of its own, which begin with a copyright sign.
        types.userData = (userData(movie) + userData(track)).map(\.type).filter { $0.rawValue >> 24 != 0xA9 }
        return types
    }

    /// Whether samples of a track are encrypted: entries of other types, or with a scheme (ISO/IEC 14496-12 8.12).
    package func isEncrypted(track: Int32) -> Bool {
        sampleTable(track: track)?.first("stsd")?.children.contains {
            ["encv", "enca", "encs", "enct", "encm"].contains($0.type) || $0.first("sinf") != nil
        } ?? false
    }

    /// The boxes of a track of timed metadata; nil for other tracks.
    package func timedMetadata(track: Int32, video: Int32) -> TimedMetadataBoxes? {
        box(track: track).flatMap { TimedMetadataBoxes($0, video: Int(video)) }
    }

    /// The sample entries of a track; those alone that its samples use, where the sample table shows that.
    package func sampleEntries(track: Int32) -> [Box] {
        let entries = sampleTable(track: track)?.first("stsd")?.children ?? []
        guard let numbers = entryNumbers[Int(track)] else { return entries }
        let used = Set(numbers)
        return entries.enumerated().filter { used.contains($0.offset + 1) }.map(\.element)
    }

    /// The sample entries of a track in the order of its samples, again where they return; empty where the sample table
    /// does not show that.
    package func entryRuns(track: Int32) -> [Box] {
        let entries = sampleTable(track: track)?.first("stsd")?.children ?? []
        return (entryNumbers[Int(track)] ?? []).compactMap { number in
            entries.indices.contains(number - 1) ? entries[number - 1] : nil
        }
    }

    /// The configuration record (`hvcC`) of the first sample's entry; nil where libavformat reports that one.
    ///
    /// It reports the record of the track's first entry and, since FFmpeg 7.1, adds the arrays of `lhvC` to it.
    package func firstConfiguration(track: Int32) -> [UInt8]? {
        guard let entry = sampleEntry(track: track),
            entryNumbers[Int(track)]?.first ?? 1 != 1 || entry.first("lhvC") != nil
        else { return nil }
        return entry.first("hvcC")?.fields
    }

    /// The end of a track's edit list on the movie's time line, in seconds; nil without one.
    package func editListEnd(track: Int32) -> Double? {
        guard let header = movie.first("mvhd"),
            let scale = header.fields.bigEndian(at: header.offsetAfterTimes, 4), scale > 0,
            let durations = box(track: track)?.first("edts", "elst").flatMap(EditListEnd.durations)
        else { return nil }
        return durations.reduce(0) { $0 + Double($1) } / Double(scale)
    }

    /// Ticks per second of a track's media; nil without a valid `mdhd` (ISO/IEC 14496-12 8.4.2).
    package func timeScale(track: Int32) -> Int? {
        guard let header = box(track: track)?.first("mdia", "mdhd") else { return nil }
        return header.fields.bigEndian(at: header.offsetAfterTimes, 4).flatMap { $0 > 0 ? Int($0) : nil }
    }

    /// The video sample entry of a track's first sample; the track's first one where that does not exist.
    private func sampleEntry(track: Int32) -> Box? {
        let entries = sampleTable(track: track)?.first("stsd")?.children ?? []
        let number = entryNumbers[Int(track)]?.first ?? 1
        let first = entries.indices.contains(number - 1) ? entries[number - 1] : nil
        return first.flatMap { $0.isContainer ? $0 : nil } ?? entries.first { $0.isContainer }
    }

    private func sampleTable(track: Int32) -> Box? { box(track: track)?.first(path: Box.sampleTablePath) }

    private func box(track: Int32) -> Box? { movie.children.first { $0.trackID == Int(track) } }
}
