// SPDX-License-Identifier: MIT
internal import HWDBoxes
internal import HWDHEVC

/// The `trak` box of pictures or of alpha (ISO/IEC 23008-12 7.2, 7.5.3), one picture in each chunk.
struct TrackWriter {
    let file: SequenceFile
    let isAlpha: Bool
    let sizes: [UInt32]
    let offsets: [UInt32]
    /// Of all pictures, in ticks.
    let duration: UInt32

    private static let mainTrack: UInt32 = 1
    private static let alphaTrack: UInt32 = 2

    private var picture: StillPicture { isAlpha ? file.alpha ?? file.picture : file.picture }

    func box() throws(HEIFError) -> Box {
        var children = [header]
        if isAlpha {
            children.append(Box("tref", children: [Box("auxl", [UInt8](bigEndian: [Self.mainTrack]))]))
        }
        let entry = try sampleEntry()
        let table = Box(
            "stbl",
            children: [
                Box("stsd", fields: Self.full([1]), children: [entry]), times,
                Box("stsc", Self.full([1, 1, 1, 1])),
                Box("stsz", Self.full([0, UInt32(sizes.count)] + sizes)),
                Box("stco", Self.full([UInt32(offsets.count)] + offsets)),
            ])
        let video = Box("vmhd", [0, 0, 0, 1] + [UInt8](repeating: 0, count: 8))
        let media = Box(
            "mdia", children: [mediaHeader, handler, Box("minf", children: [video, .sameFileData, table])])
        children.append(media)
        return Box("trak", children: children)
    }

    /// The body of a full box of version 0.
    private static func full(_ numbers: [UInt32]) -> [UInt8] { [UInt8](bigEndian: [0] + numbers) }

    private var header: Box {
        // Enabled and in the movie.
        var bytes = [UInt8](bigEndian: [3, 0, 0, isAlpha ? Self.alphaTrack : Self.mainTrack, 0, duration])
        bytes += [UInt8](repeating: 0, count: 16) + [UInt8](bigEndian: Box.identityMatrix)
        for side in [picture.width, picture.height] {
            bytes.appendBigEndian(UInt32(truncatingIfNeeded: side) << 16)
        }
        return Box("tkhd", bytes)
    }

    private var mediaHeader: Box {
        // The language is undetermined.
        Box("mdhd", Self.full([0, 0, file.timeScale, duration]) + [0x55, 0xC4, 0, 0])
    }

    private var handler: Box {
        let type: FourCC = isAlpha ? "auxv" : "pict"
        return Box("hdlr", Self.full([0, type.rawValue]) + [UInt8](repeating: 0, count: 13))
    }

    /// Runs of equal durations.
    private var times: Box {
        var runs: [(count: UInt32, duration: UInt32)] = []
        for duration in file.durations {
            if runs.last?.duration == duration {
                runs[runs.count - 1].count += 1
            } else {
                runs.append((1, duration))
            }
        }
        return Box("stts", Self.full([UInt32(runs.count)] + runs.flatMap { [$0.count, $0.duration] }))
    }

    private func sampleEntry() throws(HEIFError) -> Box {
        let tiling = try Tiling(picture)
        var fields = [UInt8](repeating: 0, count: 6) + [0, 1] + [UInt8](repeating: 0, count: 16)
        for side in [tiling.tileWidth, tiling.tileHeight] {
            guard let side = UInt16(exactly: side) else {
                throw HEIFError(.limit, "a picture of a sequence has more than 65535 samples on a side")
            }
            fields.appendBigEndian(side)
        }
        // 72 dpi, one frame in a sample, no name of a compressor, 24 bits.
        fields += [UInt8](bigEndian: [0x0048_0000, 0x0048_0000, 0]) + [0, 1] + [UInt8](repeating: 0, count: 32)
        fields += [0, 0x18, 0xFF, 0xFF]
        var children = [try ItemProperty.hevc(picture.configuration).box()]
        // All pictures are intra ones (ISO/IEC 23008-12 7.2.3.2).
        children.append(Box("ccst", [0, 0, 0, 0, 0x80, 0, 0, 0]))
        for color in picture.colors { children.append(try ItemProperty.color(color).box()) }
        if tiling.isGrid,
            let aperture = CleanAperture(
                width: picture.width, height: picture.height, ofCodedWidth: tiling.tileWidth,
                codedHeight: tiling.tileHeight)
        {
            children.append(aperture.box)
        }
        if isAlpha, let urn = AuxiliaryKind.alpha.urn {
            children.append(Box("auxi", [0, 0, 0, 0] + Array(urn.utf8) + [0]))
        }
        return Box("hvc1", fields: fields, children: children)
    }
}
