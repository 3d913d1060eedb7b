// SPDX-License-Identifier: GPL-2.0-or-later
/// What the boxes of a .mov or .mp4 input tell that libavformat passes over.
struct SourceBoxes {
    private let movie: Box

    /// The largest `moov` of an input that is taken into memory.
    private static let maxSize: UInt64 = 64 << 20

    /// Reads the movie box of a file; nil where there is none that can be read.
    ///
    /// That is no error: libavformat has the last word on what a file is. What follows the movie box may be damaged, or
    /// cut off.
    init?(_ file: InputFile) {
        guard file.isSeekable, let descriptor = file.descriptor,
            let entry = (try? MovieFile.entries(descriptor, isWhole: false))?.first(where: { $0.type == "moov" }),
            entry.size <= Self.maxSize, let movie = try? MovieFile.movie(descriptor, entry)
        else { return nil }
        self.movie = movie
    }

    /// What is to be seen of the track's pictures, which decode to `width`×`height`; nil when that is all of them.
    func cleanAperture(track: Int32, width: Int, height: Int) -> CleanAperture? {
        guard let entry = sampleEntry(track: track),
            let aperture = entry.first("clap").flatMap({ CleanAperture($0.fields) }),
            aperture.fits(codedWidth: width, codedHeight: height)
        else { return nil }
        let whole = CleanAperture(width: width, height: height, ofCodedWidth: width, codedHeight: height)
        return aperture == whole ? nil : aperture
    }

    /// What the boxes of a track say of its pictures; nil where there is no such track, or it is in fragments.
    func annotations(track: Int32, subLayers: Int?) -> TrackAnnotations? {
        guard movie.first("mvex") == nil, let table = box(track: track)?.first("mdia", "minf", "stbl") else {
            return nil
        }
        return TrackAnnotations(table, subLayers: subLayers)
    }

    /// What of a track's sample entry a copy takes over as it is: boxes that libavformat's muxer does not write.
    func carried(track: Int32) -> [Box] {
        let types: Set<FourCC> = ["dvcC", "dvvC", "dvwC", "amve", "cclv", "lhvC", "vexu", "hfov"]
        return sampleEntry(track: track)?.children.filter { types.contains($0.type) } ?? []
    }

    /// Ticks a second of a track's media; nil where it does not say.
    func timeScale(track: Int32) -> Int? {
        guard let header = box(track: track)?.first("mdia", "mdhd")?.fields else { return nil }
        // Behind two times, of 8 bytes each in version 1 (ISO/IEC 14496-12 8.4.2).
        return header.bigEndian(at: header.first == 1 ? 20 : 12, 4).flatMap { $0 > 0 ? Int($0) : nil }
    }

    /// The first video sample entry of a track.
    private func sampleEntry(track: Int32) -> Box? {
        box(track: track)?.first("mdia", "minf", "stbl", "stsd")?.children.first { $0.isContainer }
    }

    private func box(track: Int32) -> Box? { movie.children.first { $0.trackID == Int(track) } }
}

extension Box {
    /// The `track_ID` of a `trak` (ISO/IEC 14496-12 8.3.2); nil for other boxes and damaged ones.
    var trackID: Int? {
        guard type == "trak", let header = first("tkhd")?.fields else { return nil }
        // Behind two times, of 8 bytes each in version 1.
        return header.bigEndian(at: header.first == 1 ? 20 : 12, 4).map { Int($0) }
    }
}
