// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDColor
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel

/// One run of `hwctl decode`: file → session → frames → file.
final class DecodeJob {
    /// What to decode, and how.
    struct Request {
        var input: String
        var output: String
        /// Whether files that have the output's names are replaced.
        var replaces = true
        var specification: [PropertyKey: PropertyValue] = [:]
        /// The session's properties: the RGB it converts to.
        var properties: [PropertyKey: PropertyValue] = [:]
        /// The format to write; nil is planar in the stream's bit depth.
        var format: PixelFormat?
        /// How colors relate to alpha in pictures that are written as RGBA.
        var alphaMode = AlphaChannelMode.straight
        /// The color that pictures with alpha are composited over; nil keeps alpha.
        var background: BackgroundCompositor.RGB?
        /// Whether pictures are neither tone-mapped nor turned.
        var keepsColor = false
        /// Whether pictures are mapped by their RPUs.
        var appliesRPU = false
        var effects = EffectList()
        /// The rate of pictures and raw streams.
        var frameRate: Rational?
        var maxLevel: Int?
        /// The times of single pictures, in microseconds; empty for all pictures.
        var times: [Int64] = []
        var keepsPartial = false
        var json = false
        /// Reported as the reason for software instead of the daemon's, after hardware failed in a run before.
        var fallbackReason: String?

        /// Whether the input can be read and the output written again.
        var canRepeat: Bool { input != "-" && output != "-" }
    }

    let request: Request
    /// The daemon, which is looked for once.
    private var found: Daemon?

    init(_ request: Request) { self.request = request }

    private func daemon() throws -> Daemon {
        if let found { return found }
        let daemon = try SessionRequest.findDaemon(beginsAgain: request.canRepeat)
        found = daemon
        return daemon
    }

    func run(_ interruption: Interruption) throws {
        // Before the input: an output that cannot be written is reported before anything is decoded.
        let writer = try FrameWriter(path: request.output, inputs: [request.input], replaces: request.replaces)
        let reader = try MediaReader(path: request.input, options: readerOptions)
        interruption.onSignal { reader.cancel() }
        let format = outputFormat(reader.video, writer)
        let input = try open(reader, format.target) { interruption.isSet }
        let early = reader.levels?.warning
        reader.announce(
            reader.warnings
                + [
                    alphaNote(input, format.target), depthNote(reader.video, format.target),
                    turnNote(reader.video, format), fieldNote(reader.video, format, writer),
                    writer.colorNote(reader.video.color, width: reader.video.width, height: reader.video.height),
                ].compactMap { $0 } + soundNotes(reader, writer))

        var progress = Progress(total: frameCount(reader.video))
        defer { progress.clear() }
        let effects = try effects(input, format.target)
        let converter = effects == nil ? try converter(input, format.target) : nil
        let mapper = mapper(reader.video, format)
        let pipeline = PicturePipeline(
            part: request.times.isEmpty ? .all : .moments(request.times), background: background)
        let output = PictureOutput(writer, format, reader.video)
        var rate = RateCheck(reader, isUsed: writer.isY4M)
        let (earlyEnd, alphaMode) = try decode(
            try pipeline.rgb(of: input, converter, effects: effects, viewers: mapper), output, &rate, &progress,
            interruption)
        var properties = try input.session?.session.copyProperties() ?? converter?.properties ?? [:]
        for own in [effects, mapper] { properties.merge(own?.properties ?? [:]) { $1 } }
        input.session?.session.invalidate()
        try writer.finish()
        let seconds = progress.seconds
        progress.clear()
        try DecodeSummary(
            DecodeSummary.Outcome(
                request: request, input: input, properties: properties, format: format.written, writer: writer,
                alphaMode: alphaMode, rate: rate, earlyLevelWarning: early, seconds: seconds, earlyEnd: earlyEnd)
        ).report(json: request.json)
        if let earlyEnd { throw earlyEnd.failure(output: request.output) }
    }

    /// The number of pictures to write; nil where it is unknown.
    private func frameCount(_ video: VideoDescription) -> Int? {
        request.times.isEmpty ? video.frameCount : request.times.count
    }

