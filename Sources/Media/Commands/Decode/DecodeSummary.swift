// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWDWire

/// What `hwctl decode` reports at its end.
struct DecodeSummary: CommandSummary {
    /// A complete run.
    struct Outcome {
        var request: DecodeJob.Request
        var input: DecodedInput
        /// The session's properties; empty without a session.
        var properties: [PropertyKey: PropertyValue]
        /// The format that was written.
        var format: PixelFormat
        var writer: FrameWriter
        /// How colors relate to alpha in the decoded frames; nil without alpha.
        var alphaMode: AlphaChannelMode?
        /// The check of an output that has one frame rate; nil for others.
        var rate: RateCheck?
        /// What was printed of the temporal levels before work began.
        var earlyLevelWarning: String?
        var seconds: Double
        var earlyEnd: EarlyEnd?
    }

    private var schema = 2
    private var input: String
    private var output: String
    private var codec: String
    private var decoderID: String
    private var usingHardware: Bool
    private var fallbackReason: String?
    private var width: Int
    private var height: Int
    private var pixelFormat: String
    private var pixelTransferDevice: String?
    private var pixelTransferFallbackReason: String?
    private var conversion: String?
    private var frames: Int
    private var hardwareFrames: Int
    private var damagedFrames: Int
    private var droppedFrames: Int
    private var decodeErrors: Int
    private var firstDecodeError: String?
    private var repairedTimestamps: Int
    private var discontinuities: Int
    private var seconds: Double
    private var framesPerSecond: Double
    private var fileBytes: Int
    private var earlyEndReason: String?
    private var alphaMode: String?
    private var alphaMissingFrames: Int
    private var firstAlphaError: String?
    private var alphaWarning: String?
    private var rpuAppliedFrames: Int?
    private var rpuRefusedFrames: Int?
    private var firstRPURefusal: String?
    private var levels: LevelSummary?
    private var lateWarning: String?
    private var irregularFrames: Int?
    private var rateWarning: String?
    private var restartNote: String?

    enum CodingKeys: String, CodingKey {
        case schema, input, output, codec, width, height, conversion, frames, seconds, discontinuities
        case decoderID = "DecoderID"
        case usingHardware = "UsingHardwareAcceleratedVideoDecoder"
        case fallbackReason = "FallbackReason"
        case pixelFormat = "pixel_format"
        case pixelTransferDevice = "PixelTransferDevice"
        case pixelTransferFallbackReason = "PixelTransferFallbackReason"
        case hardwareFrames = "hardware_frames"
        case damagedFrames = "damaged_frames"
        case droppedFrames = "dropped_frames"
        case decodeErrors = "decode_errors"
        case firstDecodeError = "first_decode_error"
        case repairedTimestamps = "repaired_timestamps"
        case framesPerSecond = "frames_per_second"
        case fileBytes = "file_bytes"
        case earlyEndReason = "broken_off"
        case alphaMode = "alpha_mode"
        case alphaMissingFrames = "alpha_missing_frames"
        case firstAlphaError = "first_alpha_error"
        case rpuAppliedFrames = "rpu_applied_frames"
        case rpuRefusedFrames = "rpu_refused_frames"
        case firstRPURefusal = "first_rpu_refusal"
        case levels = "temporal_levels"
        case irregularFrames = "irregular_frames"
    }

