// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAV
internal import HWDMediaFile
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// One run of `hwctl decode`: file → session → frames → file.
final class DecodeJob {
    private let input: String
    private let output: String
    private let specification: [PropertyKey: PropertyValue]
    private let format: PixelFormat?
    /// How colours are to stand to alpha in pictures that are written as RGBA.
    private let alphaMode: AlphaChannelMode
    /// What pictures with alpha are laid over; nil keeps alpha.
    private let background: BackgroundCompositor.RGB?
    private let sessionProperties: [PropertyKey: PropertyValue]
    private let frameRate: Rational?
    private let maxLevel: Int?
    private let keepsPartial: Bool
    private let json: Bool
    /// What to tell as the reason why software serves; nil leaves that to the daemon.
    private let fallbackReason: String?
    /// Whether hardware serves, or served, the session.
    private(set) var usesHardware = false
    /// Where a frame is brought to that is not in the wanted layout, or nowhere that can be read.
    private var scratch: [UInt8] = []
    /// Where a frame is laid over the background.
    private var flat: [UInt8] = []

    init(
        input: String, output: String, specification: [PropertyKey: PropertyValue], format: PixelFormat?,
        properties: [PropertyKey: PropertyValue] = [:], alphaMode: AlphaChannelMode,
        background: BackgroundCompositor.RGB?, frameRate: Rational?, maxLevel: Int?, keepsPartial: Bool, json: Bool,
        fallbackReason: String? = nil
    ) {
        self.input = input
        self.output = output
        self.specification = specification
        self.format = format
        self.alphaMode = alphaMode
        self.background = background
        sessionProperties = properties
        self.frameRate = frameRate
        self.maxLevel = maxLevel
        self.keepsPartial = keepsPartial
        self.json = json
        self.fallbackReason = fallbackReason
    }

    func run(_ interruption: Interruption) throws {
        // Before the input: an output that cannot be written is told before anything is decoded.
        let writer = try FrameWriter(path: output, inputs: [input])
        var options = MediaReader.Options()
        options.leavesHEVC = true
        options.frameRate = frameRate
        (options.maxLevel, options.keepsUnsignaledLevels) = (maxLevel, true)
        var reader = try open(options)
        let firstReader = reader
        interruption.onSignal { firstReader.cancel() }
        let native: PixelFormat = reader.video.format.bitDepth > 8 ? .i010 : .yu12
        let target = background == nil ? format ?? native : .yuva

        var session: SessionSource?
        if reader.handsOutPackets {
            session = try SessionSource.open(
                reader, try Daemon.findAndReport(), specification: specification, pixelFormat: target,
                properties: sessionProperties, isInterrupted: { interruption.isSet })
        } else if specification[.requireHardwareDecoder] == .bool(true) {
            throw CommandFailure(
                .unavailable, "hardware is required, but \(reader.video.codec) is decoded in this process")
        }
        if session == nil, !target.isYCbCr {
            throw CommandFailure(
                .badInput,
                "only HEVC is brought to \(target.rawValue) as it is decoded, and \(input) holds "
                    + "\(reader.video.codec); decode it to raw nv12 or p010 and convert that (hwctl convert)")
        }
        if session == nil, reader.handsOutPackets {
            (options.leavesHEVC, options.keepsUnsignaledLevels) = (false, false)
            reader = try MediaReader(path: input, options: options)
            let second = reader
            interruption.onSignal { second.cancel() }
        }
        reportAlpha(reader.video, target, isDecodedHere: session == nil)
        usesHardware = session?.session.created.usingHardware ?? false
        let source: any VideoSource = session ?? LocalSource(reader)
        for line in reader.warnings { Console.note(line) }
        LevelSummary.announce(reader)
        let early = reader.levels?.warning
        if let conversion = reader.video.conversion { Console.note("converting the source: \(conversion)") }
        if target.bitDepth < reader.video.format.bitDepth {
            Console.note("\(reader.video.format.bitDepth) bits reduced to \(target.bitDepth), as asked")
        }

        var progress = Progress(total: reader.video.frameCount)
        defer { progress.clear() }
        var breakOff: MediaError?
        var mode: AlphaChannelMode?
        do {
            while !writer.isFull, let item = try source.next() {
                if interruption.isSet { throw CommandFailure.interrupted }
                guard case .frame(let frame) = item else { continue }
                mode = mode ?? frame.alphaMode
                try write(frame, as: target, reader.video, to: writer)
                try frame.release()
                progress.update(done: writer.frames)
            }
        } catch let error as MediaError where keepsPartial && writer.frames > 0 && error.kind != .interrupted {
            breakOff = error
        }
        guard writer.frames > 0 else { throw MediaError(.badInput, "\(input) has no frames") }
        let properties = try session?.session.copyProperties() ?? [:]
        session?.session.invalidate()
        try writer.finish()
        let seconds = progress.seconds
        progress.clear()
        try tell(
            DecodeSummary(
                input: input, output: output, reader: reader, created: session?.session.created,
                fallbackReason: fallbackReason, properties: properties,
                format: background == nil ? target : .yu12, writer: writer, report: source.report,
                earlyWarning: early, alphaMode: mode,
                hardwareFrames: session?.hardwareFrames ?? 0, seconds: seconds, brokenOff: breakOff?.reason))
        if let breakOff {
            throw CommandFailure(
                breakOff.exitStatus, "the input broke off, what came before is in \(output): \(breakOff.reason)")
        }
    }

