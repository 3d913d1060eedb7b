// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// What is known of the video stream a reader decodes.
public struct VideoDescription: Hashable, Sendable {
    /// The stream's number in its file.
    public var streamIndex: Int
    /// The codec's name as libavcodec spells it (`h264`, `hevc`, `rawvideo`, …).
    public var codec: String
    /// The codec's own configuration record (`hvcC`, `avcC`, …); empty when the file has none.
    public var codecConfiguration: [UInt8]
    /// The NAL units before the first picture where `codecConfiguration` is the start of a byte stream with an alpha layer;
    /// else empty.
    public var leadingUnits: [[UInt8]] = []
    /// Samples a row of the picture as it is shown, cropping applied.
    public var width: Int
    /// Rows of the picture as it is shown, cropping applied.
    public var height: Int
    /// The decoder's pixel format as libavutil names it (`yuv420p10le`).
    public var sourceFormat: String
    /// Bits of a sample of the source.
    public var sourceBitDepth: Int
    /// The format frames are handed out in.
    public var format: PixelFormat
    /// How the source's pixels become `format`, in one line; nil when they are handed out as they are.
    public var conversion: String?
    /// Whether the file says that its frames are pairs of fields; they are handed out woven together, as stored.
    public var isInterlaced: Bool
    /// Whether the colours of the frames that are handed out are multiplied by their alpha; nil where they have none.
    public var alphaMode: AlphaConversion.Mode?
    /// The colour of the frames that are handed out.
    public var color: ColorDescription
    /// Frames per second over the whole stream; nil when not known.
    public var averageFrameRate: Rational?
    /// The lowest rate that can give every timestamp exactly (libavformat's `r_frame_rate`); nil when not known.
    public var baseFrameRate: Rational?
    /// Seconds a tick of `pts` and `duration` stands for.
    public var timeBase: Rational
    /// The stream's length in ticks; nil when not known.
    public var duration: Int64?
    /// How many frames the file says it has; nil when it does not say.
    public var frameCount: Int?
    /// Width over height of one sample; nil when not told.
    public var sampleAspectRatio: Rational?
    /// The container's display matrix, row by row, as ISO/IEC 14496-12 8.5.2 lays it out; nil when there is none.
    public var displayMatrix: [Int32]?
    /// Degrees clockwise that a player turns the picture by, 0 ..< 360, from `displayMatrix`.
    public var rotation: Double
    /// What of the picture is to be seen, where the file says that it is not all (`clap`); frames hold all of it.
    public var cleanAperture: CleanAperture?
    /// The display it was mastered on, 24 bytes as in an `mdcv` box and SEI message 137 (H.265 D.2.28); nil when not told.
    public var masteringDisplay: [UInt8]?
    /// Content light levels, 4 bytes as in a `clli` box and SEI message 144 (H.265 D.2.35); nil when not told.
    public var contentLight: [UInt8]?

    /// `853x480`, of what is to be seen.
    public var shownSize: String { "\(shown.width)x\(shown.height)" }

    /// Samples a row and rows of what is to be seen.
    public var shown: (width: Int, height: Int) {
        guard let cleanAperture else { return (width, height) }
        return (Int(cleanAperture.width.value.rounded()), Int(cleanAperture.height.value.rounded()))
    }
}

/// A stream of the input other than the video that is decoded.
public struct OtherStream: Hashable, Sendable {
    /// What a stream carries.
    public enum Content: String, Hashable, Sendable {
        case video, audio, subtitle, data, attachment
    }

    /// The stream's number in its file.
    public let index: Int
    /// What it carries.
    public let content: Content
    /// The codec's name as libavcodec spells it; `unknown` when libavcodec has none.
    public let codec: String
    /// The language the file gives (ISO 639-2); nil when it gives none.
    public let language: String?
    /// Whether it is a picture, such as a cover, and no video.
    public let isPicture: Bool
    /// Whether it holds the titles of the file's chapters.
    let isChapterTitles: Bool
    /// Whether it holds the timecode of the file's first frame.
    let isTimecode: Bool

    /// `stream 1 (audio, aac)`.
    public var description: String { "stream \(index) (\(content.rawValue), \(codec))" }
}

/// How decoding went so far.
public struct DecodeReport: Hashable, Sendable {
    /// Frames handed out.
    public var frames = 0
    /// Of these, frames that were decoded straight into the caller's `FrameMemory`.
    public var directFrames = 0
    /// Damage the demuxer and the decoder told of; pictures they could conceal it in are handed out all the same.
    public var errors = 0
    /// Where and how decoding first failed, in one line.
    public var firstError: String?
    /// Frames whose timestamp was not after the one before, and was set one tick after it.
    public var repairedTimestamps = 0

    /// Nothing decoded yet.
    public init() {}
}
