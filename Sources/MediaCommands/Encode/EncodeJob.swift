// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAV
internal import HWDMediaFile
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// One run of `hwctl encode`: file → frames → session → packets → file.
final class EncodeJob {
    /// How long nothing may come back; the daemon ends a stalled session long before.
    private static let timeout = Duration.seconds(180)

    private let input: String
    private let output: String
    private let parameters: EncodeParameters
    private let json: Bool
    private let frameRate: Rational?
    private let maxLevel: Int?
    private let keepsPartial: Bool
    /// Where alpha comes from an HEVC layer, how colours stand to it.
    private var alphaLayerMode: AlphaChannelMode?

    private var isInputDone = false
    private var isCompleted = false
    /// Why the input ended before its end, where what came before is kept.
    private var breakOff: MediaError?
    /// Whether hardware serves, or served, the session.
    private(set) var usesHardware = false
    /// Whether hardware decodes, or decoded, the input.
    private(set) var decodesInHardware = false
    /// What to tell as the reason why software serves; nil leaves that to the daemon.
    private let fallbackReason: String?
    private var packets = 0
    private var videoBytes = 0

    init(
        input: String, output: String, specification: [PropertyKey: PropertyValue],
        properties: [PropertyKey: PropertyValue], json: Bool, frameRate: Rational?, maxLevel: Int?,
        keepsPartial: Bool, keepsAlpha: Bool = false, fallbackReason: String? = nil,
        allowsHardwareDecoder: Bool = true
    ) {
        parameters = EncodeParameters(
            specification: specification, wanted: properties, keepsAlpha: keepsAlpha,
            allowsHardwareDecoder: allowsHardwareDecoder)
        self.input = input
        self.output = output
        self.json = json
        self.frameRate = frameRate
        self.maxLevel = maxLevel
        self.keepsPartial = keepsPartial
        self.fallbackReason = fallbackReason
    }

    func run(_ interruption: Interruption) throws {
        var options = MediaReader.Options()
        options.includesOtherStreams = true
        options.frameRate = frameRate
        (options.maxLevel, options.keepsUnsignaledLevels) = (maxLevel, true)
        options.alpha = parameters.keepsAlpha ? try EncodeAlpha.conversion(parameters.wanted) : nil
        // An HEVC stream's alpha layer is the daemon's to decode.
        alphaLayerMode = options.alpha == nil ? nil : EncodeAlpha.layerMode(of: input, options)
        if alphaLayerMode != nil { options.alpha = nil }
        options.leavesHEVC = options.alpha == nil
        var reader = try MediaReader(path: input, options: options)
        let firstReader = reader
        interruption.onSignal { firstReader.cancel() }
        // Before the session: an output that cannot be written is told before anything is encoded.
        let writer = try MediaWriter(path: output, source: reader)
        let daemon = try Daemon.findAndReport()
        let decoder = try SessionSource.open(
            reader, daemon, specification: parameters.decoderSpecification,
            pixelFormat: alphaLayerMode == nil ? nil : .yuva,
            isInterrupted: { interruption.isSet })
        if decoder == nil, reader.handsOutPackets {
            (options.leavesHEVC, options.keepsUnsignaledLevels) = (false, false)
            reader = try MediaReader(path: input, options: options)
            let second = reader
            interruption.onSignal { second.cancel() }
        }
        let source: any VideoSource = decoder ?? LocalSource(reader)
        let format = decoder?.pixelFormat ?? reader.video.format
        let session = try CompressionSession(
            daemon, parameters.create(reader.video, format, layerMode: alphaLayerMode))
        usesHardware = session.created.usingHardware
        decodesInHardware = decoder?.session.created.usingHardware ?? false
        var warnings = reader.warnings
        if parameters.keepsAlpha, output == "-" || output.lowercased().hasSuffix(".hevc") {
            warnings.append(
                "warning: a raw stream with an alpha layer confuses players that know none; .mov and .mp4 do not")
        }
        if !parameters.keepsAlpha, reader.video.alphaLayerMode != nil {
            warnings.append("warning: the input's alpha layer is left out; --alpha keeps it")
        }
        if let rate = reader.video.averageFrameRate, EncodeParameters.frameRate(reader.video) == nil {
            warnings.append("warning: the source's frame rate, \(rate), is not believed; timestamps are kept")
        }
        warnings += try EncodeMetadata.send(reader.video, to: session, unless: parameters.wanted)
        let sender = try FrameSender(session, reader, makesPool: decoder == nil)
        try session.prepare()
        guard case .formatDescription(let record)? = try session.nextEvent(timeout: .zero) else {
            throw CommandFailure(.software, "the session gave no format description")
        }
        let properties = try session.copyProperties()
        var track = VideoTrack(reader.video, hvcC: record)
        EncodeMetadata.apply(properties, to: &track)
        try writer.start(track)
        if let conversion = reader.video.conversion { Console.note("converting the source: \(conversion)") }
        LevelSummary.announce(reader)
        let early = reader.levels?.warning
        for line in warnings + writer.notes { Console.note(line) }

        var progress = Progress(total: reader.video.frameCount)
        defer { progress.clear() }
        while !isCompleted {
            if interruption.isSet { throw CommandFailure.interrupted }
            try feed(source, session, sender, writer, (reader.video.width, reader.video.height, format))
            let first = isInputDone || sender.isFull ? try wait(for: session, unless: interruption) : nil
            try drain(session, sender, writer, first: first)
            progress.update(done: packets)
        }
        let seconds = progress.seconds
        if let line = EncodeAlpha.warning(source.report) {
            warnings.append(line)
            Console.note(line)
        }
        guard packets > 0 else { throw breakOff ?? MediaError(.badInput, "\(input) has no frames") }
        try writer.finish()
        session.invalidate()
        progress.clear()
        try tell(
            EncodeSummary(
                input: input, output: output, created: session.created,
                fallbackReason: fallbackReason ?? session.created.fallbackReason, properties: properties,
                reader: reader, format: format, report: source.report, decoder: decoder, earlyWarning: early,
                frames: packets, videoBytes: videoBytes, fileBytes: fileSize(output) ?? videoBytes,
                seconds: seconds,
                notCopied: writer.notes, warnings: warnings, brokenOff: breakOff?.reason))
        if let breakOff {
            throw CommandFailure(
                breakOff.exitStatus, "the input broke off, what came before is in \(output): \(breakOff.reason)")
        }
    }