    /// Opens the input, with the alpha of its pixels where that is wanted and there.
    private func open(_ options: MediaReader.Options) throws -> MediaReader {
        guard background != nil || format == .yuva else {
            return try MediaReader(path: input, options: options)
        }
        var keeping = options
        keeping.alpha = AlphaConversion(source: .straight, target: .straight)
        do throws(MediaError) { return try MediaReader(path: input, options: keeping) } catch {
            guard error.kind == .badInput, input != "-" else { throw error }
            return try MediaReader(path: input, options: options)
        }
    }

    /// Says what becomes of alpha where that may not be what was expected.
    private func reportAlpha(_ video: VideoDescription, _ target: PixelFormat, isDecodedHere: Bool) {
        if video.alphaMode != nil { return }
        if target == .yuva, video.alphaLayerMode == nil {
            Console.note("\(input) has no alpha: every picture is opaque")
        } else if target.hasAlpha, isDecodedHere {
            Console.note("the alpha layer is left out: only the daemon decodes it")
        } else if !target.hasAlpha, video.alphaLayerMode != nil {
            Console.note("the alpha layer is left out; --format yuva keeps it, --background lays it over a colour")
        }
    }

    private func write(
        _ frame: SourceFrame, as target: PixelFormat, _ video: VideoDescription, to writer: FrameWriter
    ) throws {
        let part = Self.part(video.cleanAperture, width: frame.width, height: frame.height)
        var shown = FrameWriter.Description(
            width: Int(part.width), height: Int(part.height), format: target, color: frame.color,
            frameRate: video.averageFrameRate ?? video.baseFrameRate, sampleAspectRatio: video.sampleAspectRatio,
            alphaMode: frame.alphaMode,
            wantedAlphaMode: alphaMode)
        func write(_ bytes: UnsafeRawBufferPointer, _ layout: FrameLayout) throws {
            if let background {
                shown.format = .yu12
                let compositor = BackgroundCompositor(
                    background, color: frame.color, height: frame.height,
                    isPremultiplied: frame.alphaMode == .premultiplied)
                let packed = FrameLayout.packed(.yu12, width: frame.width, height: frame.height)
                if flat.count < packed.size { flat = [UInt8](repeating: 0, count: packed.size) }
                return try flat.withUnsafeMutableBytes { target in
                    try compositor.flatten(bytes, layout, width: frame.width, height: frame.height, to: target)
                    let view = try PictureView(
                        memory: UnsafeRawBufferPointer(target), layout: packed.layout, format: .yu12,
                        width: frame.width, height: frame.height, part: part)
                    try writer.write(view, shown)
                }
            }
            let view = try PictureView(
                memory: bytes, layout: layout, format: target, width: frame.width, height: frame.height, part: part)
            try writer.write(view, shown)
        }
        switch frame.place {
        case .session(let memory, _, let layout) where frame.format == target: try write(memory.bytes, layout)
        case .session: throw CommandFailure(.software, "the session gave \(frame.format.rawValue) pictures")
        case .local(let decoded):
            let packed = FrameLayout.packed(decoded.format, width: frame.width, height: frame.height)
            let wanted = FrameLayout.packed(target, width: frame.width, height: frame.height)
            if scratch.count < packed.size + wanted.size {
                scratch = [UInt8](repeating: 0, count: packed.size + wanted.size)
            }
            try scratch.withUnsafeMutableBytes { bytes in
                let first = UnsafeMutableRawBufferPointer(rebasing: bytes[..<packed.size])
                let second = UnsafeMutableRawBufferPointer(rebasing: bytes[packed.size...])
                try decoded.copy(to: first, packed.layout)
                guard decoded.format != target else {
                    return try write(UnsafeRawBufferPointer(first), packed.layout)
                }
                if let read = first.baseAddress, let written = second.baseAddress {
                    SampleConverter(source: decoded.format, target: target).convert(
                        packed.layout.planes(at: read), into: wanted.layout.mutablePlanes(at: written),
                        width: frame.width, height: frame.height)
                }
                if target.hasAlpha, !decoded.format.hasAlpha {
                    // The converter knows of no fourth plane.
                    let size = Int(wanted.layout.planes[3].stride) * frame.height
                    second[Int(wanted.layout.planes[3].offset)...].prefix(size).withMemoryRebound(to: UInt8.self) {
                        $0.update(repeating: 255)
                    }
                }
                try write(UnsafeRawBufferPointer(second), wanted.layout)
            }
        }
    }

    /// What of a picture the file shows; all of it where that makes no sense.
    static func part(_ aperture: CleanAperture?, width: Int, height: Int) -> PictureRectangle {
        let all = PictureRectangle(x: 0, y: 0, width: UInt32(width), height: UInt32(height))
        guard let aperture, aperture.fits(codedWidth: width, codedHeight: height) else { return all }
        func place(_ size: Rational, _ offset: Rational, _ coded: Int) -> (UInt32, UInt32)? {
            let length = size.value.rounded()
            let start = ((Double(coded) - size.value) / 2 + offset.value).rounded()
            guard length >= 1, start >= 0, start + length <= Double(coded) else { return nil }
            return (UInt32(start), UInt32(length))
        }
        guard let (x, across) = place(aperture.width, aperture.horizontalOffset, width),
            let (y, down) = place(aperture.height, aperture.verticalOffset, height)
        else { return all }
        return PictureRectangle(x: x, y: y, width: across, height: down)
    }

    private func tell(_ summary: DecodeSummary) throws {
        if json { try Console.json(summary) } else { summary.lines.forEach(Console.note) }
    }
}
