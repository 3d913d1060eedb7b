// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
internal import HWDComparison
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWDSystem
internal import HWDWire

/// One run of `hwctl encode`: file → frames → session → packets → file.
final class EncodeJob {
    /// What to encode, and how.
    struct Request {
        var file: FilePair
        /// The format on standard output; nil is a byte stream.
        var stream: OutputFormat?
        /// Whether the output may replace a file.
        var replaces = true
        var parameters: EncodeParameters
        /// The rate of pictures and raw streams.
        var frameRate: Rational?
        var maxLevel: Int?
        var edits = FileEdits()
        var keepsPartial = false
        /// Prints the result, or keeps it.
        var report: (any FileSummary) throws -> Void
        /// What the options change, where the output is verified; nil where it is not.
        var asked: AskedChanges?
        /// The segment that alone is encoded; nil encodes all of the input, or `edits.range`.
        var segment: SegmentWork?

        /// Whether all of the input is encoded.
        var isWhole: Bool { segment == nil && edits.range == nil }
    }

    private let request: Request
    private var input: String { request.file.input }
    private var output: String { request.file.output }
    private var parameters: EncodeParameters

    /// Whether the input's session was created with a hardware decoder.
    private(set) var decodesInHardware = false
    /// The session; nil before it is created.
    private var session: CompressionSession?
    /// Whether the frames are coded in hardware at present.
    var encodesInHardware: Bool { session?.created.usingHardware ?? false }

    init(_ request: Request) { (self.request, parameters) = (request, request.parameters) }

    func run(_ interruption: Interruption) throws {
        let reader = try MediaReader(path: input, options: try readerOptions())
        interruption.onSignal { reader.cancel() }
        try request.edits.range?.check(reader)
        try parameters.applyPreset(to: reader)
        // Before the session: an output that cannot be written is reported before anything is encoded.
        let writer = try MediaWriter(
            path: output, stream: request.stream, source: reader, edits: request.edits,
            replaces: request.replaces)
        let daemon = try Daemon.findAndReport()
        let input = try open(reader, daemon, interruption)
        let color = try EncodeColor(
            reader.video, flattenedMode(reader) == nil ? input.format : .yu12, parameters.color)
        try parameters.check(color.format)
        let geometry = try PictureGeometry(parameters.picture, reader.video)
        if geometry.filtersLight { try color.checkLight(reader.video) }
        var video = geometry.applied(to: color.applied(to: reader.video))
        if !parameters.keepsAlpha { video.alphaMode = nil }
        let layerMode = parameters.keepsAlpha ? alphaLayerMode(reader) : nil
        var create = parameters.create(video, color.format, layerMode: layerMode)
        create.frames = frameCount(reader).map { $0 * parameters.passCount }
        let session = try SessionRequest.create(daemon, create, hasOthers: input.session != nil) {
            (parameters) throws(ClientError) in try CompressionSession(daemon, parameters)
        }
        (decodesInHardware, self.session) = (input.usesHardware, session)
        try request.segment?.pinThreads(of: session, parameters.userProperties)
        try encode(input, (color, geometry), session, writer, daemon, interruption)
    }

    /// Encodes the whole input, completes the output and reports.
    private func encode(
        _ input: DecodedInput, _ target: (color: EncodeColor, geometry: PictureGeometry),
        _ session: CompressionSession, _ writer: MediaWriter, _ daemon: Daemon, _ interruption: Interruption
    ) throws {
        let (reader, color, geometry) = (input.reader, target.color, target.geometry)
        let video = geometry.applied(to: color.applied(to: reader.video))
        let hdr = EncodeHDR(color.mode, video) { Self.takesCaptions(daemon) }
        var warnings = warnings(reader, target, writer)
        warnings += try EncodeMetadata.send(video, hdr, to: session, unless: parameters.userProperties)
        let properties = try start(session, writer, video, hdr)
        let (early, notes) = (reader.levels?.warning, writer.notes + color.notes(reader.video))
        let changed = [color.summary(reader.video), geometry.summary].compactMap { $0 }
        reader.announce(warnings + changed + writer.conversions + notes)

        let rate = RateSelection(parameters.picture.frameRate, reader)
        var progress = Progress(total: frameCount(reader).map { $0 * parameters.passCount })
        defer { progress.clear() }
        if parameters.passCount > 1 { try firstPass(session, target, daemon, &progress, interruption) }
        interruption.onSignal { reader.cancel() }
        let fitter = FrameFitter(video, format: color.format, path: reader.path)
        let sender = try FrameSender(session, reader, fitter, hdr, makesPool: input.session == nil)
        let source = try converting(input, rate, target, daemon, sender)
        let pipeline = EncodePipeline(
            rate.after(source), path: reader.path, session, sender, writer, keepsPartial: request.keepsPartial)
        pipeline.segment = request.segment
        try pipeline.run(&progress, interruption)
        let seconds = progress.seconds
        let changes = source.report.changes.adding(fitter.changes).adding(source.changes)
        let late =
            lateWarnings(source, color, changes, video) + writer.conversionWarnings + hdr.warnings + rate.lines
            + lateNotices(session, properties) + [input.session?.restartNote].compactMap { $0 }
        warnings += late
        progress.clear()
        late.forEach(Console.note)
        try complete(writer, pipeline, session)
        let (receipt, failure) = try VerifyJob.receipt(
            request.asked, request.file.input, output, earlyEnd: pipeline.earlyEnd, interruption)
        try request.report(
            EncodeSummary(
                EncodeSummary.Outcome(
                    request: request, input: input, video: video, encoder: session.created, properties: properties,
                    frames: pipeline.packets, videoBytes: pipeline.videoBytes,
                    inputBytes: request.isWhole ? fileSize(request.file.input) : nil,
                    fileBytes: fileSize(output) ?? pipeline.videoBytes, seconds: seconds,
                    notCopied: notes, conversions: writer.conversions, warnings: warnings, changes: changes,
                    color: EncodeSummary.Color(color, reader.video, source), earlyLevelWarning: early,
                    earlyEnd: pipeline.earlyEnd, receipt: receipt)))
        if let failure = pipeline.earlyEnd?.failure(output: output) ?? failure { throw failure }
    }

