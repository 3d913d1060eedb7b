// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDComparison
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDWire

/// What `hwctl encode` reports at its end.
struct EncodeSummary: FileSummary {
    /// A complete run.
    struct Outcome {
        var request: EncodeJob.Request
        var input: DecodedInput
        /// The output's video.
        var video: VideoDescription
        var encoder: CreateCompressionSession.Reply
        var properties: [PropertyKey: PropertyValue]
        var frames: Int
        var videoBytes: Int
        /// The input's size where all of it was encoded.
        var inputBytes: Int?
        var fileBytes: Int
        var seconds: Double
        /// Streams and metadata of the source that the output does not hold.
        var notCopied: [String]
        /// The sound that was converted.
        var conversions: [String]
        var warnings: [String]
        /// Frames that were scaled and converted to the size and format of the first.
        var changes: FormatChanges
        var color: Color
        /// The warning about temporal levels that was printed before encoding began.
        var earlyLevelWarning: String?
        var earlyEnd: EarlyEnd?
        /// The output's comparison with the input; nil where it was not verified.
        var receipt: Receipt?
    }

    /// The output's color, and how it was made.
    struct Color {
        /// The format of the encoder's frames.
        var format: PixelFormat
        /// The conversion of the source's colors; nil where they stay.
        var conversion: String?
        /// Frames whose color is not the first one's, and was converted.
        var changedFrames: Int
        /// What converted; nil where nothing was.
        var device: String?

        init(_ plan: EncodeColor, _ video: VideoDescription, _ source: ConvertingSource) {
            (format, conversion) = (plan.format, plan.summary(video))
            (changedFrames, device) = (source.counts.frames, source.device)
        }
    }

    private var schema = 2
    private var input: String
    private var output: String
    private var encoderID: String
    private var usingHardware: Bool
    private var fallbackReason: String?
    private var properties: [String: PropertyValue]
    private var width: Int
    private var height: Int
    private var sourceFormat: String
    private var pixelFormat: String
    private var conversion: String?
    private var frames: Int
    private var decodeErrors: Int
    private var firstDecodeError: String?
    private var damagedFrames: Int
    private var repairedTimestamps: Int
    private var discontinuities: Int
    private var scaledFrames: Int
    private var convertedFrames: Int
    private var colorConversion: String?
    private var colorChangedFrames: Int
    private var pixelTransferDevice: String?
    private var decoderID: String?
    private var hardwareDecodedFrames: Int?
    private var seconds: Double
    private var framesPerSecond: Double
    private var videoBytes: Int
    private var inputBytes: Int?
    private var fileBytes: Int
    private var averageBitRate: Double?
    private var notCopied: [String]
    private var convertedAudio: [String]
    private var warnings: [String]
    private var earlyEndReason: String?
    private var levels: LevelSummary?
    private var lateWarning: String?
    private var receipt: Receipt?
    private var segment: SegmentSummary?

    enum CodingKeys: String, CodingKey {
        case schema, input, output, properties, width, height, conversion, frames, seconds, warnings
        case discontinuities, receipt, segment
        case encoderID = "EncoderID"
        case usingHardware = "UsingHardwareAcceleratedVideoEncoder"
        case fallbackReason = "FallbackReason"
        case scaledFrames = "scaled_frames"
        case convertedFrames = "converted_frames"
        case colorConversion = "color_conversion"
        case colorChangedFrames = "color_changed_frames"
        case pixelTransferDevice = "PixelTransferDevice"
        case sourceFormat = "source_format"
        case pixelFormat = "pixel_format"
        case decodeErrors = "decode_errors"
        case firstDecodeError = "first_decode_error"
        case damagedFrames = "damaged_frames"
        case decoderID = "DecoderID"
        case hardwareDecodedFrames = "hardware_decoded_frames"
        case repairedTimestamps = "repaired_timestamps"
        case framesPerSecond = "frames_per_second"
        case videoBytes = "video_bytes"
        case inputBytes = "input_bytes"
        case fileBytes = "file_bytes"
        case averageBitRate = "average_bit_rate"
        case notCopied = "not_copied"
        case convertedAudio = "converted_audio"
        case levels = "temporal_levels"
        case earlyEndReason = "broken_off"
    }

