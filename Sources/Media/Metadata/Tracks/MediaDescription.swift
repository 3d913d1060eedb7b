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
    /// Whether each picture is one field, and two of them are a frame (H.265 E.3.1, `field_seq_flag`).
    package var hasFieldPictures = false
    /// Whether the frames' colors are multiplied by alpha; nil where they have no alpha.
    public var alphaMode: AlphaChannelMode?
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
    /// How the picture is mapped to a sphere and where two views are in it, as boxes of a sample entry (`sv3d`, `st3d`); none
    /// for pictures that are shown as they are.
    package var projection: [Box] = []
    /// Where two views are in the picture, by Matroska's names (`left_right`), which are more than the numbers of `st3d`; nil
    /// for one view.
    package var stereoMode: String?
    /// The ICC profile of the first samples; nil when they have none.
    public var profile: [UInt8]?
    /// Whether later samples have another ICC profile, or none.
    package var profileVaries = false

    /// Describes a stream without an aperture, an ambient viewing environment and Dolby Vision.
    package init(
        streamIndex: Int, codec: String, codecConfiguration: [UInt8], width: Int, height: Int, sourceFormat: String,
        sourceBitDepth: Int, format: PixelFormat, conversion: String?, isInterlaced: Bool,
        fieldDetail: FieldDetail?, color: ColorDescription, averageFrameRate: Rational?, baseFrameRate: Rational?,
        timeBase: Rational, duration: Int64?, frameCount: Int?, sampleAspectRatio: Rational?,
        displayMatrix: [Int32]?, rotation: Double, masteringDisplay: [UInt8]? = nil, contentLight: [UInt8]? = nil
    ) {
        (self.streamIndex, self.codec, self.codecConfiguration) = (streamIndex, codec, codecConfiguration)
        (self.width, self.height, self.format, self.conversion) = (width, height, format, conversion)
        (self.sourceFormat, self.sourceBitDepth) = (sourceFormat, sourceBitDepth)
        (self.isInterlaced, self.fieldDetail, self.color) = (isInterlaced, fieldDetail, color)
        (self.averageFrameRate, self.baseFrameRate) = (averageFrameRate, baseFrameRate)
        (self.timeBase, self.duration, self.frameCount) = (timeBase, duration, frameCount)
        (self.sampleAspectRatio, self.displayMatrix, self.rotation) = (sampleAspectRatio, displayMatrix, rotation)
        (self.masteringDisplay, self.contentLight) = (masteringDisplay, contentLight)
    }

    /// A warning about interlaced video, in one line; nil for progressive video.
    package var interlacedWarning: String? {
        if hasFieldPictures {
            return "warning: each picture of the source is one field: the output's pictures are these fields, with "
                + "half the height of a frame, at twice its rate"
        }
        guard isInterlaced else { return nil }
        let order = fieldDetail.map { $0.isTopFirst ? " (top field first)" : " (bottom field first)" } ?? ""
        return "warning: the source is interlaced\(order): each frame keeps the alternating lines of its two fields"
    }

    /// A warning that an output cannot crop single samples; nil for pictures that need none of that.
    package func croppingNote(_ output: String) -> String? {
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

/// What a track of sound or subtitles is for.
package enum TrackFlag: String, CaseIterable, Hashable, Sendable {
    /// Shown unless another is chosen; of subtitles.
    case shown = "shown by default"
    case forced
    case hearingImpaired = "for the hearing impaired"
    case visualImpaired = "for the visually impaired"
    case commentary, dubbed

    /// The value of a `kind` box with the roles of DASH (ISO/IEC 14496-12 8.10.4, ISO/IEC 23009-1 5.8.5.5), as
    /// libavformat's muxer of .mp4 writes it; nil for what is a flag of the track's header.
    package var role: String? {
        switch self {
        case .shown: nil
        case .forced: "forced-subtitle"
        case .hearingImpaired: "caption"
        case .visualImpaired: "description"
        case .commentary: "commentary"
        case .dubbed: "dub"
        }
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
    /// libavcodec's name of the codec, else the container's four-character code; `unknown` when it has none.
    public let codec: String
    /// The language (ISO 639-2); nil without one.
    public let language: String?
    /// Whether it is a single picture, such as a cover.
    public let isPicture: Bool
    /// Whether it has the titles of the file's chapters.
    package let isChapterTitles: Bool
    /// Whether it has the timecode of the file's first frame.
    package let isTimecode: Bool
    /// Whether it has timed metadata (`mebx`).
    package var isTimedMetadata = false
    /// Whether it belongs to another program than the video, as in a broadcast of several.
    package var isOfOtherProgram = false
    /// Whether its samples are encrypted.
    package var isEncrypted = false
    /// Its title; nil without one.
    package var title: String?
    /// What it is for.
    package var flags: Set<TrackFlag> = []
    /// Audio samples per second, and channels; nil when not known, and for other contents.
    package var sampleRate: Int?
    package var channels: Int?

    /// Describes a stream.
    package init(
        index: Int, content: Content, codec: String, language: String?, isPicture: Bool, isChapterTitles: Bool,
        isTimecode: Bool, isTimedMetadata: Bool = false, sampleRate: Int? = nil, channels: Int? = nil
    ) {
        (self.index, self.content, self.codec, self.language) = (index, content, codec, language)
        (self.isPicture, self.isChapterTitles, self.isTimecode) = (isPicture, isChapterTitles, isTimecode)
        (self.isTimedMetadata, self.sampleRate, self.channels) = (isTimedMetadata, sampleRate, channels)
    }

    /// Whether its packets are text or metadata, which are shown or hold for a time.
    public var isText: Bool { content == .subtitle || isTimedMetadata }

    /// The reason against a stream of another program.
    package static let otherProgram = "it belongs to another program than the video"

    /// `stream 1 (audio, aac)`.
    public var description: String { "stream \(index) (\(content.rawValue), \(codec))" }

    /// What an output that holds only pictures leaves out, one line for each stream.
    ///
    /// - Parameter reason: what the output is, such as `.hevc holds only video`.
    public static func notes(of streams: [OtherStream], because reason: String) -> [String] {
        streams.map { "\($0.description) is not copied: \(reason)" }
    }
}