    private var readerOptions: MediaReader.Options {
        var options = MediaReader.Options()
        options.decoding = .daemonIfPossible
        options.frameRate = request.frameRate
        options.maxLevel = request.maxLevel
        options.start = request.times.min()
        if request.background != nil || request.format?.hasAlpha ?? false {
            options.alpha = AlphaConversion(source: .straight, target: .straight)
            options.isAlphaOptional = true
        }
        return options
    }

    /// The planar format of a video's own bit depth.
    private func native(_ video: VideoDescription) -> PixelFormat { video.format.bitDepth > 8 ? .i010 : .yu12 }

    private func outputFormat(_ video: VideoDescription, _ writer: FrameWriter) -> PictureOutput.Format {
        var native = native(video)
        // Sessions map pictures that become RGB.
        if request.appliesRPU { native = .rgba16f }
        return PictureOutput.Format(
            target: request.background == nil ? request.format ?? native : .yuva, alphaMode: request.alphaMode,
            isFlattened: request.background != nil, isForViewers: writer.isPNG && !request.keepsColor)
    }

    /// What is behind pictures with alpha; nil keeps alpha.
    private var background: FlatteningSource.Background? {
        request.background.map { rgb in
            FlatteningSource.Background(mode: .straight) { color, _, height, isPremultiplied in
                BackgroundCompositor(rgb, color: color, height: height, isPremultiplied: isPremultiplied)
            }
        }
    }

    /// Creates the session, or checks that this process can decode to `target`.
    private func open(
        _ reader: MediaReader, _ target: PixelFormat, isInterrupted: @escaping () -> Bool
    ) throws -> DecodedInput {
        let codec = reader.video.codec
        if reader.decodesInProcess, request.specification[.requireHardwareDecoder] == .bool(true) {
            throw CommandFailure(.unavailable, "hardware is required, but \(codec) is decoded in this process")
        }
        var properties = request.properties
        // Tone mapping needs colors that no smaller gamut has cut off.
        if request.appliesRPU, request.format == nil { properties[.destinationColorPrimaries] = .int(9) }
        let input = try DecodedInput(
            reader,
            SessionSource.Request(
                specification: request.specification,
                pixelFormat: request.effects.isEmpty ? target : native(reader.video), properties: properties,
                // Before single pictures others are decoded.
                frames: request.times.isEmpty ? reader.video.frameCount : nil),
            daemon: daemon, isInterrupted: isInterrupted)
        guard !request.appliesRPU || input.session != nil else {
            throw CommandFailure(
                .unavailable, "RPUs are applied by the daemon, but this kind of \(codec) is decoded in this process"
            )
        }
        return input
    }

    /// What converts the frames of this process to RGB; nil where a session decodes, or nothing does.
    private func converter(_ input: DecodedInput, _ target: PixelFormat) throws -> RGBConverter? {
        guard input.session == nil, !target.isYCbCr else { return nil }
        let converter = RGBConverter(
            daemon, input.reader.video,
            RGBConverter.Target(
                format: target, alphaMode: request.alphaMode, properties: request.properties,
                frames: frameCount(input.reader.video)))
        try converter.open()
        return converter
    }

    /// What applies the effects to frames in the stream's own format; nil for none.
    private func effects(_ input: DecodedInput, _ target: PixelFormat) throws -> RGBConverter? {
        let video = input.reader.video
        guard let effects = try EffectRequest.of(request.effects) else { return nil }
        guard video.alphaMode == nil, video.alphaLayerMode == nil || !target.hasAlpha else {
            throw MediaError(.unsupported, "\(request.input): --effect is not possible for frames with alpha")
        }
        let signal = try SignalDescription(video.color, width: video.width, height: video.height)
        let converter = RGBConverter(
            daemon, video,
            RGBConverter.Target(
                format: target, alphaMode: request.alphaMode, properties: request.properties, effects: effects,
                signal: target.isYCbCr ? signal : nil, frames: frameCount(video)))
        try converter.open()
        return converter
    }

    /// What tone-maps HDR pictures for viewers; nil where pictures are not for viewers, or have alpha.
    private func mapper(_ video: VideoDescription, _ format: PictureOutput.Format) -> RGBConverter? {
        guard format.isForViewers, !format.target.hasAlpha || request.appliesRPU else { return nil }
        return RGBConverter(
            daemon, video,
            RGBConverter.Target(
                format: .rgba8, alphaMode: .straight, mapsTones: true, frames: frameCount(video)))
    }

