// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes
package import HWDHEVC

/// The sample entries of an HEVC track that is written, and the samples that each describes (ISO/IEC 14496-12 8.5.2).
///
/// libavformat's muxer writes the first entry and refers every sample to it; the others are added to the finished movie.
package struct SampleEntries: Sendable {
    private struct Entry {
        var hvcC: [UInt8]
        /// The boxes of the source's sample entry; nil where the parameter sets changed within its samples.
        var boxes: [Box]?
        /// The parameter sets.
        var sets: Set<[UInt8]>
        /// The SPS of the base layer; nil where the record has none that can be parsed.
        var sps: SequenceParameterSet?
    }

    private let boxes: VideoTrackBoxes
    private let isQuickTime: Bool
    private var entries: [Entry]
    private var runs = [ChunkTable.Run(start: 0, entry: 1)]
    /// The number of sample entries that samples use.
    package var count: Int { used.count }
    /// Their numbers; the first entry may be unused, where the first sample has other parameter sets.
    private var used: [Int] { Set(runs.map(\.entry)).sorted() }

    /// The most sample entries of a track.
    private static let maxCount = 1024

    /// The first entry of a track; `source` has the boxes of the source's, nil without one.
    ///
    /// - Parameter carried: the types of boxes that a copy keeps.
    package init(
        _ boxes: VideoTrackBoxes, _ record: DecoderConfigurationRecord, hvcC: [UInt8], source: [Box]?,
        carried: Set<FourCC>, isQuickTime: Bool
    ) {
        self.boxes = boxes
        writtenTypes = carried.union(["clap", "pasp", "mdcv", "clli", "colr"])
        self.isQuickTime = isQuickTime
        entries = [Entry(hvcC: hvcC, boxes: source, sets: Self.sets(record))]
    }

    /// Types of boxes that an entry has from the source.
    private let writtenTypes: Set<FourCC>

    private func written(_ boxes: [Box]?) -> [Box] { boxes?.filter { writtenTypes.contains($0.type) } ?? [] }

    private static func sets(_ record: DecoderConfigurationRecord) -> Set<[UInt8]> {
        Set(CopiedParameterSets(record.nalUnits).units)
    }

    /// Changes the configuration of the samples from number `sample` on.
    /// - Throws: `usage` for a damaged record, `unsupported` for too many entries.
    package mutating func change(to configuration: TrackConfiguration, atSample sample: Int) throws(MediaError) {
        let record = try configuration.record()
        let sets = Self.sets(record)
        let current = runs[runs.count - 1].entry
        let number: Int
        if configuration.isExtension {
            entries[current - 1].hvcC = configuration.hvcC
            entries[current - 1].sets = sets
            return
        } else if let known = entries.firstIndex(where: {
            // Records of the same parameter sets may differ in order and in messages, which matter in a source's own.
            configuration.boxes == nil && $0.sets == sets
                || $0.hvcC == configuration.hvcC && written($0.boxes) == written(configuration.boxes)
        }) {
            number = known + 1
        } else {
            guard entries.count < Self.maxCount else {
                throw MediaError(.unsupported, "the parameter sets change more than \(Self.maxCount) times")
            }
            let sps = HEVCConfiguration.baseLayerSets(record.nalUnits).first
            entries.append(Entry(hvcC: configuration.hvcC, boxes: configuration.boxes, sets: sets, sps: sps))
            number = entries.count
        }
        if runs[runs.count - 1].start == sample { runs.removeLast() }
        if runs.last?.entry != number { runs.append(ChunkTable.Run(start: sample, entry: number)) }
    }

    /// Writes the entries, the boxes of the track and those of `annotations` into the video track of `movie`.
    package func write(into movie: inout Box, _ annotations: PictureAnnotations?) throws(BoxError) {
        let path = Box.sampleTablePath + ["stsd", "hvc1"]
        guard let index = movie.children.firstIndex(where: { $0.type == "trak" && $0.first(path: path) != nil })
        else { throw BoxError("the movie has no hvc1 track") }
        try movie.children[index].edit(Box.sampleTablePath) { table throws(BoxError) in
            try table.edit(["stsd"]) { list throws(BoxError) in try write(intoList: &list, annotations) }
            try annotations?.write(into: &table)
            guard runs != [ChunkTable.Run(start: 0, entry: 1)] else { return }
            let samples = try SampleTable(table)
            var chunks = try ChunkTable(table)
            guard chunks.chunks.reduce(0, { $0 + $1.sampleCount }) == samples.count else {
                throw BoxError("the chunks do not hold the samples of the track")
            }
            let numbers = used
            let renumbered = runs.map { run in
                ChunkTable.Run(start: run.start, entry: (numbers.firstIndex(of: run.entry) ?? 0) + 1)
            }
            chunks.assign(renumbered) { samples.size($0) }
            chunks.write(into: &table)
        }
        try boxes.writeSize(into: &movie.children[index])
        boxes.writeProjectionText(into: &movie.children[index])
    }

    private func write(intoList list: inout Box, _ annotations: PictureAnnotations?) throws(BoxError) {
        guard let place = list.children.firstIndex(where: { $0.type == "hvc1" }), list.fields.count == 8 else {
            throw BoxError("the box \"stsd\" is damaged")
        }
        boxes.write(into: &list.children[place])
        let first = list.children[place]
        list.children = try used.map { (number) throws(BoxError) in
            let entry = entries[number - 1]
            var box = first
            if number > 1 { try adapt(&box, to: entry) }
            var record = Box("hvcC", entry.hvcC)
            annotations?.correct(&record)
            box.put(record)
            return box
        }
        var count: [UInt8] = []
        count.appendBigEndian(UInt32(list.children.count))
        list.fields.replaceSubrange(4..<8, with: count)
    }

    /// Changes a copy of the first entry into a later one.
    private func adapt(_ box: inout Box, to entry: Entry) throws(BoxError) {
        let size = entry.sps.map { ($0.width, $0.height) } ?? (boxes.codedWidth, boxes.codedHeight)
        guard box.fields.count == Box.visualEntryFields else { throw BoxError("a sample entry is cut off") }
        guard let width = UInt16(exactly: size.0), let height = UInt16(exactly: size.1) else {
            throw BoxError(
                "a sample entry of \(size.0)x\(size.1) cannot be written: a side has more than 65535 samples")
        }
        // Width and height of VisualSampleEntry (ISO/IEC 14496-12 12.1.3).
        var bytes: [UInt8] = []
        bytes.appendBigEndian(width)
        bytes.appendBigEndian(height)
        box.fields.replaceSubrange(24..<28, with: bytes)
        if let source = entry.boxes {
            box.children.removeAll { writtenTypes.contains($0.type) }
            box.children += source.filter { writtenTypes.contains($0.type) && $0.type != "colr" }
            // A profile is behind the code points, as in the first entry.
            if let color = source.lazy.compactMap({ colorBox($0, entry) }).first { box.children.append(color) }
            box.children += source.filter { $0.type == "colr" && !Self.hasPoints($0) }
        } else {
            if size != (boxes.codedWidth, boxes.codedHeight) { box.children.removeAll { $0.type == "clap" } }
            if let sps = entry.sps, let points = sps.colourDescription { adapt(&box, to: points, sps.isFullRange) }
        }
    }

    /// Changes the color of an entry whose parameter sets change within its source's samples.
    private func adapt(_ box: inout Box, to points: VUIColorDescription, _ isFullRange: Bool) {
        let unspecified: [UInt8] = [0, 2]
        let place = box.children.firstIndex { $0.type == "colr" && Self.hasPoints($0) }
        let color = place.map { box.children[$0] }
        let oldTransfer = color.map { Array($0.fields.dropFirst(6).prefix(2)) } ?? unspecified
        if let color, let place {
            let type = Array(color.fields.prefix(4))
            // nclx has the range, nclc has not.
            let range: [UInt8] = type == Array("nclx".utf8) ? [isFullRange ? 0x80 : 0] : []
            box.children[place] = Box("colr", type + points.bytes + range)
        }
        // A profile describes samples of one color.
        if color.map({ Array($0.fields.dropFirst(4).prefix(6)) }) != points.bytes {
            box.children.removeAll { $0.type == "colr" && !Self.hasPoints($0) }
        }
        guard oldTransfer != Array(points.bytes[2..<4]) else { return }
        // They describe pictures of the former transfer function.
        box.children.removeAll { ["mdcv", "clli", "dvcC", "dvvC", "dvwC"].contains($0.type) }
    }

    /// Whether a `colr` has code points, not an ICC profile.
    private static func hasPoints(_ box: Box) -> Bool {
        let forms: [FourCC?] = ["nclc", "nclx"]
        return forms.contains(box.fields.fourCC(at: 0))
    }

    /// A source's `colr` in the form of this file: `nclc` in .mov, `nclx`, which has the range too, in .mp4.
    private func colorBox(_ box: Box, _ entry: Entry) -> Box? {
        guard box.type == "colr", Self.hasPoints(box), box.fields.count >= 10 else { return nil }
        let points = Array(box.fields[4..<10])
        if isQuickTime { return Box("colr", Array("nclc".utf8) + points) }
        let isFullRange = box.fields.count > 10 ? box.fields[10] & 0x80 != 0 : entry.sps?.isFullRange ?? false
        return Box("colr", Array("nclx".utf8) + points + [isFullRange ? 0x80 : 0])
    }
}

extension VUIColorDescription {
    /// The three code points as `colr` has them (ISO/IEC 14496-12 12.1.5).
    fileprivate var bytes: [UInt8] {
        [colourPrimaries, transferCharacteristics, matrixCoeffs].flatMap { [0, UInt8(truncatingIfNeeded: $0)] }
    }
}
