// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDBoxes
public import HWDModel

/// The video track of a `MediaWriter`.
public struct VideoTrack: Hashable, Sendable {
    /// Displayed width in samples; the stream may code one more, never fewer.
    public var width: Int
    /// Displayed height in rows; the stream may code one more, never fewer.
    public var height: Int
    /// The HEVCDecoderConfigurationRecord (ISO/IEC 14496-15 8.3.3.1), for NAL unit lengths of 4 bytes.
    public var hvcC: [UInt8]
    /// Seconds per tick of the packets' timestamps.
    public var timeBase: Rational
    /// Written as `colr` where any of its code points is specified.
    public var color: ColorDescription
    /// Frames per second, for the container's metadata; nil when not known.
    public var frameRate: Rational?
    /// Width over height of one sample, written as `pasp`; nil writes none.
    public var sampleAspectRatio: Rational?
    /// The display matrix of the track header (ISO/IEC 14496-12 8.3.2); nil is the identity.
    public var displayMatrix: [Int32]?
    /// The displayed part of the picture; nil is its first `width`×`height` samples.
    public var cleanAperture: CleanAperture?
    /// The body of an `mdcv` box, the payload of SEI message 137 (H.265 D.2.28); nil writes none.
    public var masteringDisplay: [UInt8]?
    /// The body of a `clli` box, the payload of SEI message 144 (H.265 D.2.35); nil writes none.
    public var contentLight: [UInt8]?
    /// The body of an `amve` box, the payload of SEI message 148 (H.265 D.2.39); nil writes none.
    public var ambientViewing: [UInt8]?
    /// The body of a `dvcC`, `dvvC` or `dvwC` box, Dolby Vision's 24-byte configuration record; nil writes none.
    public var dolbyVision: [UInt8]?

    /// How the picture is mapped to a sphere and where two views are in it, as boxes of a sample entry (`sv3d`, `st3d`).
    package var projection: [Box] = []
    /// Where two views are in the picture, by Matroska's names; nil for one view.
    package var stereoMode: String?
    /// The ICC profile of the samples, written as `colr`; nil writes none.
    public var profile: [UInt8]?

    /// Whether frames hold two fields, whose lines alternate.
    public var isInterlaced = false
    /// The order of the fields, written as `fiel`; nil where it is not known.
    public var fieldDetail: FieldDetail?

    /// Whether the samples are those of the source, so that boxes of its sample entry still apply (`dvvC`, `amve`, …).
    public var isCopy = false

    /// Describes a track.
    public init(
        width: Int, height: Int, hvcC: [UInt8], timeBase: Rational, color: ColorDescription = ColorDescription(),
        frameRate: Rational? = nil, sampleAspectRatio: Rational? = nil, displayMatrix: [Int32]? = nil
    ) {
        self.width = width
        self.height = height
        self.hvcC = hvcC
        self.timeBase = timeBase
        self.color = color
        self.frameRate = frameRate
        self.sampleAspectRatio = sampleAspectRatio
        self.displayMatrix = displayMatrix
    }

    /// The track for a reader's video: same time base, color, aspect ratio, rotation and HDR metadata, Dolby Vision's record
    /// included.
    public init(_ video: VideoDescription, hvcC: [UInt8]) {
        self.init(
            width: video.width, height: video.height, hvcC: hvcC, timeBase: video.timeBase, color: video.color,
            frameRate: video.averageFrameRate ?? video.baseFrameRate, sampleAspectRatio: video.sampleAspectRatio,
            displayMatrix: video.displayMatrix)
        cleanAperture = video.cleanAperture
        masteringDisplay = video.masteringDisplay
        contentLight = video.contentLight
        (ambientViewing, dolbyVision) = (video.ambientViewing, video.dolbyVision)
        (projection, stereoMode, profile) = (video.projection, video.stereoMode, video.profile)
        (isInterlaced, fieldDetail) = (video.isInterlaced, video.fieldDetail)
    }
}
