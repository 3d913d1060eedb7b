// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV

/// A format that `MediaWriter` writes.
public enum OutputFormat: String, CaseIterable, Hashable, Sendable {
    /// Movie files, whose boxes are completed and moved to the front at the end.
    case mov, mp4
    /// Containers that are written from the beginning to the end, so that they can be on a pipe too.
    case matroska, mpegts, nut
    /// An .mp4 in fragments, for pipes.
    case fmp4
    /// A byte stream of HEVC alone (H.265 Annex B).
    case hevc

    /// The formats of files by their extensions.
    static let byExtension: [(fileExtension: String, format: OutputFormat)] = [
        ("mov", .mov), ("mp4", .mp4), ("mkv", .matroska), ("ts", .mpegts), ("nut", .nut), ("hevc", .hevc),
    ]

    /// The format of a file's extension; nil for an unknown one.
    init?(fileExtension: String) {
        guard let entry = Self.byExtension.first(where: { $0.fileExtension == fileExtension }) else { return nil }
        self = entry.format
    }

    /// The format of an output: by the extension of its name, on standard output `stream`, or HEVC where that is nil.
    ///
    /// - Throws: `usage` for an unknown extension, and for a URL.
    public init(path: String, stream: OutputFormat? = nil) throws(MediaError) {
        guard path != "-" else {
            self = stream ?? .hevc
            return
        }
        guard !OutputPath.isURL(path) else {
            throw MediaError(
                .usage,
                "URLs are not opened: use hwctl encode INPUT - --to mpegts | ffmpeg -i - -c copy -f FORMAT '\(path)'"
            )
        }
        guard let format = OutputFormat(fileExtension: OutputPath.fileExtension(path)) else {
            throw OutputPath.unknownExtension(path, known: Self.byExtension.map(\.fileExtension))
        }
        self = format
    }

    /// The name in messages.
    var title: String {
        switch self {
        case .mov: ".mov"
        case .mp4: ".mp4"
        case .matroska: "Matroska"
        case .mpegts: "MPEG-TS"
        case .nut: "NUT"
        case .fmp4: "fragmented MP4"
        case .hevc: ".hevc"
        }
    }

    /// The extension of its files.
    public var fileExtension: String { Self.byExtension.first { $0.format == self }?.fileExtension ?? "mp4" }

    /// libavformat's name of the muxer.
    var muxer: String { self == .fmp4 ? "mp4" : rawValue }

    /// Whether it is a movie file, whose boxes are completed at the end.
    public var isMovie: Bool { self == .mov || self == .mp4 }
    /// Whether it holds nothing but pictures.
    public var isByteStream: Bool { self == .hevc }
    /// Whether NAL units are behind start codes, and not behind their lengths.
    var hasStartCodes: Bool { [.mpegts, .nut, .hevc].contains(self) }
    /// Whether sample entries are `hvc1`, with all parameter sets (ISO/IEC 14496-15 8.4.1).
    var isHVC1: Bool { isMovie || self == .fmp4 }
    /// Whether it stores a display matrix.
    var storesRotation: Bool { isHVC1 }
    /// Whether it stores chapters.
    var storesChapters: Bool { isMovie || self == .matroska || self == .nut }
    /// Whether it stores the file's metadata.
    var storesMetadata: Bool { self != .mpegts && self != .hevc }
    /// Whether decoding times are stored, and cannot be negative.
    var needsPositiveTimes: Bool { self == .mpegts || self == .nut }

    /// Whether a reader can do with what libavformat's muxer writes of a codec: MPEG-TS's writes private data of any codec,
    /// and NUT has no block sizes, which decoders such as WMA's need.
    func isKnown(_ codec: AVCodecID) -> Bool {
        switch self {
        case .mpegts: Self.codecsOfMPEGTS.contains(codec.rawValue)
        case .nut: Self.codecsOfNUT.contains(codec.rawValue) || Self.isPCM(codec)
        case .mov, .mp4, .matroska, .fmp4, .hevc: true
        }
    }

    private static func isPCM(_ codec: AVCodecID) -> Bool {
        (AV_CODEC_ID_PCM_S16LE.rawValue..<AV_CODEC_ID_ADPCM_IMA_QT.rawValue).contains(codec.rawValue)
    }

    /// The sound and text that decoders read without a block size.
    private static let codecsOfNUT: Set<UInt32> = Set(
        [
            AV_CODEC_ID_AAC, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3, AV_CODEC_ID_DTS,
            AV_CODEC_ID_TRUEHD, AV_CODEC_ID_FLAC, AV_CODEC_ID_ALAC, AV_CODEC_ID_VORBIS, AV_CODEC_ID_OPUS,
            AV_CODEC_ID_TEXT, AV_CODEC_ID_ASS, AV_CODEC_ID_SSA, AV_CODEC_ID_DVD_SUBTITLE, AV_CODEC_ID_DVB_SUBTITLE,
            AV_CODEC_ID_DVB_TELETEXT,
        ].map(\.rawValue))

    /// Whether the muxer takes a codec.
    func takes(_ codec: AVCodecID) -> Bool {
        guard isKnown(codec), self != .mpegts else { return isKnown(codec) }
        guard let description = av_guess_format(muxer, nil, nil) else { return false }
        return avformat_query_codec(description, codec, FF_COMPLIANCE_NORMAL) == 1
    }

    /// The sound and text that ISO/IEC 13818-1, ETSI TS 101 154 and ETSI EN 300 468 have stream types and descriptors for.
    private static let codecsOfMPEGTS: Set<UInt32> = Set(
        [
            AV_CODEC_ID_AAC, AV_CODEC_ID_AAC_LATM, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3,
            AV_CODEC_ID_EAC3, AV_CODEC_ID_DTS, AV_CODEC_ID_TRUEHD, AV_CODEC_ID_OPUS, AV_CODEC_ID_DVB_SUBTITLE,
            AV_CODEC_ID_DVB_TELETEXT,
        ].map(\.rawValue))
}