    init(_ outcome: Outcome) {
        let (request, properties, writer) = (outcome.request, outcome.properties, outcome.writer)
        let video = outcome.input.reader.video
        let session = outcome.input.session
        let report = outcome.input.source.report
        func text(_ key: PropertyKey) -> String? {
            if case .string(let text)? = properties[key] { text } else { nil }
        }
        input = request.input
        output = request.output
        restartNote = text(.notices).flatMap {
            session?.session.restartCount ?? 0 > 0 ? "note: decoder: \($0)" : nil
        }
        codec = video.codec
        decoderID = session?.session.created.decoderID ?? "hwctl"
        usingHardware = properties[.usingHardwareDecoder] == .bool(true)
        fallbackReason =
            request.fallbackReason ?? text(.fallbackReason)
            ?? (session == nil ? "this kind of \(video.codec) is decoded by hwctl itself" : nil)
        width = writer.size?.width ?? video.width
        height = writer.size?.height ?? video.height
        pixelFormat = outcome.format.rawValue
        pixelTransferDevice = text(.pixelTransferDevice)
        pixelTransferFallbackReason = text(.pixelTransferFallbackReason)
        conversion = video.conversion
        frames = writer.frames
        hardwareFrames = session?.hardwareFrames ?? 0
        damagedFrames = report.damagedFrames
        droppedFrames = report.droppedFrames
        decodeErrors = report.errors
        firstDecodeError = report.firstError
        repairedTimestamps = report.repairedTimestamps
        discontinuities = report.discontinuities
        seconds = outcome.seconds
        framesPerSecond = Double(writer.frames) / max(seconds, 1e-6)
        fileBytes = writer.bytes
        earlyEndReason = outcome.earlyEnd?.error.reason
        alphaMode = outcome.alphaMode?.rawValue
        alphaMissingFrames = report.alphaMissingFrames
        firstAlphaError = report.firstAlphaError
        alphaWarning = EncodeAlpha.warning(report)
        if request.appliesRPU {
            (rpuAppliedFrames, rpuRefusedFrames) = (report.mappedFrames, report.refusedRPUs)
            firstRPURefusal = report.firstRPURefusal
        }
        levels = LevelSummary(outcome.input.reader.levels, leftOut: report.leftOut)
        irregularFrames = outcome.rate?.irregularFrames
        rateWarning = outcome.rate?.warning(request.output)
        lateWarning = levels?.lateWarning(outcome.earlyLevelWarning)
    }

    /// The line about RPUs, where they were to be applied.
    private var rpuLine: String? {
        guard let rpuAppliedFrames, let rpuRefusedFrames else { return nil }
        if rpuRefusedFrames > 0 {
            return
                "warning: the RPUs of \(Console.count(rpuRefusedFrames, "frame")) are not applied, first: \(firstRPURefusal ?? "unknown")"
        }
        if rpuAppliedFrames == 0 { return "no frame has an RPU: --apply-rpu changes nothing" }
        let rest = frames - rpuAppliedFrames
        return "RPU: applied to \(Console.count(rpuAppliedFrames, "frame"))"
            + (rest > 0 ? ", \(rest) have none" : "")
    }

    /// The human-readable lines.
    var lines: [String] {
        var lines: [String] = []
        if decodeErrors > 0 {
            lines.append(
                "warning: the input is damaged in \(Console.count(decodeErrors, "place")), first: \(firstDecodeError ?? "unknown")"
            )
        }
        if damagedFrames > 0 {
            lines.append(
                "warning: \(Console.count(damagedFrames, "frame")) with concealed samples, up to the next key frame"
            )
        }
        if droppedFrames > 0 {
            lines.append("warning: \(Console.count(droppedFrames, "packet")) yielded no picture")
        }
        if let alphaWarning {
            lines.append(alphaWarning)
        } else if let firstAlphaError {
            lines.append("warning: alpha is damaged, first: \(firstAlphaError)")
        }
        if let rpuLine { lines.append(rpuLine) }
        if let jumps = Self.warning(discontinuities: discontinuities) { lines.append(jumps) }
        if let rateWarning { lines.append(rateWarning) }
        if let lateWarning { lines.append(lateWarning) }
        if let levels { lines.append(levels.line) }
        let why = usingHardware ? "hardware" : "software" + (fallbackReason.map { ": \($0)" } ?? ", as requested")
        lines.append("decoder: \(decoderID) (\(why))")
        if let restartNote { lines.append(restartNote) }
        if let pixelTransferDevice {
            lines.append(
                "converter: \(pixelTransferDevice)" + (pixelTransferFallbackReason.map { " (\($0))" } ?? ""))
        }
        lines.append(
            "\(output): \(Console.count(frames, "frame")) of \(width)x\(height) in \(Progress.decimal(seconds, 2)) s "
                + "(\(Progress.decimal(framesPerSecond, 1)) fps), \(pixelFormat)")
        return lines
    }
}