    /// The number of frames of a pass; nil where it is unknown.
    private func frameCount(_ reader: MediaReader) -> Int? {
        request.segment?.frames
            ?? RateSelection(parameters.picture.frameRate, reader).frames(of: request.edits.range)
    }

    private func complete(
        _ writer: MediaWriter, _ pipeline: EncodePipeline, _ session: CompressionSession
    ) throws {
        try request.segment?.annotate(writer, frames: pipeline.packets, session.created.encoderID)
        try writer.finish()
        session.invalidate()
    }

    /// Codes the whole input for its statistics alone, from a reader of its own.
    private func firstPass(
        _ session: CompressionSession, _ target: (color: EncodeColor, geometry: PictureGeometry), _ daemon: Daemon,
        _ progress: inout Progress, _ interruption: Interruption
    ) throws {
        let reader = try MediaReader(path: input, options: try readerOptions())
        interruption.onSignal { reader.cancel() }
        let input = try open(reader, daemon, interruption)
        let video = target.geometry.applied(to: target.color.applied(to: reader.video))
        let sender = try FrameSender(
            session, reader, FrameFitter(video, format: target.color.format, path: reader.path),
            EncodeHDR(target.color.mode, video) { Self.takesCaptions(daemon) }, makesPool: input.session == nil,
            poolID: FrameSender.poolsOfFirstPass)
        let rate = RateSelection(parameters.picture.frameRate, reader)
        let source = try converting(input, rate, target, daemon, sender)
        let pipeline = EncodePipeline(
            rate.after(source), path: reader.path, session, sender, nil, keepsPartial: request.keepsPartial)
        try pipeline.run(&progress, interruption)
        try sender.close()
        try session.setProperties([.multiPassStorage: .string("FinalPass")])
    }

    private func converting(
        _ input: DecodedInput, _ rate: RateSelection, _ target: (color: EncodeColor, geometry: PictureGeometry),
        _ daemon: Daemon, _ sender: FrameSender
    ) throws -> ConvertingSource {
        try ConvertingSource(
            rate.before(flattened(trimmed(input), input.reader)), input.reader.video, target, daemon,
            readerPool: sender.pool, frames: frameCount(input.reader))
    }

    private func open(
        _ reader: MediaReader, _ daemon: Daemon, _ interruption: Interruption
    ) throws -> DecodedInput {
        try DecodedInput(
            reader,
            SessionSource.Request(
                specification: parameters.decoderSpecification,
                pixelFormat: alphaLayerMode(reader) == nil ? nil : .yuva),
            daemon: { daemon }, isInterrupted: { interruption.isSet })
    }

    private static func takesCaptions(_ daemon: Daemon) -> Bool {
        (try? daemon.features().features.contains("frame-captions")) ?? false
    }

    /// The input's frames and packets, as far as they are kept.
    private func trimmed(_ input: DecodedInput) -> any VideoSource {
        if let segment = request.segment { return segment.source(input.source) }
        guard let range = request.edits.range else { return input.source }
        return TrimmedSource(input.source, input.reader, range)
    }

    /// How colors relate to an alpha that `--background` leaves out; nil where nothing is flattened.
    private func flattenedMode(_ reader: MediaReader) -> AlphaChannelMode? {
        parameters.picture.background == nil ? nil : reader.video.alphaMode ?? alphaLayerMode(reader)
    }

