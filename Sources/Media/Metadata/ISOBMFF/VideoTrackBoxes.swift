// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes
package import HWDHEVC
internal import HWDModel

/// The boxes of a video track that libavformat's muxer does not write: clean aperture, HDR metadata, Dolby Vision.
package struct VideoTrackBoxes: Hashable, Sendable {
    /// The decoded size, which is even for 4:2:0: the conformance window counts chroma samples (H.265 7.4.3.2.1).
    package let codedWidth: Int
    package let codedHeight: Int
    /// nil when the whole picture is displayed.
    package let cleanAperture: CleanAperture?
    private let masteringDisplay: [UInt8]?
    private let contentLight: [UInt8]?
    private let ambientViewing: [UInt8]?
    private let dolbyVision: [UInt8]?
    private let projection: [Box]
    private let profile: [UInt8]?
    /// Boxes of the source's sample entry that a copy keeps.
    package var carried: [Box] = []

    /// Bytes of the bodies of `mdcv`, `clli` and `amve` (ISO/IEC 14496-12 12.1.6, 12.1.7, 12.1.9).
    static let masteringDisplaySize = 24
    static let contentLightSize = 4
    static let ambientViewingSize = 8

    /// Checks a track against its parameter sets.
    /// - Throws: `usage` for a track larger than the coded picture, and for bodies of the wrong size.
    package init(_ track: VideoTrack, _ record: DecoderConfigurationRecord) throws(MediaError) {
        let sets = record.nalUnits.compactMap { try? SequenceParameterSet(nal: $0) }
        // The track's own size serves where no base-layer SPS can be parsed.
        let sps = sets.first { $0.header.nuhLayerId == 0 && $0.width > 0 && $0.height > 0 }
        codedWidth = sps?.width ?? track.width
        codedHeight = sps?.height ?? track.height
        guard track.width <= codedWidth, track.height <= codedHeight else {
            throw MediaError(
                .usage,
                "a track of \(track.width)x\(track.height) cannot show a stream of \(codedWidth)x\(codedHeight)")
        }
        var aperture = track.cleanAperture
        if aperture == nil, track.width != codedWidth || track.height != codedHeight {
            aperture = CleanAperture(
                width: track.width, height: track.height, ofCodedWidth: codedWidth, codedHeight: codedHeight)
        }
        guard aperture?.fits(codedWidth: codedWidth, codedHeight: codedHeight) ?? true else {
            throw MediaError(
                .usage, "the clean aperture is not inside the \(codedWidth)x\(codedHeight) picture")
        }
        guard track.masteringDisplay?.count ?? Self.masteringDisplaySize == Self.masteringDisplaySize,
            track.contentLight?.count ?? Self.contentLightSize == Self.contentLightSize,
            track.ambientViewing?.count ?? Self.ambientViewingSize == Self.ambientViewingSize,
            track.dolbyVision?.count ?? DolbyVisionConfiguration.size == DolbyVisionConfiguration.size
        else { throw MediaError(.usage, "mdcv and dvvC have 24 bytes, clli has 4 and amve has 8") }
        cleanAperture = aperture
        masteringDisplay = track.masteringDisplay
        contentLight = track.contentLight
        ambientViewing = track.ambientViewing
        dolbyVision = track.dolbyVision
        (projection, profile) = (track.projection, track.profile)
    }

    /// Writes the boxes into a sample entry.
    func write(into entry: inout Box) {
        if let cleanAperture { entry.put(cleanAperture.box) }
        if let masteringDisplay { entry.put(Box("mdcv", masteringDisplay)) }
        if let contentLight { entry.put(Box("clli", contentLight)) }
        // A copy keeps the source's box, whose type may be another than the profile's.
        if !carried.contains(where: { DolbyVisionBox.types.contains($0.type) }),
            let box = dolbyVision.flatMap(DolbyVisionBox.make)
        {
            entry.put(box)
        }
        if let ambientViewing { entry.put(Box("amve", ambientViewing)) }
        for box in projection where !Projection.isText(box) { entry.put(box) }
        // Behind the code points: libavformat's muxer writes those, and later entries change them.
        if let profile { entry.children.append(Box("colr", Array("prof".utf8) + profile)) }
        for box in carried where entry.first(box.type) == nil { entry.children.append(box) }
        placeDolbyVision(in: &entry)
    }

    /// Writes the projection's description in text into a `trak`.
    func writeProjectionText(into track: inout Box) {
        for box in projection where Projection.isText(box) { track.children.append(box) }
    }

    /// Whether the track is declared as Dolby Vision.
    package var isDolbyVision: Bool {
        dolbyVision != nil || carried.contains { DolbyVisionBox.types.contains($0.type) }
    }

    /// Moves Dolby Vision's box behind `hvcC`, where cameras write it, and `amve` to the end.
    private func placeDolbyVision(in entry: inout Box) {
        let last = entry.children.filter { $0.type == "amve" }
        let vision = entry.children.filter { DolbyVisionBox.types.contains($0.type) }
        entry.children.removeAll { $0.type == "amve" || DolbyVisionBox.types.contains($0.type) }
        let place = entry.children.firstIndex { $0.type == "hvcC" }.map { $0 + 1 } ?? entry.children.endIndex
        entry.children.insert(contentsOf: vision, at: place)
        entry.children += last
    }

    /// Writes the displayed size into the header of a `trak`.
    func writeSize(into track: inout Box) throws(BoxError) {
        guard let cleanAperture else { return }
        try track.edit(["tkhd"]) { header throws(BoxError) in
            try scale(&header, 8, by: cleanAperture.width.value / Double(codedWidth))
            try scale(&header, 4, by: cleanAperture.height.value / Double(codedHeight))
        }
    }

    /// Multiplies one of the two 16.16 numbers at the end of `tkhd`, width and height (ISO/IEC 14496-12 8.3.2).
    private func scale(_ header: inout Box, _ fromEnd: Int, by factor: Double) throws(BoxError) {
        let offset = header.fields.count - fromEnd
        guard let old = header.fields.bigEndian(at: offset, 4) else {
            throw BoxError("the box \"tkhd\" is cut off")
        }
        var bytes: [UInt8] = []
        bytes.appendBigEndian(UInt32(clamping: Int64((Double(old) * factor).rounded())))
        header.fields.replaceSubrange(offset..<offset + 4, with: bytes)
    }
}
