// SPDX-License-Identifier: GPL-2.0-or-later
/// Something that a media file can hold beside the samples of its pictures.
///
/// This table alone says what an output gets of a source, what is named where it is left out, and what a receipt compares.
/// The raw value is the name of a receipt's line, which `--asked` takes.
public enum FileContent: String, CaseIterable, Hashable, Sendable {
    case frames, timestamps, duration, size, crop, aspect, rotation, fields, depth, chroma, color
    case profile = "icc"
    case mastering, light, ambient
    case dolbyVision = "dolby-vision"
    case rpu
    case hdr10Plus = "hdr10+"
    case captions
    case colorVolume = "color-volume"
    case projection, views, alpha, levels, audio, subtitle, tracks, timecode, streams, chapters, metadata
    case unknown = "boxes"
    case pictures

    /// What is done with it in an output.
    public enum Treatment: String, Hashable, Sendable {
        /// It is there, as it was or in the form that the format has.
        case kept
        /// It is there as it was where the pictures are copied, and is left out with a line where they are encoded.
        case copied
        /// It is left out with a line.
        case named
        /// It is left out: the format is one without it.
        case none = "–"
    }

    /// A row of the table; the properties below say what its columns mean.
    private struct Traits {
        var title: String
        /// What a receipt compares; nil where that is another row's.
        var meaning: String?
        var boxes: [String] = []
        var sideData: [String] = []
        var holders: Set<OutputFormat> = Set(OutputFormat.allCases)
        var isCopied = false
    }

    private static let coded = Set(OutputFormat.allCases)
    private static let containers = coded.subtracting([.hevc])
    private static let movies: Set<OutputFormat> = [.mov, .mp4]