    /// The input's pictures over the background.
    private func flattened(_ source: any VideoSource, _ reader: MediaReader) throws -> any VideoSource {
        guard let background = parameters.picture.background, let mode = flattenedMode(reader) else {
            return source
        }
        return try FlatteningSource(source, reader.video, background, mode)
    }

    private func readerOptions() throws -> MediaReader.Options {
        var options = MediaReader.Options()
        options.decoding = .daemonIfPossible
        options.includesOtherStreams = true
        options.scalesToFirstSize = true
        options.frameRate = request.frameRate
        options.maxLevel = request.maxLevel
        options.start = request.segment?.startMicroseconds ?? request.edits.range?.start
        if parameters.readsAlpha {
            var conversion = try EncodeAlpha.conversion(parameters.userProperties)
            if !parameters.keepsAlpha { conversion.target = conversion.source }
            options.alpha = conversion
            options.isAlphaOptional = !parameters.keepsAlpha
        }
        return options
    }

    /// The mode of the input's HEVC alpha layer; nil if it has none, or if alpha is not kept.
    private func alphaLayerMode(_ reader: MediaReader) -> AlphaChannelMode? {
        parameters.readsAlpha && reader.video.alphaMode == nil ? reader.video.alphaLayerMode : nil
    }

    private func warnings(
        _ reader: MediaReader, _ target: (color: EncodeColor, geometry: PictureGeometry), _ writer: MediaWriter
    ) -> [String] {
        var warnings = reader.warnings
        warnings += [
            target.color.interlacedWarning(reader.video), target.geometry.interlacedWarning(reader.video),
        ].compactMap { $0 }
        if parameters.keepsAlpha, !writer.format.isMovie {
            let kind = writer.format.isByteStream ? "a raw stream" : "a stream"
            warnings.append(
                "warning: players without support for alpha layers may fail on \(kind) that has one; "
                    + ".mov and .mp4 avoid that")
        }
        if parameters.picture.background != nil, flattenedMode(reader) == nil {
            warnings.append("note: the input has no alpha, so --background has no effect")
        }
        if !parameters.readsAlpha, reader.video.alphaLayerMode != nil {
            warnings.append(
                "warning: the input's alpha layer is left out; --alpha keeps it, and --background puts a color behind it"
            )
        }
        if let rate = reader.video.averageFrameRate, EncodeParameters.frameRate(reader.video) == nil {
            warnings.append("warning: the source's frame rate, \(rate), is implausible; timestamps are kept")
        }
        return warnings
    }

    /// Prepares the encoder and writes the output's header; returns the session's properties.
    private func start(
        _ session: CompressionSession, _ writer: MediaWriter, _ video: VideoDescription, _ hdr: EncodeHDR
    ) throws -> [PropertyKey: PropertyValue] {
        try session.prepare()
        guard case .formatDescription(let record)? = try session.nextEvent(timeout: .zero) else {
            throw CommandFailure(.software, "the session sent no format description")
        }
        let properties = try session.copyProperties()
        var track = VideoTrack(video, hvcC: record)
        EncodeMetadata.apply(properties, to: &track)
        hdr.apply(properties, to: &track)
        try writer.start(track)
        return properties
    }

    /// Warnings about frames, once all were read.
    private func lateWarnings(
        _ source: ConvertingSource, _ color: EncodeColor, _ changes: FormatChanges, _ video: VideoDescription
    ) -> [String] {
        [
            EncodeAlpha.warning(source.report), source.counts.warning, source.counts.metadataWarning,
            source.report.metadataWarning,
            color.converts ? nil : color.interlacedWarning(video, changedFrames: source.counts.frames),
            changes.warning(width: video.width, height: video.height, format: color.format.rawValue),
        ].compactMap { $0 }
    }

    /// What the session's notices have gained since it began; nothing where the session cannot answer any more, as the
    /// output is complete without them.
    private func lateNotices(
        _ session: CompressionSession, _ properties: [PropertyKey: PropertyValue]
    ) -> [String] {
        guard case .string(let text)? = (try? session.copyProperties([.notices]))?[.notices] else { return [] }
        var known: Set<Substring> = []
        if case .string(let early)? = properties[.notices] { known = Set(early.split(separator: "; ")) }
        let gained = text.split(separator: "; ").filter { !known.contains($0) }
        return gained.isEmpty ? [] : ["note: \(gained.joined(separator: "; "))"]
    }

    /// The size of a file in bytes; nil for pipes and series of pictures.
    private func fileSize(_ path: String) -> Int? {
        var status = stat()
        guard path != "-", stat(FileName.bytes(path), &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        return Int(status.st_size)
    }
}
