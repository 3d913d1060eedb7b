// SPDX-License-Identifier: GPL-2.0-or-later
import HWDBoxes

/// A movie of one track of made-up samples, box by box.
struct CraftedMovie {
    /// The sample sizes; sample number n is filled with n.
    var sizes: [Int] = [3, 5, 2, 7, 1, 4]
    var timeScale: UInt32 = 1000
    /// `stts` rows: count, duration.
    var durations: [UInt32] = [6, 40]
    /// `ctts` rows: count, shift; none without them.
    var shifts: [UInt32] = []
    /// `stss` numbers; all where it is nil.
    var sync: [UInt32]?
    /// `elst` rows: duration in ticks of the track, media time, rate.
    var edits: [[Int32]] = []
    /// More boxes of the sample table, or others instead of those of the same type.
    var tables: [Box] = []
    /// The body of `dref`'s entry.
    var reference: [UInt8] = [0, 0, 0, 1]
    /// Boxes of the movie behind the track.
    var movie: [Box] = []
    /// Boxes of the file behind the media.
    var rest: [Box] = []

    static func full(_ type: FourCC, _ words: [UInt32]) -> Box { Box(type, [UInt8](bigEndian: [0] + words)) }

    private static let head = Box("ftyp", Array("isom".utf8) + [0, 0, 0, 0])
    /// The position of the first sample.
    static let mediaStart = head.size + Box.headerSize

    var bytes: [UInt8] {
        let media = Box(
            "mdat", sizes.enumerated().flatMap { [UInt8](repeating: UInt8($0.offset), count: $0.element) })
        let front = Self.head.bytes + media.bytes
        return front + rest.flatMap(\.bytes) + moov.bytes
    }

    private var moov: Box {
        let matrix = [UInt8](bigEndian: Box.identityMatrix)
        let entry = Box(
            "hvc1", fields: [UInt8](repeating: 0, count: 7) + [1] + [UInt8](repeating: 0, count: 70), children: [])
        var table = Box(
            "stbl",
            children: [
                Box("stsd", fields: [UInt8](bigEndian: [0, 1]), children: [entry]),
                Self.full("stts", [UInt32(durations.count / 2)] + durations),
                Self.full("stsc", [1, 1, UInt32(sizes.count), 1]),
                Self.full("stsz", [0, UInt32(sizes.count)] + sizes.map { UInt32($0) }),
                Self.full("stco", [1, UInt32(Self.mediaStart)]),
            ])
        if !shifts.isEmpty { table.put(Self.full("ctts", [UInt32(shifts.count / 2)] + shifts)) }
        if let sync { table.put(Self.full("stss", [UInt32(sync.count)] + sync)) }
        for box in tables {
            if box.type == "sgpd" || box.type == "sbgp" { table.children.append(box) } else { table.put(box) }
        }
        let data = Box("dinf", Box("dref", [UInt8](bigEndian: [0, 1]) + Box("url ", reference).bytes).bytes)
        var track: [Box] = [
            Box(
                "tkhd",
                [UInt8](bigEndian: [3, 0, 0, 1, 0, 0, 0, 0, 0, 0]) + matrix + [UInt8](repeating: 0, count: 8))
        ]
        if !edits.isEmpty {
            let rows = edits.flatMap { $0.map { UInt32(bitPattern: $0) } }
            track.append(Box("edts", children: [Self.full("elst", [UInt32(edits.count)] + rows)]))
        }
        track.append(
            Box(
                "mdia",
                children: [
                    Self.full("mdhd", [0, 0, timeScale, 0, 0]),
                    Self.full("hdlr", [0, ("vide" as FourCC).rawValue, 0, 0, 0]),
                    Box("minf", children: [data, table]),
                ]))
        let header = Self.full("mvhd", [0, 0, timeScale, 0])
        return Box("moov", children: [header, Box("trak", children: track)] + movie)
    }
}
