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

    /// A row of the table of formats; the properties below say what its columns mean.
    private struct Traits {
        var title: String
        var fileExtension: String
        var muxer: String
        var hasStartCodes = false
        /// Whether it consists of boxes (ISO/IEC 14496-12).
        var hasBoxes = false
        var needsPositiveTimes = false
    }

    private var traits: Traits {
        switch self {
        case .mov:
            Traits(title: ".mov", fileExtension: "mov", muxer: "mov", hasBoxes: true)
        case .mp4:
            Traits(title: ".mp4", fileExtension: "mp4", muxer: "mp4", hasBoxes: true)
        case .matroska:
            Traits(title: "Matroska", fileExtension: "mkv", muxer: "matroska")
        case .mpegts:
            Traits(
                title: "MPEG-TS", fileExtension: "ts", muxer: "mpegts", hasStartCodes: true,
                needsPositiveTimes: true)
        case .nut:
            Traits(
                title: "NUT", fileExtension: "nut", muxer: "nut", hasStartCodes: true, needsPositiveTimes: true)
        case .fmp4:
            Traits(title: "fragmented MP4", fileExtension: "mp4", muxer: "mp4", hasBoxes: true)
        case .hevc: Traits(title: ".hevc", fileExtension: "hevc", muxer: "hevc", hasStartCodes: true)
        }
    }

    /// The extensions of files; a file named .mp4 is never in fragments.
    package static let fileExtensions = allCases.filter { $0 != .fmp4 }.map(\.fileExtension)

    /// The format of a file's extension; nil for an unknown one.
    init?(fileExtension: String) {
        guard let format = Self.allCases.first(where: { $0 != .fmp4 && $0.fileExtension == fileExtension }) else {
            return nil
        }
        self = format
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
            // Pictures have a format of their own, which is no OutputFormat.
            throw OutputPath.unknownExtension(path, known: Self.fileExtensions + ["heic"])
        }
        self = format
    }

    /// The name in messages.
    package var title: String { traits.title }
    /// The extension of its files.
    public var fileExtension: String { traits.fileExtension }
    /// libavformat's name of the muxer.
    package var muxer: String { traits.muxer }

    /// Whether it is a movie file, whose boxes are completed at the end.
    public var isMovie: Bool { self == .mov || self == .mp4 }
    /// Whether it holds nothing but pictures.
    public var isByteStream: Bool { self == .hevc }
    /// Whether start codes precede NAL units (H.265 Annex B), not their lengths.
    package var hasStartCodes: Bool { traits.hasStartCodes }
    /// Whether sample entries are `hvc1`, with all parameter sets (ISO/IEC 14496-15 8.4.1); with libavformat 7 the fragments of
    /// `fmp4` have those of the layers above the base in samples, too, as no `hev1` plays in QuickTime.
    package var isHVC1: Bool { traits.hasBoxes }
    /// Whether it stores a display matrix.
    package var storesRotation: Bool { FileContent.rotation.isHeld(by: self) }
    /// Whether it stores chapters.
    package var storesChapters: Bool { FileContent.chapters.isHeld(by: self) }
    /// Whether it stores decoding times, and none below zero.
    package var needsPositiveTimes: Bool { traits.needsPositiveTimes }
}
