// SPDX-License-Identifier: GPL-2.0-or-later
internal import ControlCommands
internal import Glibc
internal import HWClient
internal import LibAV
internal import MediaFile
internal import Model
internal import Transport
internal import Wire

/// One run of `hwctl encode`: file → frames → session → packets → file.
final class EncodeJob {
    private static let poolID: UInt32 = 1
    /// Frames on their way to the encoder: enough that it never waits for us, few enough to stay small.
    private static let framesUnderWay = 6
    /// Bytes of frames at most; a larger picture gets fewer slots.
    private static let maxPoolBytes = 1 << 30
    /// Frames a second that rate control can count with; timestamps are kept whatever the rate.
    private static let possibleRates = 0.001...1000
    /// How long nothing may come back; the daemon ends a stalled session long before.
    private static let patience = Duration.seconds(180)

    private let input: String
    private let output: String
    private let specification: [PropertyKey: PropertyValue]
    private let wanted: [PropertyKey: PropertyValue]
    private let json: Bool
    private let frameRate: Rational?
    private let maxLevel: Int?
    private let keepsPartial: Bool
    private let keepsAlpha: Bool
    /// Where alpha comes from an HEVC layer, how colours stand to it.
    private var alphaLayerMode: AlphaChannelMode?

    private var underWay: [UInt64: SourceFrame] = [:]
    private var copied: [UInt64: FramePool.Slot] = [:]
    private var waiting: SourceFrame?
    /// Arenas of the decompression session that the encoder can read.
    private var arenas: Set<UInt32> = []
    private var isInputDone = false
    private var isCompleted = false
    /// Why the input ended before its end, where what came before is kept.
    private var breakOff: MediaError?
    /// Whether hardware serves, or served, the session.
    private(set) var usesHardware = false
    /// Whether hardware decodes, or decoded, the input.
    private(set) var decodesInHardware = false
    /// Whether hardware may decode the input.
    private let allowsHardwareDecoder: Bool
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
        self.keepsAlpha = keepsAlpha
        self.input = input
        self.output = output
        self.specification = specification
        wanted = properties
        self.json = json
        self.frameRate = frameRate
        self.maxLevel = maxLevel
        self.keepsPartial = keepsPartial
        self.fallbackReason = fallbackReason
        self.allowsHardwareDecoder = allowsHardwareDecoder
    }

    func run(_ interruption: Interruption) throws {
        var options = MediaReader.Options()
        options.includesOtherStreams = true
        options.frameRate = frameRate
        (options.maxLevel, options.leavesUntoldLevels) = (maxLevel, true)
        options.alpha = keepsAlpha ? try EncodeAlpha.conversion(wanted) : nil
        // An HEVC stream's alpha layer is the daemon's to decode.
        alphaLayerMode = options.alpha == nil ? nil : EncodeAlpha.layerMode(of: input, options)
        if alphaLayerMode != nil { options.alpha = nil }
        options.leavesHEVC = options.alpha == nil
        var reader = try MediaReader(path: input, options: options)
        let firstReader = reader
        interruption.onSignal { firstReader.cancel() }
        // Before the session: an output that cannot be written is told before anything is encoded.
        let writer = try MediaWriter(path: output, source: reader)
        let daemon = try Daemon.findAndTell()
        let decoder = try SessionSource.open(
            reader, daemon, specification: decoderSpecification, pixelFormat: alphaLayerMode == nil ? nil : .yuva,
            isInterrupted: { interruption.isSet })
        if decoder == nil, reader.handsOutPackets {
            (options.leavesHEVC, options.leavesUntoldLevels) = (false, false)
            reader = try MediaReader(path: input, options: options)
            let second = reader
            interruption.onSignal { second.cancel() }
        }
        let source: any VideoSource = decoder ?? LocalSource(reader)
        let format = decoder?.pixelFormat ?? reader.video.format
        let session = try CompressionSession(daemon, try parameters(reader.video, format))
        usesHardware = session.created.usingHardware
        decodesInHardware = decoder?.session.created.usingHardware ?? false
        var warnings = reader.warnings
        if keepsAlpha, output == "-" || output.lowercased().hasSuffix(".hevc") {
            warnings.append(
                "warning: a raw stream with an alpha layer confuses players that know none; .mov and .mp4 do not")
        }
        if !keepsAlpha, reader.video.alphaLayerMode != nil {
            warnings.append("warning: the input's alpha layer is left out; --alpha keeps it")
        }
        if let rate = reader.video.averageFrameRate, Self.frameRate(reader.video) == nil {
            warnings.append("warning: the source's frame rate, \(rate), is not believed; timestamps are kept")
        }
        warnings += try EncodeMetadata.send(reader.video, to: session, unless: wanted)
        let pool = decoder == nil ? try makePool(reader) : nil
        if let pool {
            reader.use(PoolMemory(pool))
            try session.addPool(pool, id: Self.poolID)
        }
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
            try feed(source, session, pool, writer, (reader.video.width, reader.video.height, format))
            let first = isInputDone || isFull(session) ? try wait(for: session, unless: interruption) : nil
            try drain(session, pool, writer, first: first)
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

    /// What Create is asked for: the source's form, its colour and its rate, then what the user wants instead.
    private func parameters(_ video: VideoDescription, _ format: PixelFormat) throws
        -> CreateCompressionSession.Parameters
    {
        var properties: [PropertyKey: PropertyValue] = [:]
        if let rate = Self.frameRate(video) { properties[.expectedFrameRate] = .string(rate.description) }
        let color = video.color
        if color.isSpecified {
            properties[.colorPrimaries] = .int(Int64(color.primaries))
            properties[.transferFunction] = .int(Int64(color.transfer))
            properties[.yCbCrMatrix] = .int(Int64(color.matrix))
        }
        if color.isFullRange { properties[.fullRangeVideo] = .bool(true) }
        if let location = color.chromaLocation { properties[.chromaLocation] = .int(Int64(location)) }
        properties.merge(wanted) { _, wanted in wanted }
        // What the frames are by now, which is not what the file was where they were converted on the way.
        if let mode = alphaLayerMode ?? video.alphaMode { properties[.sourceAlphaMode] = .string(mode.rawValue) }
        return CreateCompressionSession.Parameters(
            codec: keepsAlpha ? "hevc-with-alpha" : "hevc", width: video.width, height: video.height,
            pixelFormat: format, timeBase: video.timeBase,
            encoderSpecification: specification, properties: properties)
    }

    /// The source's average rate, if a session can take it.
    private static func frameRate(_ video: VideoDescription) -> Rational? {
        [video.averageFrameRate, video.baseFrameRate].compactMap { $0 }.first { possibleRates.contains($0.value) }
    }

    /// As for the encoder, but that a decoder in software is no reason to refuse hardware that encodes.
    private var decoderSpecification: [PropertyKey: PropertyValue] {
        [.enableHardwareDecoder: .bool(allowsHardwareDecoder && specification[.enableHardware] != .bool(false))]
    }

    private func makePool(_ reader: MediaReader) throws -> FramePool {
        let slotSize = max(1, reader.slotByteCount)
        let count = min(reader.slotsHeldByDecoder + Self.framesUnderWay + 1, Self.maxPoolBytes / slotSize)
        return try FramePool(slotSize: slotSize, slotCount: max(2, count))
    }

    private func isFull(_ session: CompressionSession) -> Bool {
        waiting != nil || session.framesInFlight >= Self.framesUnderWay
    }

    /// Reads and sends one item of the input, if there is room for it.
    private func feed(
        _ source: any VideoSource, _ session: CompressionSession, _ pool: FramePool?, _ writer: MediaWriter,
        _ shape: (width: Int, height: Int, format: PixelFormat)
    ) throws {
        guard !isInputDone, session.framesInFlight < Self.framesUnderWay else { return }
        if let frame = waiting {
            waiting = nil
            return try send(frame, session, pool)
        }
        switch try nextItem(source) {
        case .frame(let frame)?:
            guard (frame.width, frame.height, frame.format) == shape else {
                throw MediaError(
                    .unsupported,
                    "\(input): the picture changes from \(shape.width)x\(shape.height) "
                        + "\(shape.format.rawValue) to \(frame.width)x\(frame.height) \(frame.format.rawValue) at frame \(frame.index)"
                )
            }
            try send(frame, session, pool)
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

    /// Sends a frame from where it was decoded, or from a slot it is copied to; keeps it when no slot is free.
    private func send(_ frame: SourceFrame, _ session: CompressionSession, _ pool: FramePool?) throws {
        let frameID = UInt64(frame.index)
        let layout: FrameLayout
        var poolID = Self.poolID
        switch frame.place {
        case .session(let memory, let arenaID, let place):
            // The decoder's own memory: the encoder reads the very samples that the decoder wrote.
            poolID = try share(memory, arenaID, session)
            layout = place
            underWay[frameID] = frame
        case .local(let decoded):
            if let direct = decoded.direct {
                layout = direct.layout
                underWay[frameID] = frame
                break
            }
            guard let pool, let slot = pool.acquire(), let base = pool.bytes(of: slot).baseAddress else {
                waiting = frame
                return
            }
            copied[frameID] = slot
            layout = try decoded.copy(
                to: FrameSlot(
                    id: slot.index, base: base, poolOffset: UInt64(slot.offset), byteCount: pool.slotSize))
            decoded.release()
        }
        try session.encode(
            EncodeFrame(
                frameID: frameID, pts: frame.pts, duration: frame.duration, poolID: poolID, layout: layout))
    }

    /// Has the encoder read a decoder's arena, once.
    private func share(
        _ memory: SharedMemory, _ arenaID: UInt32, _ session: CompressionSession
    ) throws -> UInt32 {
        let poolID = Self.poolID + arenaID
        if arenas.insert(arenaID).inserted { try session.addPool(memory, id: poolID) }
        return poolID
    }

    /// The next event, however long the encoder takes; a signal ends the wait.
    private func wait(
        for session: CompressionSession, unless interruption: Interruption
    ) throws -> CompressionSession.Event {
        for _ in 0..<Self.patience.components.seconds * 10 {
            if let event = try session.nextEvent(timeout: .milliseconds(100)) { return event }
            if interruption.isSet { throw CommandFailure.interrupted }
        }
        throw CommandFailure(
            .software, "the session gave nothing for \(Self.patience.components.seconds) s; giving up")
    }

    /// Handles what came back: `first`, and all that is there besides.
    private func drain(
        _ session: CompressionSession, _ pool: FramePool?, _ writer: MediaWriter, first: CompressionSession.Event?
    ) throws {
        var first = first
        while let event = try first ?? session.nextEvent(timeout: .zero) {
            first = nil
            switch event {
            case .formatDescription: continue
            case .frameReleased(let frameID):
                try underWay.removeValue(forKey: frameID)?.release()
                if let slot = copied.removeValue(forKey: frameID) { pool?.release(slot) }
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
