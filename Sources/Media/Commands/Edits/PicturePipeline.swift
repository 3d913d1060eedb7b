// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// The steps that a video's pictures pass between their source and the encoder or file that they go to, in this order; a step
/// that nothing asks for is left out.
///
/// `hwctl encode`, `decode` and `verify` share them.
struct PicturePipeline {
    /// The pictures that are kept.
    enum Part {
        case all
        /// Those in a range of time, which begins with the first of them.
        case range(TimeRange)
        case segment(SegmentWork)
        /// Those that are shown at these times, in microseconds.
        case moments([Int64])
    }

    var part = Part.all
    /// What is behind pictures with alpha; nil leaves alpha as it is.
    var background: FlatteningSource.Background?

    /// The pictures of an input that are kept, over the background; their color, size and format are their own.
    func pictures(of input: DecodedInput) throws -> any VideoSource {
        let kept = kept(of: input)
        return try background.map { try FlatteningSource(kept, input.reader.video, $0) } ?? kept
    }

    /// The pictures as RGB.
    ///
    /// - Parameters:
    ///   - converter: converts the frames that this process decodes; nil leaves them.
    ///   - effects: applies effects before; nil for none.
    ///   - viewers: converts HDR frames for viewers; nil leaves them.
    func rgb(
        of input: DecodedInput, _ converter: RGBConverter?, effects: RGBConverter?, viewers: RGBConverter?
    ) throws -> RGBSource {
        RGBSource(try pictures(of: input), converter, effects: effects, viewers: viewers)
    }

    /// The pictures with an encoded video's color, size and rate, and what converts them.
    ///
    /// - Parameters:
    ///   - readerPool: the pool that the reader decodes into; nil where a session decodes.
    ///   - frames: the number of frames; nil where it is unknown.
    func encoded(
        _ input: DecodedInput, as plan: PicturePlan, _ rate: RateSelection, _ daemon: Daemon,
        readerPool: FramePool?, frames: Int?
    ) throws -> (source: any VideoSource, converted: ConvertingSource) {
        let converted = try ConvertingSource(
            rate.before(try pictures(of: input)), input.reader.video, plan, daemon, readerPool: readerPool,
            frames: frames)
        return (rate.after(converted), converted)
    }

    private func kept(of input: DecodedInput) -> any VideoSource {
        switch part {
        case .all: input.source
        case .range(let range): TrimmedSource(input.source, input.reader, range)
        case .segment(let segment): segment.source(input.source)
        case .moments(let times): MomentSource(input.source, input.reader, times)
        }
    }
}

/// The color, size and description of an encoded video, decided once from those of its source.
struct PicturePlan {
    let color: EncodeColor
    let geometry: PictureGeometry
    /// The source's description as the output has it.
    let video: VideoDescription

    /// Decides for a source whose frames have a format.
    ///
    /// - Throws: `unsupported` and `badInput` where the requested output cannot be made from such a source.
    init(_ source: VideoDescription, _ format: PixelFormat, _ parameters: EncodeParameters) throws(MediaError) {
        color = try EncodeColor(source, format, parameters.color)
        try parameters.check(color.format)
        geometry = try PictureGeometry(parameters.picture, source)
        if geometry.filtersLight { try color.checkLight(source) }
        var video = geometry.applied(to: color.applied(to: source))
        if !parameters.keepsAlpha { video.alphaMode = nil }
        self.video = video
    }

    /// What happens to a source's color and size, one line each.
    func summary(_ source: VideoDescription) -> [String] {
        [color.summary(source), geometry.summary].compactMap { $0 }
    }

    /// What the output leaves out because the pictures or their colors are others, one line each.
    func notes(_ source: VideoDescription, _ format: OutputFormat) -> [String] {
        let removed: [(FileContent, Bool, String)] = [
            (
                .projection,
                !source.projection.isEmpty && video.projection.isEmpty
                    || source.stereoMode != nil && video.stereoMode == nil,
                "the picture is cropped or turned"
            ),
            (
                .profile, video.profile == nil && (source.profile != nil || source.profileVaries),
                source.profileVaries ? "not all of its pictures have it" : "the colors are changed"
            ),
        ]
        let lines = removed.filter { $0.1 && $0.0.isHeld(by: format) }.map {
            "left out: the \($0.0.title), because \($0.2)"
        }
        return color.notes(source) + lines
    }

    /// Warnings about an interlaced source, whose color and size are changed as if it were progressive.
    func interlacedWarnings(_ source: VideoDescription) -> [String] {
        [color.interlacedWarning(source), geometry.interlacedWarning(source)].compactMap { $0 }
    }
}