    private var traits: Traits {
        switch self {
        case .frames: Traits(title: "pictures", meaning: "each picture of the input is there once, at its time")
        case .timestamps:
            Traits(
                title: "presentation times",
                meaning: "the presentation times, to one tick of the coarser time base",
                boxes: ["edts"], holders: Self.containers)
        case .duration:
            Traits(
                title: "duration",
                meaning: "the end of the last picture, to 1 ms; up to about one frame is changed",
                holders: Self.containers)
        case .size: Traits(title: "size", meaning: "the displayed width and height")
        case .crop:
            Traits(
                title: "cropping to single samples", boxes: ["clap"], sideData: ["Frame Cropping"],
                holders: Self.movies)
        case .aspect: Traits(title: "aspect ratio", meaning: "the aspect ratio of a sample", boxes: ["pasp"])
        case .rotation:
            Traits(
                title: "rotation", meaning: "the display matrix", sideData: ["Display Matrix"],
                holders: [.mov, .mp4, .fmp4])
        case .fields:
            Traits(title: "fields", meaning: "whether frames hold two fields, and their order", boxes: ["fiel"])
        case .depth: Traits(title: "bit depth", meaning: "bits of a sample, up to the 10 that are coded")
        case .chroma: Traits(title: "chroma", meaning: "chroma samples of a picture, 4:2:0 at most")
        case .color:
            Traits(
                title: "color",
                meaning: "primaries, transfer function, matrix and range, in boxes and in the coded stream",
                boxes: ["colr"])
        case .profile:
            Traits(
                title: "ICC profile of the video", meaning: "the ICC profile of the video, byte for byte",
                sideData: ["ICC Profile"], holders: Self.movies)
        case .mastering:
            Traits(
                title: "mastering display",
                meaning: "the mastering display (mdcv, SEI message 137), byte for byte", boxes: ["mdcv", "SmDm"],
                sideData: ["Mastering display metadata"])
        case .light:
            Traits(
                title: "content light levels",
                meaning: "the content light levels (clli, SEI message 144), byte for byte",
                boxes: ["clli", "CoLL"],
                sideData: ["Content light level metadata"])
        case .ambient:
            Traits(
                title: "ambient viewing environment",
                meaning: "the ambient viewing environment (amve, SEI message 148), byte for byte", boxes: ["amve"],
                sideData: ["Ambient viewing environment"])
        case .dolbyVision:
            Traits(
                title: "Dolby Vision configuration",
                meaning: "the Dolby Vision configuration record (dvcC, dvvC)", boxes: ["dvcC", "dvvC", "dvwC"],
                sideData: ["DOVI configuration record"], holders: Self.containers)
        case .rpu:
            Traits(
                title: "Dolby Vision RPU",
                meaning: "the Dolby Vision RPU of each picture, byte for byte at its time")
        case .hdr10Plus:
            Traits(title: "HDR10+", meaning: "the HDR10+ message of each picture, byte for byte at its time")
        case .captions:
            Traits(
                title: "closed captions",
                meaning: "the CEA-608 and CEA-708 captions of HEVC and H.264 pictures, byte for byte at their times"
            )
        case .colorVolume:
            Traits(
                title: "content color volume", meaning: "the content color volume (cclv), byte for byte",
                boxes: ["cclv"], holders: Self.movies, isCopied: true)
        case .projection:
            Traits(
                title: "360° projection or 3D arrangement",
                meaning: "the projection (sv3d) and the arrangement of two views in a picture (st3d)",
                boxes: ["sv3d", "st3d"], sideData: ["Spherical Mapping", "Stereo 3D"],
                holders: [.mov, .mp4, .fmp4, .matroska])
        case .views:
            Traits(
                title: "description of a second view or layer",
                meaning: "the description of a second view or layer (lhvC, vexu, hfov), byte for byte",
                boxes: ["lhvC", "vexu", "hfov"], holders: Self.movies, isCopied: true)
        case .alpha: Traits(title: "alpha", meaning: "transparency")
        case .levels: Traits(title: "temporal levels", meaning: "temporal levels")
        case .audio:
            Traits(
                title: "sound",
                meaning:
                    "audio packets, byte for byte, their times relative to the pictures to 10 ms, and the language",
                holders: Self.containers)
        case .subtitle:
            Traits(
                title: "subtitles", meaning: "subtitle packets, byte for byte, their times and the language",
                holders: Self.containers)
        case .tracks:
            Traits(
                title: "titles and flags of tracks",
                meaning:
                    "titles of audio and subtitle tracks, whether they are for the hearing or visually impaired, "
                    + "forced, a commentary or dubbed, and which subtitles are shown by default",
                holders: [.mov, .mp4, .fmp4, .matroska])
        case .timecode:
            Traits(title: "timecode", meaning: "the timecode of the first frame", holders: Self.movies)
        case .streams:
            Traits(
                title: "timed metadata, a track of its own",
                meaning: "other streams: timed metadata, more video, data, attachments", holders: Self.movies)
        case .chapters:
            Traits(
                title: "chapters", meaning: "times and titles of chapters",
                holders: [.mov, .mp4, .matroska, .nut])
        case .metadata:
            Traits(
                title: "metadata",
                meaning: "keys and values of the file's metadata, the language of the video",
                holders: [.mov, .mp4, .fmp4, .matroska, .nut])
        case .unknown:
            Traits(
                title: "boxes, user data and side data of unknown types",
                meaning: "which boxes and side data of unknown types there are", holders: [])
        case .pictures:
            Traits(
                title: "samples of pictures",
                meaning: "PSNR and SSIM of each component, and whether each picture is the one of its time")
        }
    }

    /// The name in messages.
    public var title: String { traits.title }
    /// What a receipt compares, in a sentence; nil for what another row's line compares.
    public var meaning: String? { traits.meaning }
    /// The types of its boxes in a sample entry of the video (ISO/IEC 14496-12 8.5.2).
    public var boxes: [String] { traits.boxes }
    /// libavcodec's names of the side data of a stream that are it.
    public var sideData: [String] { traits.sideData }
    /// Whether an output of the format can have it.
    public func isHeld(by format: OutputFormat) -> Bool { traits.holders.contains(format) }