    init(_ outcome: Outcome) {
        let video = outcome.input.reader.video
        let report = outcome.input.source.report
        input = outcome.request.file.input
        output = outcome.request.file.output
        encoderID = outcome.encoder.encoderID
        usingHardware = outcome.encoder.usingHardware
        fallbackReason = outcome.encoder.fallbackReason
        properties = Dictionary(uniqueKeysWithValues: outcome.properties.map { ($0.key.rawValue, $0.value) })
        (width, height) = outcome.video.shown
        sourceFormat = video.sourceFormat
        pixelFormat = outcome.color.format.rawValue
        decoderID = outcome.input.session?.session.created.decoderID
        hardwareDecodedFrames = outcome.input.session?.hardwareFrames
        conversion = video.conversion
        (colorConversion, colorChangedFrames) = (outcome.color.conversion, outcome.color.changedFrames)
        pixelTransferDevice = outcome.color.device
        frames = outcome.frames
        decodeErrors = report.errors
        firstDecodeError = report.firstError
        damagedFrames = report.damagedFrames
        repairedTimestamps = report.repairedTimestamps
        discontinuities = report.discontinuities
        (scaledFrames, convertedFrames) = (outcome.changes.scaled, outcome.changes.converted)
        seconds = outcome.seconds
        framesPerSecond = Double(frames) / max(seconds, 1e-6)
        videoBytes = outcome.videoBytes
        (inputBytes, fileBytes) = (outcome.inputBytes, outcome.fileBytes)
        if let rate = video.averageFrameRate, frames > 0 {
            averageBitRate = Double(videoBytes) * 8 * rate.value / Double(frames)
        }
        (notCopied, convertedAudio) = (outcome.notCopied, outcome.conversions)
        warnings = outcome.warnings
        earlyEndReason = outcome.earlyEnd?.error.reason
        levels = LevelSummary(outcome.input.reader.levels, leftOut: report.leftOut)
        receipt = outcome.receipt
        segment = outcome.request.segment?.summary
        lateWarning = levels?.lateWarning(outcome.earlyLevelWarning)
    }

    /// The note about a bit rate that the video missed by more than a tenth; nil where it has it, or none was set.
    private var rateLine: String? {
        guard case .int(let wanted)? = properties[PropertyKey.averageBitRate.rawValue], wanted > 0,
            // Rate control needs some pictures.
            let averageBitRate, segment == nil, Double(videoBytes) * 8 / averageBitRate >= 1
        else { return nil }
        return Self.rateLine(wanted: Double(wanted), got: averageBitRate)
    }

    /// - Parameters:
    ///   - wanted: bits per second that were requested.
    ///   - got: those of the video.
    static func rateLine(wanted: Double, got: Double) -> String? {
        let share = (got / wanted - 1) * 100
        guard abs(share) > 10 else { return nil }
        return "note: the video has \(rate(got)), \(Progress.decimal(abs(share), 0)) % "
            + "\(share < 0 ? "less" : "more") than requested (\(rate(wanted)))"
    }

    private static func rate(_ bits: Double) -> String {
        bits < 1e6 ? "\(Progress.decimal(bits / 1e3, 0)) kbit/s" : "\(Progress.decimal(bits / 1e6, 2)) Mbit/s"
    }

    var result: String {
        var line =
            "\(output): \(Console.count(frames, "frame")) of \(width)x\(height) in \(Progress.decimal(seconds, 2)) s"
        line += " (\(Progress.decimal(framesPerSecond, 1)) fps)"
        if let averageBitRate { line += ", video \(Progress.decimal(averageBitRate / 1000, 0)) kbit/s" }
        line += ", \(Progress.size(fileBytes))"
        if let inputBytes, inputBytes > 0 {
            line += ", \(Progress.decimal(Double(fileBytes) * 100 / Double(inputBytes), 0)) % of the input"
        }
        return line
    }

    /// The human-readable lines.
    var lines: [String] {
        var lines: [String] = []
        if decodeErrors > 0 {
            lines.append(
                "warning: the input is damaged in \(Console.count(decodeErrors, "place")), first: \(firstDecodeError ?? "unknown")"
            )
        }
        if repairedTimestamps > 0 {
            lines.append("warning: \(repairedTimestamps) timestamps of the input did not increase and were moved")
        }
        if let jumps = Self.warning(discontinuities: discontinuities) { lines.append(jumps) }
        if let lateWarning { lines.append(lateWarning) }
        if let levels { lines.append(levels.line) }
        if let pixelTransferDevice { lines.append("converter: \(pixelTransferDevice)") }
        if case .int(let levels)? = properties[PropertyKey.numberOfTemporalLevels.rawValue], levels > 1 {
            lines.append("temporal levels: \(levels)")
        }
        if case .string(let notices)? = properties[PropertyKey.notices.rawValue] {
            lines.append("note: \(notices)")
        }
        if let rateLine { lines.append(rateLine) }
        lines.append(result)
        if let receipt { lines += ReceiptReport(receipt: receipt).lines }
        return lines
    }
}