    private func fileSize(_ path: String) -> Int? {
        var status = stat()
        return path != "-" && stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Reads and sends one item of the input, if there is room for it.
    private func feed(
        _ source: any VideoSource, _ session: CompressionSession, _ sender: FrameSender, _ writer: MediaWriter,
        _ shape: (width: Int, height: Int, format: PixelFormat)
    ) throws {
        guard !isInputDone, !sender.isBusy, try !sender.sendWaiting() else { return }
        switch try nextItem(source) {
        case .frame(let frame)?:
            guard (frame.width, frame.height, frame.format) == shape else {
                throw MediaError(
                    .unsupported,
                    "\(input): the picture changes from \(shape.width)x\(shape.height) "
                        + "\(shape.format.rawValue) to \(frame.width)x\(frame.height) \(frame.format.rawValue) at frame \(frame.index)"
                )
            }
            try sender.send(frame)
        case .packet(let packet)?: try writer.write(copied: packet)
        case nil:
            isInputDone = true
            try session.complete()
        }
    }

    /// The reader's next item; where frames that came before an error are to be kept, the error is an end.
    private func nextItem(_ source: any VideoSource) throws -> SourceItem? {
        do {
            return try source.next()
        } catch let error as MediaError {
            guard keepsPartial, source.report.frames > 0, error.kind != .interrupted else { throw error }
            breakOff = error
            return nil
        }
    }

    /// The next event, however long the encoder takes; a signal ends the wait.
    private func wait(
        for session: CompressionSession, unless interruption: Interruption
    ) throws -> CompressionSession.Event {
        for _ in 0..<Self.timeout.components.seconds * 10 {
            if let event = try session.nextEvent(timeout: .milliseconds(100)) { return event }
            if interruption.isSet { throw CommandFailure.interrupted }
        }
        throw CommandFailure(
            .software, "the session gave nothing for \(Self.timeout.components.seconds) s; giving up")
    }

    /// Handles what came back: `first`, and all that is there besides.
    private func drain(
        _ session: CompressionSession, _ sender: FrameSender, _ writer: MediaWriter,
        first: CompressionSession.Event?
    ) throws {
        var first = first
        while let event = try first ?? session.nextEvent(timeout: .zero) {
            first = nil
            switch event {
            case .formatDescription: continue
            case .frameReleased(let frameID): try sender.release(frameID)
            case .packet(let packet):
                let description = packet.description
                try writer.write(
                    packet.bytes, pts: description.pts, dts: description.dts, duration: description.duration,
                    isSync: description.flags.contains(.sync))
                try session.release(packet)
                packets += 1
                videoBytes += Int(description.size)
            case .completed: isCompleted = true
            }
        }
    }

    private func tell(_ summary: EncodeSummary) throws {
        if json { try Console.json(summary) } else { summary.lines.forEach(Console.note) }
    }
}
