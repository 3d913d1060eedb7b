// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes

/// The boxes of a track of timed metadata (ISO/IEC 14496-12 12.3), of whatever sample entry: `mebx` of phones, `gpmd` and
/// `fdsc` of action cameras, `camm`, `rtmd`, `mett`.
///
/// libavformat's muxer cannot write them all: it writes the samples as one format, and these take the place of its boxes.
package struct TimedMetadataBoxes: Hashable, Sendable {
    /// The sample entry, which has the keys of the samples.
    private let entry: Box
    private let handler: Box
    /// The media information header; nil without one.
    private let header: Box?
    /// Whether the track describes the video's (`cdsc`, ISO/IEC 14496-12 8.3.3).
    private let describesVideo: Bool

    private static let headers: Set<FourCC> = ["gmhd", "nmhd"]
    /// The handlers of such tracks: the standard's, and those of makers.
    private static let handlers: Set<FourCC?> = ["meta", "camm", "fdsc", "rtmd", "data"]

    /// The boxes of a `trak`; nil where it is none of timed metadata, or has several sample entries.
    package init?(_ track: Box, video: Int) {
        guard let entries = track.first(path: Box.sampleTablePath + ["stsd"])?.children, entries.count == 1,
            let handler = track.first("mdia", "hdlr"), Self.handlers.contains(handler.fields.fourCC(at: 8))
        else { return nil }
        (entry, self.handler) = (entries[0], handler)
        header = track.first("mdia", "minf")?.children.first { Self.headers.contains($0.type) }
        describesVideo = Self.described(by: track).contains(video)
    }

    /// The numbers of the tracks that a track describes.
    private static func described(by track: Box) -> [Int] {
        guard let references = track.first("tref"),
            let list = (try? Box.parse(references.bytes.dropFirst(Box.headerSize)))?.first(where: {
                $0.type == "cdsc"
            })
        else { return [] }
        return stride(from: 0, to: list.fields.count, by: 4).compactMap { list.fields.bigEndian(at: $0, 4) }.map {
            Int($0)
        }
    }

    /// Takes the place of the boxes that the muxer wrote.
    package func write(into track: inout Box) throws(BoxError) {
        try track.edit(["mdia"]) { media in media.put(handler) }
        try track.edit(["mdia", "minf"]) { information in
            guard let header else { return }
            information.children.removeAll { Self.headers.contains($0.type) }
            information.children.insert(header, at: 0)
        }
        try track.edit(Box.sampleTablePath + ["stsd"]) { descriptions in descriptions.children = [entry] }
        guard describesVideo else { return }
        track.children.removeAll { $0.type == "tref" }
        let place = track.children.firstIndex { $0.type == "mdia" } ?? track.children.endIndex
        // The video is track 1.
        track.children.insert(Box("tref", children: [Box("cdsc", [0, 0, 0, 1])]), at: place)
    }
}
