// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
package import HWDBoxes
package import HWDEdits
package import HWDMetadata

extension FileContent {
    /// The types of boxes of a sample entry that a copy keeps and libavformat's muxer does not write.
    package static let carriedTypes = Set(carriedBoxes.map { FourCC(stringLiteral: $0) })
}

extension TrackFlag {
    private static let dispositions: [(TrackFlag, Int32)] = [
        (.shown, AV_DISPOSITION_DEFAULT), (.forced, AV_DISPOSITION_FORCED),
        (.hearingImpaired, AV_DISPOSITION_HEARING_IMPAIRED), (.visualImpaired, AV_DISPOSITION_VISUAL_IMPAIRED),
        (.commentary, AV_DISPOSITION_COMMENT), (.dubbed, AV_DISPOSITION_DUB),
    ]

    /// The flags in libavformat's disposition of a stream.
    package static func flags(_ disposition: Int32) -> Set<TrackFlag> {
        Set(dispositions.filter { disposition & $0.1 != 0 }.map(\.0))
    }
}

extension LibAVSource.Opening {
    /// What the file holds that nothing here knows: the types of its boxes and side data.
    var unknownContents: [String] {
        var found: [String] = []
        func add(_ types: [FourCC], _ place: FileContent.Place) {
            let known = FileContent.known(in: place)
            for type in types where !known.contains(type.description) {
                let name = "\(type) (\(place.rawValue))"
                if !found.contains(name) { found.append(name) }
            }
        }
        if let types = boxes?.types(track: stream.id) {
            add(types.entry, .sampleEntry)
            add(types.track, .track)
            add(types.movie, .movie)
            add(types.userData, .userData)
        }
        if boxes != nil, demuxer.file.isSeekable, let descriptor = demuxer.file.descriptor {
            add((try? MovieFile.entries(descriptor, isWhole: false))?.map(\.type) ?? [], .file)
        }
        for type in stream.sideData.map(\.type) {
            let name = av_packet_side_data_name(type).map { String(cString: $0) } ?? "type \(type.rawValue)"
            if !FileContent.knownSideData.contains(name) { found.append("\(name) (side data)") }
        }
        return found
    }
}

extension VideoDescription {
    /// Adds how the picture is mapped to a sphere and where two views are in it, and its ICC profile.
    mutating func addProjection(_ stream: AVStream, _ boxes: SourceBoxes?) {
        profile = boxes?.profile(track: stream.id)
        profileVaries = boxes?.profileVaries(track: stream.id) ?? false
        projection = boxes?.entryBoxes(track: stream.id, ["st3d", "sv3d"]) ?? []
        stereoMode = projection.lazy.compactMap(Projection.stereoMode).first
        if !projection.contains(where: { $0.type == "st3d" }) {
            stereoMode = Self.stereoMode(stream)
            if let box = stereoMode.flatMap(Projection.arrangement) { projection.append(box) }
        }
        let text = boxes?.projectionText(track: stream.id)
        // Since FFmpeg 7.1 the projection of `vexu`, flat ones too, is side data; that box is carried as it is.
        let isOfUsage = text == nil && boxes?.entryBoxes(track: stream.id, ["vexu"]).isEmpty == false
        if !isOfUsage, !projection.contains(where: { $0.type == "sv3d" }),
            let mapping = stream.sideData(AV_PKT_DATA_SPHERICAL, as: AVSphericalMapping.self)
        {
            projection.append(Self.mapping(mapping))
        }
        if let text { projection.append(text) }
    }

    /// Matroska's name of where two views are in the picture; nil for one view.
    private static func stereoMode(_ stream: AVStream) -> String? {
        guard let stereo = stream.sideData(AV_PKT_DATA_STEREO3D, as: AVStereo3D.self) else { return nil }
        let isInverted = stereo.flags & AV_STEREO3D_FLAG_INVERT != 0
        switch stereo.type {
        case AV_STEREO3D_2D: return nil
        case AV_STEREO3D_TOPBOTTOM: return isInverted ? "bottom_top" : "top_bottom"
        case AV_STEREO3D_SIDEBYSIDE: return isInverted ? "right_left" : "left_right"
        // libavformat has the name of Matroska's other arrangements.
        default: return LibAVDictionary.value(stream.metadata, "stereo_mode")
        }
    }

    private static func mapping(_ mapping: AVSphericalMapping) -> Box {
        let isCube = mapping.projection == AV_SPHERICAL_CUBEMAP
        // The order of the fields is that of Google's "Spherical Video V2 RFC": top, bottom, left, right.
        let bounds = [mapping.bound_top, mapping.bound_bottom, mapping.bound_left, mapping.bound_right]
        return Projection.mapping(
            pose: [mapping.yaw, mapping.pitch, mapping.roll], shape: isCube ? "cbmp" : "equi",
            fields: isCube ? [0, mapping.padding] : bounds)
    }
}
