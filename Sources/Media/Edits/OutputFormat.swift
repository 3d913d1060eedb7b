// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDMetadata

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
    package static let byExtension: [(fileExtension: String, format: OutputFormat)] = [
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
    package var title: String {
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
    package var muxer: String { self == .fmp4 ? "mp4" : rawValue }

    /// Whether it is a movie file, whose boxes are completed at the end.
    public var isMovie: Bool { self == .mov || self == .mp4 }
    /// Whether it holds nothing but pictures.
    public var isByteStream: Bool { self == .hevc }
    /// Whether NAL units are behind start codes, and not behind their lengths.
    package var hasStartCodes: Bool { [.mpegts, .nut, .hevc].contains(self) }
    /// Whether sample entries are `hvc1`, with all parameter sets (ISO/IEC 14496-15 8.4.1).
    package var isHVC1: Bool { isMovie || self == .fmp4 }
    /// Whether it stores a display matrix.
    package var storesRotation: Bool { isHVC1 }
    /// Whether it stores chapters.
    package var storesChapters: Bool { isMovie || self == .matroska || self == .nut }
    /// Whether it stores the file's metadata.
    package var storesMetadata: Bool { self != .mpegts && self != .hevc }
    /// Whether decoding times are stored, and cannot be negative.
    package var needsPositiveTimes: Bool { self == .mpegts || self == .nut }
}
