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
        /// Whether the input can be read and the output written again.
        var canRepeat: Bool { file.input != "-" && file.output != "-" }
    }

    private let request: Request
    private var input: String { request.file.input }
    private var output: String { request.file.output }
    private var parameters: EncodeParameters

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
        let daemon = try SessionRequest.findDaemon(beginsAgain: request.canRepeat)
        let input = try open(reader, daemon, interruption)
        let plan = try PicturePlan(
            reader.video, flattenedMode(reader) == nil ? input.format : .yu12, parameters)
        let layerMode = parameters.keepsAlpha ? alphaLayerMode(reader) : nil
        var create = parameters.create(plan.video, plan.color.format, layerMode: layerMode)
        create.frames = frameCount(reader).map { $0 * parameters.passCount }
        let session = try CompressionSession(daemon, create)
        try request.segment?.pinThreads(of: session, parameters.userProperties)
        try encode(input, plan, session, writer, daemon, interruption)
    }

    /// Encodes the whole input, completes the output and reports.
    private func encode(
        _ input: DecodedInput, _ plan: PicturePlan, _ session: CompressionSession, _ writer: MediaWriter,
        _ daemon: Daemon, _ interruption: Interruption
    ) throws {
        let (reader, color, video) = (input.reader, plan.color, plan.video)
        let hdr = EncodeHDR(color.mode, video) { daemon.offers("frame-captions") }
        var warnings = warnings(reader, plan, writer)
        warnings += try EncodeMetadata.send(video, hdr, to: session, unless: parameters.userProperties)
        let properties = try start(session, writer, video, hdr)
        EncoderLine.announce(session.created, daemon)
        let (early, notes) = (reader.levels?.warning, writer.notes + plan.notes(reader.video, writer.format))
        reader.announce(warnings + plan.summary(reader.video) + writer.conversions + notes)

        let rate = RateSelection(parameters.picture.frameRate, reader)
        var progress = Progress(total: frameCount(reader).map { $0 * parameters.passCount })
        defer { progress.clear() }
        if parameters.passCount > 1 { try firstPass(session, plan, daemon, &progress, interruption) }
        interruption.onSignal { reader.cancel() }
        let fitter = FrameFitter(video, format: color.format, path: reader.path)
        let sender = try FrameSender(session, reader, fitter, hdr, makesPool: input.session == nil)
        let (pictures, converted) = try pictures(of: input, plan, rate, daemon, sender)
        let pipeline = EncodePipeline(
            pictures, path: reader.path, session, sender, writer, keepsPartial: request.keepsPartial)
        pipeline.segment = request.segment
        try pipeline.run(&progress, interruption)
        let seconds = progress.seconds
        let changes = pictures.report.changes.adding(fitter.changes).adding(converted.changes)
        let late =
            lateWarnings(converted, color, changes, video) + hdr.warnings + rate.lines
            + lateNotices(session, properties) + [input.session?.restartNote].compactMap { $0 }
        progress.clear()
        late.forEach(Console.note)
        try complete(writer, pipeline, session)
        writer.conversionWarnings.forEach(Console.note)
        warnings += late + writer.conversionWarnings
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
                    color: EncodeSummary.Color(color, reader.video, converted), earlyLevelWarning: early,
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
        _ session: CompressionSession, _ plan: PicturePlan, _ daemon: Daemon, _ progress: inout Progress,
        _ interruption: Interruption
    ) throws {
        let reader = try MediaReader(path: input, options: try readerOptions())
        interruption.onSignal { reader.cancel() }
        let input = try open(reader, daemon, interruption)
        let sender = try FrameSender(
            session, reader, FrameFitter(plan.video, format: plan.color.format, path: reader.path),
            EncodeHDR(plan.color.mode, plan.video) { daemon.offers("frame-captions") },
            makesPool: input.session == nil, poolID: FrameSender.poolsOfFirstPass)
        let rate = RateSelection(parameters.picture.frameRate, reader)
        let pipeline = EncodePipeline(
            try pictures(of: input, plan, rate, daemon, sender).source, path: reader.path, session, sender, nil,
            keepsPartial: request.keepsPartial)
        try pipeline.run(&progress, interruption)
        try sender.close()
        try session.setProperties([.multiPassStorage: .string("FinalPass")])
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

    /// The input's pictures as they are encoded.
    private func pictures(
        of input: DecodedInput, _ plan: PicturePlan, _ rate: RateSelection, _ daemon: Daemon, _ sender: FrameSender
    ) throws -> (source: any VideoSource, converted: ConvertingSource) {
        var pipeline = PicturePipeline()
        if let segment = request.segment {
            pipeline.part = .segment(segment)
        } else if let range = request.edits.range {
            pipeline.part = .range(range)
        }
        if let background = parameters.picture.background, let mode = flattenedMode(input.reader) {
            pipeline.background = FlatteningSource.Background(mode: mode, compositor: background.compositor)
        }
        return try pipeline.encoded(
            input, as: plan, rate, daemon, readerPool: sender.pool, frames: frameCount(input.reader))
    }

    /// How colors relate to an alpha that `--background` leaves out; nil where nothing is flattened.
    private func flattenedMode(_ reader: MediaReader) -> AlphaChannelMode? {
        parameters.picture.background == nil ? nil : reader.video.alphaMode ?? alphaLayerMode(reader)
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
        _ reader: MediaReader, _ plan: PicturePlan, _ writer: MediaWriter
    ) -> [String] {
        var warnings = reader.warnings + plan.interlacedWarnings(reader.video)
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
        // The reader says what its conversion drops.
        if !parameters.readsAlpha, reader.video.conversion?.hasSuffix("alpha dropped") == true {
            warnings.append(
                "note: the input's alpha is dropped; --alpha premultiplied keeps it, and --background puts a color behind it"
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
