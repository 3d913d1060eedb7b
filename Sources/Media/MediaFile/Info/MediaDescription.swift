// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDBoxes
public import HWDModel

/// The description of the video stream that a reader decodes.
public struct VideoDescription: Hashable, Sendable {
    /// The stream's number in its file.
    public var streamIndex: Int
    /// libavcodec's name of the codec (`h264`, `hevc`, `rawvideo`, …).
    public var codec: String
    /// The codec's configuration record (`hvcC`, `avcC`, …); empty when the file has none.
    public var codecConfiguration: [UInt8]
    /// The NAL units before the first picture where `codecConfiguration` is the start of a byte stream with an alpha layer;
    /// else empty.
    public var leadingUnits: [[UInt8]] = []
    /// Width of the picture after cropping, in samples.
    public var width: Int
    /// Height of the picture after cropping, in rows.
    public var height: Int
    /// libavutil's name of the decoder's pixel format (`yuv420p10le`).
    public var sourceFormat: String
    /// Bits per sample of the source.
    public var sourceBitDepth: Int
    /// The format of the frames.
    public var format: PixelFormat
    /// A one-line description of the conversion to `format`; nil without one.
    public var conversion: String?
    /// Whether frames hold two fields, whose lines alternate.
    public var isInterlaced: Bool
    /// The order of the fields, as the file declares it; nil where it is not known.
    public var fieldDetail: FieldDetail?
    /// Whether the frames' colors are multiplied by alpha; nil where they have no alpha.
    public var alphaMode: AlphaConversion.Mode?
    /// The color of the frames.
    public var color: ColorDescription
    /// Frames per second over the whole stream; nil when not known.
    public var averageFrameRate: Rational?
    /// The lowest rate that represents every timestamp exactly (libavformat's `r_frame_rate`); nil when not known.
    public var baseFrameRate: Rational?
    /// Seconds per tick of `pts` and `duration`.
    public var timeBase: Rational
    /// The stream's duration in ticks; nil when not known.
    public var duration: Int64?
    /// The number of frames that the file declares; nil when it does not.
    public var frameCount: Int?
    /// Width over height of one sample; nil when not known.
    public var sampleAspectRatio: Rational?
    /// The container's display matrix, row by row, in the layout of ISO/IEC 14496-12 8.3.2; nil when there is none.
    public var displayMatrix: [Int32]?
    /// Clockwise rotation by a player in degrees, 0 ..< 360, from `displayMatrix`.
    public var rotation: Double
    /// The part of the picture that is displayed (`clap`); nil when all of it is.
    ///
    /// Frames hold the whole picture.
    public var cleanAperture: CleanAperture?
    /// Mastering display color volume, 24 bytes as in `mdcv` and SEI message 137 (H.265 D.2.28); nil when not known.
    public var masteringDisplay: [UInt8]?
    /// Content light levels, 4 bytes as in `clli` and SEI message 144 (H.265 D.2.35); nil when not known.
    public var contentLight: [UInt8]?
    /// Ambient viewing environment, 8 bytes as in `amve` and SEI message 148 (H.265 D.2.39); nil when not known.
    public var ambientViewing: [UInt8]?
    /// Dolby Vision's configuration record, 24 bytes as in `dvcC`, `dvvC` and `dvwC`; nil when the file has none.
    public var dolbyVision: [UInt8]?

    /// A warning about interlaced video, in one line; nil for progressive video.
    var interlacedWarning: String? {
        guard isInterlaced else { return nil }
        let order = fieldDetail.map { $0.isTopFirst ? " (top field first)" : " (bottom field first)" } ?? ""
        return "warning: the source is interlaced\(order): each frame keeps the alternating lines of its two fields"
    }

    /// A warning that an output cannot crop single samples; nil for pictures that need none of that.
    func croppingNote(_ output: String) -> String? {
        guard width % 2 != 0 || height % 2 != 0 || cleanAperture != nil else { return nil }
        return "warning: \(output) cannot crop single samples: it shows "
            + "\((width + 1) / 2 * 2)x\((height + 1) / 2 * 2), not \(shownSize)"
    }

    /// The displayed size, as `853x480`.
    public var shownSize: String { "\(shown.width)x\(shown.height)" }

    /// The displayed size in samples and rows.
    public var shown: (width: Int, height: Int) {
        guard let cleanAperture else { return (width, height) }
        return (Int(cleanAperture.width.value.rounded()), Int(cleanAperture.height.value.rounded()))
    }
}

/// A stream of the input other than the video that is decoded.
public struct OtherStream: Hashable, Sendable {
    /// The kind of a stream's contents.
    public enum Content: String, Hashable, Sendable {
        case video, audio, subtitle, data, attachment
    }

    /// The stream's number in its file.
    public let index: Int
    /// The kind of its contents.
    public let content: Content
    /// libavcodec's name of the codec; `unknown` when it has none.
    public let codec: String
    /// The language (ISO 639-2); nil without one.
    public let language: String?
    /// Whether it is a single picture, such as a cover.
    public let isPicture: Bool
    /// Whether it has the titles of the file's chapters.
    let isChapterTitles: Bool
    /// Whether it has the timecode of the file's first frame.
    let isTimecode: Bool
    /// Whether it has timed metadata (`mebx`).
    var isTimedMetadata = false
    /// Audio samples per second, and channels; nil when not known, and for other contents.
    var sampleRate: Int?
    var channels: Int?

    /// Whether its packets are text or metadata, which are shown or hold for a time.
    public var isText: Bool { content == .subtitle || isTimedMetadata }

    /// `stream 1 (audio, aac)`.
    public var description: String { "stream \(index) (\(content.rawValue), \(codec))" }

    /// What an output that holds only pictures leaves out, one line for each stream.
    ///
    /// - Parameter reason: what the output is, such as `.hevc holds only video`.
    public static func notes(of streams: [OtherStream], because reason: String) -> [String] {
        streams.map { "\($0.description) is not copied: \(reason)" }
    }
}

/// Counters of a reader's decoding.
public struct DecodeReport: Hashable, Sendable {
    /// Frames returned.
    public var frames = 0
    /// Of these, frames that were decoded directly into the caller's `FrameMemory`.
    public var directFrames = 0
    /// Errors that the demuxer and the decoder reported; pictures in which they concealed damage are returned too.
    public var errors = 0
    /// The position and text of the first error, in one line.
    public var firstError: String?
    /// Frames whose timestamp did not exceed its predecessor's, and was set one tick after it.
    public var repairedTimestamps = 0
    /// Jumps of the file's timestamps that were removed, as where two MPEG-TS files are concatenated.
    public var discontinuities = 0

    /// Frames with HDR metadata or captions that cannot be written, such as values outside of their range.
    public var incompleteMetadata = 0

    /// Pictures whose size or format differs from the first one's.
    public var changes = FormatChanges()

    /// All counters at 0.
    public init() {}
}