    /// What is done with it in an output.
    public func treatment(in format: OutputFormat) -> Treatment {
        if isHeld(by: format) { return traits.isCopied ? .copied : .kept }
        // An elementary stream has no times, and its RPUs say of which profile they are.
        return [.timestamps, .duration, .dolbyVision].contains(self) ? .none : .named
    }

    /// The rows that a receipt compares, in its order.
    public static let compared = allCases.filter { $0.meaning != nil }

    /// The rows whose boxes an output gets from the source's sample entry as they are.
    private static let carried: [FileContent] = [
        .ambient, .dolbyVision, .colorVolume, .projection, .views,
    ]
    /// The types of boxes of a sample entry that a copy keeps and libavformat's muxer does not write.
    public static let carriedBoxes = Set(carried.flatMap(\.boxes))

    /// Places of boxes in a movie file.
    public enum Place: String, CaseIterable, Hashable, Sendable {
        case file, movie, track
        case sampleEntry = "sample entry"
        case userData = "user data"
    }

    /// The types of boxes whose contents are read or rewritten, or mean nothing in another file.
    public static func known(in place: Place) -> Set<String> {
        switch place {
        case .file:
            [
                "ftyp", "styp", "moov", "mdat", "free", "skip", "wide", "moof", "mfra", "sidx", "ssix", "prft",
                "emsg",
                "pdin", "pnot", "PICT",
            ]
        case .movie:
            [
                "mvhd", "trak", "mvex", "iods", "udta", "meta", "free", "skip", "wide", "prfl", "ctab", "cmov",
                "rmra",
            ]
        case .track: ["tkhd", "edts", "mdia", "tref", "udta", "meta", "tapt", "load", "free", "skip", "wide"]
        case .sampleEntry:
            Set(allCases.flatMap(\.boxes)).union([
                "hvcC", "avcC", "av1C", "vpcC", "vvcC", "esds", "d263", "dvc1", "glbl", "jp2h", "btrt", "gama",
                "chrm",
                "auxi", "ccst", "free", "skip", "wide",
            ])
        case .userData:
            [
                "meta", "name", "hdlr", "loci", "manu", "modl", "cprt", "chpl", "kind", "hnti", "hinf", "WLOC",
                "SelO",
                "AllF", "LOOP", "ptv ", "free", "skip", "wide",
            ]
        }
    }

    /// libavcodec's names of a stream's side data that are read or rewritten, or describe packets alone.
    public static let knownSideData = Set(allCases.flatMap(\.sideData)).union([
        "Palette", "New Extradata", "Param Change", "CPB properties", "Quality stats", "Fallback track",
        "Replay Gain",
        "Audio Service Type", "Encryption initialization data", "MPEGTS Stream ID", "Producer Reference Time",
        "Matroska BlockAdditional", "Skip Samples", "Strings Metadata", "WebVTT ID", "WebVTT Settings",
    ])

    /// The kinds of streams that outputs get, in a sentence.
    public static let copiedStreams =
        "only one video stream, audio, subtitles, timecodes and timed metadata are copied"

    /// The table as rows of text: the name of a receipt's line, the title, and one cell for each format.
    public static var table: [[String]] {
        let formats = OutputFormat.allCases
        let head = ["verify", "contents"] + formats.map(\.title)
        return [head]
            + allCases.map { content in
                [content.line, content.description]
                    + formats.map { content.treatment(in: $0).rawValue }
            }
    }

    /// The name of the receipt's line that compares it.
    public var line: String { meaning == nil ? FileContent.size.rawValue : rawValue }

    /// The title with the types of boxes.
    private var description: String {
        let types = boxes.isEmpty ? "" : " (\(boxes.joined(separator: ", ")))"
        return title + types
    }
}
