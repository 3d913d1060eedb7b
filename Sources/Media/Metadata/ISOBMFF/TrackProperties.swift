// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes

/// What libavformat's muxers of .mov and .mp4 do not write of a track: that its subtitles are switched off, and in .mov
/// what it is for.
package struct TrackProperties: Hashable, Sendable {
    package var language: String?
    package var flags: Set<TrackFlag>
    package var isSubtitle: Bool

    /// The properties of a track.
    package init(language: String?, flags: Set<TrackFlag>, isSubtitle: Bool) {
        (self.language, self.flags, self.isSubtitle) = (language, flags, isSubtitle)
    }

    private static let scheme = "urn:mpeg:dash:role:2011"
    /// The last byte of the flags of a `tkhd`, whose lowest bit says that the track is enabled (ISO/IEC 14496-12 8.3.2).
    private static let flagsOffset = 3

    /// Writes the properties of track 1, 2, … into a movie.
    package static func write(_ properties: [TrackProperties], into movie: inout Box) throws(BoxError) {
        try TrackLanguages.write(properties.map(\.language), into: &movie)
        for index in movie.children.indices {
            // A stream without packets gets no track, but keeps its number.
            guard let number = movie.children[index].trackID, properties.indices.contains(number - 1) else {
                continue
            }
            let track = properties[number - 1]
            if track.isSubtitle {
                // The muxer enables the first track of each kind where no other is the default.
                try movie.children[index].edit(["tkhd"]) { header throws(BoxError) in
                    guard header.fields.count > flagsOffset else { throw BoxError("the box \"tkhd\" is cut off") }
                    if track.flags.contains(.shown) {
                        header.fields[flagsOffset] |= 1
                    } else {
                        header.fields[flagsOffset] &= 0xFE
                    }
                }
            }
            try write(
                roles: TrackFlag.allCases.filter(track.flags.contains).compactMap(\.role),
                into: &movie.children[index])
        }
    }

    /// Adds the roles to a `trak` that has none.
    private static func write(roles: [String], into track: inout Box) throws(BoxError) {
        guard !roles.isEmpty else { return }
        if track.first("udta") == nil { track.children.append(Box("udta", [])) }
        try track.edit(["udta"]) { (data) throws(BoxError) in
            var list = BoxList(data.fields[...])
            while let (header, _) = try list.next() { if header.type == "kind" { return } }
            for role in roles {
                data.fields += Box("kind", [0, 0, 0, 0] + Array(scheme.utf8) + [0] + Array(role.utf8) + [0]).bytes
            }
        }
    }
}