    /// A note about pictures that viewers show in another orientation.
    private func turnNote(_ video: VideoDescription, _ format: PictureOutput.Format) -> String? {
        guard format.isForViewers, PictureOrientation(displayMatrix: video.displayMatrix) == nil else { return nil }
        return
            "the picture is not turned by its display matrix, which is no quarter turn (\(video.rotation) degrees)"
    }

    /// A warning about fields, whose chroma is mixed where 4:2:0 becomes RGB.
    private func fieldNote(
        _ video: VideoDescription, _ format: PictureOutput.Format, _ writer: FrameWriter
    ) -> String? {
        guard video.isInterlaced, writer.isPNG || !format.target.isYCbCr else { return nil }
        return "warning: the colors of interlaced frames are converted as if the frames were progressive"
    }

    /// Writes the frames; returns why the input ended early, and the alpha mode of the first frame with alpha.
    private func decode(
        _ source: any VideoSource, _ output: PictureOutput, _ rate: inout RateCheck?, _ progress: inout Progress,
        _ interruption: Interruption
    ) throws -> (EarlyEnd?, AlphaChannelMode?) {
        let writer = output.writer
        var alphaMode: AlphaChannelMode?
        var earlyEnd: EarlyEnd?
        do {
            while !writer.isFull, let item = try source.next() {
                if interruption.isSet { throw CommandFailure.interrupted }
                guard case .frame(let frame) = item else { continue }
                alphaMode = alphaMode ?? frame.alphaMode
                rate?.add(frame.pts)
                try output.write(frame)
                try frame.release()
                progress.update(done: writer.frames)
            }
        } catch let error as MediaError {
            earlyEnd = EarlyEnd(error, keepsPartial: request.keepsPartial, frames: writer.frames)
            guard earlyEnd != nil else { throw error }
        }
        guard writer.frames > 0 else { throw MediaError(.badInput, "\(request.input) has no frames") }
        return (earlyEnd, alphaMode)
    }

    /// A note about alpha that is missing or left out, where that may be unexpected.
    private func alphaNote(_ input: DecodedInput, _ target: PixelFormat) -> String? {
        let video = input.reader.video
        if video.alphaMode != nil { return nil }
        if target == .yuva, video.alphaLayerMode == nil {
            return "\(request.input) has no alpha: every picture is opaque"
        }
        if request.appliesRPU, request.format == nil { return nil }
        if target.hasAlpha, input.session == nil, video.alphaLayerMode != nil {
            return "the alpha layer is left out: only the daemon decodes it"
        }
        return !target.hasAlpha && video.alphaLayerMode != nil
            ? "the alpha layer is left out; --format yuva keeps it, --background composites it over a color" : nil
    }

    /// Notes about sound, which files of frames do not hold; pictures are not expected to.
    private func soundNotes(_ reader: MediaReader, _ writer: FrameWriter) -> [String] {
        guard !writer.isPNG else { return [] }
        return OtherStream.notes(
            of: reader.otherStreams.filter { $0.content == .audio },
            because: "\(writer.isY4M ? "Y4M holds" : "raw frames hold") only pictures")
    }

    private func depthNote(_ video: VideoDescription, _ target: PixelFormat) -> String? {
        let (source, written) = (video.format.bitDepth, target.bitDepth)
        return written < source ? "\(source) bits reduced to \(written), as requested" : nil
    }
}

extension FrameWriter {
    /// A note about the color of frames that Y4M cannot describe, and that readers would take for another one; nil otherwise.
    func colorNote(_ color: ColorDescription, width: Int, height: Int) -> String? {
        var plain = color
        (plain.primaries, plain.transfer, plain.matrix) =
            (ColorDescription.unspecified, ColorDescription.unspecified, ColorDescription.unspecified)
        guard isY4M, color != plain else { return nil }
        let signals = [color, plain].map { try? SignalDescription($0, width: width, height: height) }
        guard signals[0] == nil || signals[0] != signals[1] else { return nil }
        return "the color tags (\(color.name)) are not written: Y4M holds none"
    }
}
