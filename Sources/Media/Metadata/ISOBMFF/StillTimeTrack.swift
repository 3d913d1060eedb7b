// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes

/// The track that says when in a clip its still picture was taken: one sample of timed metadata, which an edit list puts
/// at that time ("QuickTime File Format", timed metadata media).
package struct StillTimeTrack {
    static let key = "com.apple.quicktime.still-image-time"
    /// The sample: its size, the number of its key, and -1, as Apple writes; only the sample's time matters.
    package static let sample: [UInt8] = [0, 0, 0, 9, 0, 0, 0, 1, 0xFF]

    let id: UInt32
    /// The track of the video.
    let video: UInt32
    /// Ticks per second of the movie, and of the track.
    let movieScale: UInt32
    let timeScale: UInt32
    /// When the still picture was taken, in ticks of the movie.
    let time: UInt32
    /// Where the sample is in the file.
    let offset: UInt64

    /// Describes a track.
    package init(id: UInt32, video: UInt32, movieScale: UInt32, timeScale: UInt32, time: UInt32, offset: UInt64) {
        (self.id, self.video, self.movieScale) = (id, video, movieScale)
        (self.timeScale, self.time, self.offset) = (timeScale, time, offset)
    }

    /// Whether a `trak` is such a track.
    package static func matches(_ track: Box) -> Bool {
        guard let entry = track.first(path: Box.sampleTablePath + ["stsd"])?.children.first, entry.type == "mebx"
        else { return false }
        return Array(entry.fields).contains(Array(key.utf8))
    }

    /// The time of a track, in ticks of the movie: that of its edit list's empty edit; 0 without one.
    package static func time(_ track: Box) -> UInt64 {
        guard let list = track.first("edts", "elst"), let count = list.fields.bigEndian(at: 4, 4), count > 1 else {
            return 0
        }
        let isLong = list.fields.first == 1
        guard let duration = list.fields.bigEndian(at: 8, isLong ? 8 : 4),
            list.fields.bigEndian(at: isLong ? 16 : 12, isLong ? 8 : 4) == (isLong ? .max : UInt64(UInt32.max))
        else { return 0 }
        return duration
    }

    /// A thirtieth of a second.
    private var duration: (movie: UInt32, media: UInt32) { (max(1, movieScale / 30), max(1, timeScale / 30)) }

    package var box: Box {
        var header =
            [UInt8](bigEndian: [3, 0, 0, id, 0, time &+ duration.movie]) + [UInt8](repeating: 0, count: 16)
        header += [UInt8](bigEndian: Box.identityMatrix + [0, 0])
        // An empty edit, then the sample at the normal rate.
        let edits = time > 0 ? [2, time, .max, 0x0001_0000] : [1]
        let list = [UInt8](bigEndian: [0] + edits + [duration.movie, 0, 0x0001_0000])
        return Box(
            "trak",
            children: [
                Box("tkhd", header), Box("edts", children: [Box("elst", list)]),
                Box("tref", children: [Box("cdsc", [UInt8](bigEndian: [video]))]), media,
            ])
    }

    private var media: Box {
        let header = Box("mdhd", [UInt8](bigEndian: [0, 0, 0, timeScale, duration.media]) + [0x7F, 0xFF, 0, 0])
        let type = [UInt8](bigEndian: [0]) + Array("mhlrmeta".utf8) + [UInt8](repeating: 0, count: 13)
        // Graphics mode copy, with the colors that it needs.
        let general = Box("gmin", [UInt8](bigEndian: [0]) + [0, 0x40, 0x80, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0])
        let dataHandler = [UInt8](bigEndian: [0]) + Array("dhlrurl ".utf8) + [UInt8](repeating: 0, count: 13)
        return Box(
            "mdia",
            children: [
                header, Box("hdlr", type),
                Box(
                    "minf",
                    children: [Box("gmhd", children: [general]), Box("hdlr", dataHandler), .sameFileData, table]),
            ])
    }

    private var table: Box {
        let name = Box("keyd", Array("mdta".utf8) + Array(Self.key.utf8))
        // A well-known type, of signed integers with 8 bits.
        let key = Box(FourCC(rawValue: 1), children: [name, Box("dtyp", [UInt8](bigEndian: [0, 65]))])
        let entry = Box(
            "mebx", fields: [0, 0, 0, 0, 0, 0, 0, 1], children: [Box("keys", children: [key])])
        var chunk = [UInt8](bigEndian: [0, 1])
        chunk.appendBigEndian(offset)
        return Box(
            "stbl",
            children: [
                Box("stsd", fields: [UInt8](bigEndian: [0, 1]), children: [entry]),
                Box("stts", [UInt8](bigEndian: [0, 1, 1, duration.media])),
                Box("stsc", [UInt8](bigEndian: [0, 1, 1, 1, 1])),
                Box("stsz", [UInt8](bigEndian: [0, UInt32(Self.sample.count), 1])), Box("co64", chunk),
            ])
    }
}
