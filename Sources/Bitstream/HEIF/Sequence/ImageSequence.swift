// SPDX-License-Identifier: MIT
public import HWDBoxes
public import HWDHEVC

/// The image sequence of a file: tracks of pictures that are shown one after another (ISO/IEC 23008-12 7).
public struct ImageSequence: Sendable {
    /// A track of pictures.
    public struct Track: Sendable {
        public let id: UInt32
        /// `pict`, or `auxv` for auxiliary pictures such as alpha.
        public let handler: FourCC
        /// The size of the coded pictures, from the sample entry.
        public let width: Int
        public let height: Int
        /// `hvc1`, ….
        public let sampleEntry: FourCC
        /// The record of HEVC pictures.
        public let hevc: DecoderConfigurationRecord?
        /// The colors that the sample entry states.
        public let colors: [ColorInformation]
        /// The part of a coded picture that is shown; nil for all of it.
        public let aperture: CleanAperture?
        /// What an auxiliary track is; nil for others.
        public let auxiliary: (kind: AuxiliaryKind, urn: String)?
        /// Tracks that an auxiliary one belongs to.
        public let masters: [UInt32]
        /// Whether no picture refers to another one (`ccst`); nil where nothing states it.
        public let isIntraOnly: Bool?
        /// Ticks per second.
        public let timeScale: Int
        /// Of all pictures, in ticks.
        public let duration: UInt64
        /// The pictures, in decoding order.
        public let samples: SampleTable
        /// Edits of the track's time line: what is shown, in ticks of the movie.
        public let edits: Int
    }

    /// The tracks of pictures, in the order of the file.
    public let tracks: [Track]

    /// Reads the body of a `moov` box.
    /// - Throws: `malformed` where it has no track of pictures, or a damaged one; `truncated` where a picture is outside
    ///   of the file.
    init(movie body: ArraySlice<UInt8>, fileLength: UInt64) throws(HEIFError) {
        var tracks: [Track] = []
        try checkingBoxes { () throws(BoxError) in
            for box in try Box.parse(body) where box.type == "trak" {
                guard let handler = box.first("mdia", "hdlr")?.fields.fourCC(at: 8),
                    handler == "pict" || handler == "auxv"
                else { continue }
                guard tracks.count < HEIFLimits.tracks else {
                    throw BoxError("the file has more than \(HEIFLimits.tracks) tracks of pictures")
                }
                tracks.append(try Track(box, handler: handler))
            }
        }
        guard tracks.contains(where: { $0.handler == "pict" }) else {
            throw HEIFError(.malformed, "the movie has no track of pictures")
        }
        for track in tracks {
            for sample in 0..<track.samples.count {
                let (end, overflow) = track.samples.offsets[sample].addingReportingOverflow(
                    UInt64(track.samples.size(sample)))
                guard !overflow, end <= fileLength else {
                    throw HEIFError(
                        .truncated, "picture \(sample + 1) of track \(track.id) leads outside of the file")
                }
            }
        }
        self.tracks = tracks
    }
}

extension ImageSequence.Track {
    /// Reads a `trak` box.
    fileprivate init(_ track: Box, handler: FourCC) throws(BoxError) {
        guard let number = track.trackID, let id = UInt32(exactly: number), id > 0 else {
            throw BoxError("a track has no number")
        }
        guard let table = track.first(path: Box.sampleTablePath), let entry = table.first("stsd")?.children.first,
            let header = track.first("mdia", "mdhd"),
            let scale = header.fields.bigEndian(at: header.offsetAfterTimes, 4), scale > 0
        else { throw BoxError("track \(id) has no sample entry or no time scale") }
        guard let width = entry.fields.bigEndian(at: 24, 2), let height = entry.fields.bigEndian(at: 26, 2),
            width > 0, height > 0
        else { throw BoxError("the pictures of track \(id) have no size") }
        self.id = id
        self.handler = handler
        (self.width, self.height) = (Int(width), Int(height))
        sampleEntry = entry.type
        timeScale = Int(scale)
        duration = header.fields.bigEndian(at: header.offsetAfterTimes + 4, header.fields.first == 1 ? 8 : 4) ?? 0
        colors = entry.children.filter { $0.type == "colr" }.compactMap { box in
            var fields = BoxFields("colr", box.fields[...])
            return try? ColorInformation(&fields)
        }
        aperture = entry.first("clap").flatMap { CleanAperture($0.fields) }
        if let record = entry.first("hvcC") {
            guard let hevc = try? DecoderConfigurationRecord(bytes: record.fields) else {
                throw BoxError("the hvcC record of track \(id) is damaged")
            }
            self.hevc = hevc
        } else {
            hevc = nil
        }
        auxiliary = entry.first("auxi").map { box in
            var fields = BoxFields("auxi", box.fields.dropFirst(4))
            let urn = fields.text()
            return (AuxiliaryKind(urn: urn), urn)
        }
        isIntraOnly = entry.first("ccst")?.fields.bigEndian(at: 4, 1).map { $0 >> 7 == 1 }
        masters = try Self.masters(track)
        samples = try SampleTable(table)
        edits = Int(track.first("edts", "elst")?.fields.bigEndian(at: 4, 4) ?? 0)
    }

    /// The tracks that the `auxl` reference of a `tref` names (ISO/IEC 14496-12 8.3.3).
    private static func masters(_ track: Box) throws(BoxError) -> [UInt32] {
        guard let references = track.first("tref") else { return [] }
        var list = BoxList(references.fields[...])
        while let (header, body) = try list.next() {
            guard header.type == "auxl" else { continue }
            return (0..<body.count / 4).compactMap { body.bigEndian(at: 4 * $0, 4).map { UInt32($0) } }
        }
        return []
    }
}
