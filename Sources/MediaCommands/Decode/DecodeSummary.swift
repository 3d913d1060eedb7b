// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDMediaFile
internal import HWDModel
internal import HWDWire

/// What `hwctl decode` says at the end, to people and to programs.
struct DecodeSummary: Encodable {
    private var schema = 1
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
    private var seconds: Double
    private var framesPerSecond: Double
    private var fileBytes: Int
    private var brokenOff: String?
    private var alphaMode: String?
    private var alphaMissingFrames: Int
    private var firstAlphaError: String?
    private var alphaWarning: String?
    private var levels: LevelSummary?
    private var lateWarning: String?

    enum CodingKeys: String, CodingKey {
        case schema, input, output, codec, width, height, conversion, frames, seconds
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
        case brokenOff = "broken_off"
        case alphaMode = "alpha_mode"
        case alphaMissingFrames = "alpha_missing_frames"
        case firstAlphaError = "first_alpha_error"
        case levels = "temporal_levels"
    }

    init(
        input: String, output: String, reader: MediaReader, created: CreateDecompressionSession.Reply?,
        fallbackReason: String?, properties: [PropertyKey: PropertyValue], format: PixelFormat, writer: FrameWriter,
        report: SourceReport, earlyWarning: String?, alphaMode: AlphaChannelMode?,
        hardwareFrames: Int, seconds: Double, brokenOff: String?
    ) {
        self.input = input
        self.output = output
        codec = reader.video.codec
        decoderID = created?.decoderID ?? "hwctl"
        usingHardware = properties[.usingHardwareDecoder] == .bool(true)
        if let fallbackReason {
            self.fallbackReason = fallbackReason
        } else if case .string(let reason)? = properties[.fallbackReason] {
            self.fallbackReason = reason
        } else if created == nil {
            self.fallbackReason = "\(reader.video.codec) of this kind is decoded in hwctl's own process"
        }
        width = writer.size?.width ?? reader.video.width
        height = writer.size?.height ?? reader.video.height
        pixelFormat = format.rawValue
        if case .string(let device)? = properties[.pixelTransferDevice] { pixelTransferDevice = device }
        if case .string(let reason)? = properties[.pixelTransferFallbackReason] {
            pixelTransferFallbackReason = reason
        }
        conversion = reader.video.conversion
        frames = writer.frames
        self.hardwareFrames = hardwareFrames
        damagedFrames = report.damagedFrames
        droppedFrames = report.droppedFrames
        decodeErrors = report.errors
        firstDecodeError = report.firstError
        repairedTimestamps = report.repairedTimestamps
        self.seconds = seconds
        framesPerSecond = Double(writer.frames) / max(seconds, 1e-6)
        fileBytes = writer.bytes
        self.brokenOff = brokenOff
        self.alphaMode = alphaMode?.rawValue
        alphaMissingFrames = report.alphaMissingFrames
        firstAlphaError = report.firstAlphaError
        alphaWarning = EncodeAlpha.warning(report)
        levels = LevelSummary(reader, leftOut: report.leftOut)
        lateWarning = levels?.lateWarning(earlyWarning)
    }

    /// The lines for people.
    var lines: [String] {
        var lines: [String] = []
        if decodeErrors > 0 {
            lines.append(
                "warning: the input is damaged in \(decodeErrors) places, first: \(firstDecodeError ?? "unknown")")
        }
        if damagedFrames > 0 {
            lines.append("warning: \(damagedFrames) frames have samples that are made up, up to the next key frame")
        }
        if droppedFrames > 0 { lines.append("warning: no picture came of \(droppedFrames) packets") }
        if let alphaWarning {
            lines.append(alphaWarning)
        } else if let firstAlphaError {
            lines.append("warning: alpha is damaged, first: \(firstAlphaError)")
        }
        if let lateWarning { lines.append(lateWarning) }
        if let levels { lines.append(levels.line) }
        let why = usingHardware ? "hardware" : "software" + (fallbackReason.map { ": \($0)" } ?? ", as asked")
        lines.append("decoder: \(decoderID) (\(why))")
        if let pixelTransferDevice {
            lines.append(
                "converter: \(pixelTransferDevice)" + (pixelTransferFallbackReason.map { " (\($0))" } ?? ""))
        }
        lines.append(
            "\(output): \(frames) frames of \(width)x\(height) in \(Progress.decimal(seconds, 2)) s "
                + "(\(Progress.decimal(framesPerSecond, 1)) fps), \(pixelFormat)")
        return lines
    }
}
