// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWClient
internal import HWDControlCommands
internal import HWDModel
internal import HWDWire

/// `hwctl encode`.
struct EncodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encode",
        abstract: "Encode a video as HEVC through a compression session of the daemon.",
        discussion: """
            INPUT is any file libavformat reads, a series of pictures (frame-%04d.png), or - for Y4M on standard \
            input. OUTPUT is chosen by its ending: .mov and .mp4 hold the video (hvc1, fast start) with its \
            timestamps, rotation, colour and HDR metadata, and the input's audio, subtitles, chapters and timecode as \
            they are; what cannot be held is named. .hevc is a raw Annex B stream, and so is - (standard output). An \
            output appears whole or not at all; see --keep-partial. Where hardware fails in the middle and was not \
            required, the whole is encoded again in software and the reason told.

            --copy codes nothing and asks no daemon: an HEVC video and its companions go into OUTPUT as they are. \
            --max-level N leaves out the temporal levels above N, with or without --copy: 0 keeps the base layer alone. \
            In a .mov or .mp4 the file's own annotations (tscl) say which pictures those are; elsewhere, and where an \
            annotation contradicts a picture, the NAL units do, which is told. What is left is shown when it was before, \
            its parameter sets and annotations speak of the levels that are left alone, and each picture lasts until \
            the next one.

            Without --bitrate, --quality or --qp the quality is 0.5. The bit depth follows the source: a 10-bit source \
            becomes Main10, and --profile main refuses it. With --alpha it is Main.

            Files with alpha (ProRes 4444, PNG, Animation, VP9) have straight colours, and so it is taken, unless \
            --property SourceAlphaMode=premultiplied says otherwise.

            EXAMPLES
              hwctl encode talk.mp4 talk.mov
              hwctl encode --bitrate 6M --preset fast --hardware require clip.mkv clip.mp4
              hwctl encode --alpha premultiplied title.mov title-hevc.mov
              hwctl encode slow-motion.mp4 out.mov --base-layer-frame-rate 30 --expected-frame-rate 240
              ffmpeg -i in.avi -f yuv4mpegpipe - | hwctl encode - out.mov --quality 0.7
              hwctl encode --copy --max-level 0 slow-motion.mov small.mov
            """)

    enum ProfileName: String, ExpressibleByArgument, CaseIterable { case main, main10 }
    enum AlphaMode: String, ExpressibleByArgument, CaseIterable { case premultiplied, straight }
    enum Hardware: String, ExpressibleByArgument, CaseIterable { case prefer, require, off }

    @Argument(help: "The video to encode, or pictures as frame-%04d.png; - is Y4M on standard input.")
    var input: String

    @Argument(help: "The file to write: .mov, .mp4 or .hevc; - is Annex B on standard output.")
    var output: String

    @Option(help: "The HEVC profile; by default the one that holds the source's bit depth.")
    var profile: ProfileName?

    @Option(parsing: .unconditional, help: ArgumentHelp("Average bits a second, with k or M.", valueName: "rate"))
    var bitrate: String?

    @Option(parsing: .unconditional, help: ArgumentHelp("Constant quality from 0.0 to 1.0.", valueName: "0.0…1.0"))
    var quality: Double?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Constant quantisation parameter from 0 to 51.", valueName: "n")
    )
    var qp: Int?

    @Option(help: ArgumentHelp("x265's trade of speed for compression (software only).", valueName: "x265-name"))
    var preset: String?

    @Option(
        help: """
            Keep the input's alpha, in a second layer (HEVC with alpha), and whether colours are multiplied by it. An \
            input without alpha is refused.
            """)
    var alpha: AlphaMode?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Quality of the alpha layer from 0.0 to 1.0.", valueName: "0.0…1.0"))
    var alphaQuality: Double?

    @Option(help: "Whether hardware is preferred, required or off.")
    var hardware = Hardware.prefer

    @Option(
        help: ArgumentHelp(
            "Encode on this render node, or on the one at this PCI address, if hardware encodes.", valueName: "node"
        ))
    var device: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Most frames from a key frame to the next.", valueName: "n"))
    var keyframeInterval: Int?

    @Option(
        help: ArgumentHelp(
            "Frames a second of the lowest temporal level, which players can decode alone; each level above it doubles the rate, up to --expected-frame-rate.",
            valueName: "rate"))
    var baseLayerFrameRate: String?

    @Option(
        help: ArgumentHelp(
            "Frames a second that the encoder counts with, as 240 or 30000/1001; the source's when not given.",
            valueName: "rate"))
    var expectedFrameRate: String?

    @Option(
        help: ArgumentHelp(
            "Set a session property, named as in VideoToolbox; may be repeated.", valueName: "key=value"))
    var property: [String] = []

    @Option(
        help: ArgumentHelp(
            "Frames a second of pictures and raw streams, as 25, 23.976 or 30000/1001; 25 when not given.",
            valueName: "rate"))
    var frameRate: String?

    @Flag(help: "Copy the video as it is coded; HEVC alone, and no option that codes it anew.")
    var copy = false

    @Option(
        help: ArgumentHelp("Leave out temporal levels of an HEVC input above this one.", valueName: "0…6"))
    var maxLevel: Int?

    @Flag(help: "When the input breaks off, keep the frames before that; the exit code still says that it did.")
    var keepPartial = false

    @Flag(help: "Print one JSON document about the result on standard output.")
    var json = false

    func validate() throws {
        if [bitrate != nil, quality != nil, qp != nil].count(where: { $0 }) > 1 {
            throw ValidationError("--bitrate, --quality and --qp contradict each other: give one.")
        }
        if let bitrate, Self.bits(bitrate) == nil {
            throw ValidationError("--bitrate takes a number such as 800k or 6M, not '\(bitrate)'.")
        }
        if alphaQuality != nil, alpha == nil {
            throw ValidationError("--alpha-quality needs --alpha.")
        }
        if let alphaQuality, !(0...1).contains(alphaQuality) {
            throw ValidationError("--alpha-quality takes a number from 0.0 to 1.0, not \(alphaQuality).")
        }
        try Self.check(maxLevel: maxLevel)
        if copy, let option = codingOption {
            throw ValidationError("--copy codes nothing: \(option) has no meaning with it.")
        }
        if device != nil, hardware == .off {
            throw ValidationError("--device names hardware, which --hardware off leaves out.")
        }
        if json, output == "-" {
            throw ValidationError("--json and the output - would both go to standard output.")
        }
        for (option, rate) in [
            ("frame-rate", frameRate), ("base-layer-frame-rate", baseLayerFrameRate),
            ("expected-frame-rate", expectedFrameRate),
        ] {
            guard let rate, Rational(text: rate).map({ $0.value < 0.001 || $0.value > 1000 }) ?? true else {
                continue
            }
            throw ValidationError(
                "--\(option) takes a rate from 0.001 to 1000, such as 25 or 30000/1001, not '\(rate)'.")
        }
        for text in property where !text.contains("=") || text.hasPrefix("=") {
            throw ValidationError("--property takes KEY=VALUE, not '\(text)'.")
        }
    }

    /// Refuses a temporal level that HEVC does not have (TemporalId, H.265 7.4.2.2).
    static func check(maxLevel: Int?) throws {
        guard let maxLevel, !(0...6).contains(maxLevel) else { return }
        throw ValidationError("--max-level takes a temporal level from 0 to 6, not \(maxLevel).")
    }

    /// An option that was given and codes the video anew; nil without any.
    private var codingOption: String? {
        let options: [(String, Bool)] = [
            ("--profile", profile != nil), ("--bitrate", bitrate != nil), ("--quality", quality != nil),
            ("--qp", qp != nil), ("--preset", preset != nil), ("--hardware", hardware != .prefer),
            ("--device", device != nil), ("--keyframe-interval", keyframeInterval != nil),
            ("--base-layer-frame-rate", baseLayerFrameRate != nil),
            ("--expected-frame-rate", expectedFrameRate != nil), ("--property", !property.isEmpty),
            ("--frame-rate", frameRate != nil), ("--alpha", alpha != nil),
            ("--alpha-quality", alphaQuality != nil),
        ]
        return options.first { $0.1 }?.0
    }

    func run() throws {
        if copy {
            return try report {
                let request = CopyJob.Request(
                    input: input, output: output, maxLevel: maxLevel, keepsPartial: keepPartial, json: json)
                try CopyJob(request).run(try Interruption())
            }
        }
        try report {
            // Signals are blocked before any other thread starts, so that all of them inherit that.
            let interruption = try Interruption()
            let job = job(specification)
            do {
                try job.run(interruption)
            } catch let error as ClientError where mayTryAgain(job, error) {
                let reason = "\(error.reason) (in the middle of the video)"
                Console.note("the hardware encoder failed, encoding again in software: \(error.reason)")
                try self.job([.enableHardware: .bool(false)], fallbackReason: reason).run(interruption)
            } catch let error as ClientError where mayDecodeAgain(job, error) {
                Console.note("the hardware decoder failed, beginning again with one in software: \(error.reason)")
                try self.job(specification, allowsHardwareDecoder: false).run(interruption)
            }
        }
    }

    private func job(
        _ specification: [PropertyKey: PropertyValue], fallbackReason: String? = nil,
        allowsHardwareDecoder: Bool = true
    ) -> EncodeJob {
        EncodeJob(
            EncodeJob.Request(
                input: input, output: output,
                parameters: EncodeParameters(
                    specification: specification, wanted: properties, keepsAlpha: alpha != nil,
                    allowsHardwareDecoder: allowsHardwareDecoder),
                frameRate: frameRate.flatMap { Rational(text: $0) }, maxLevel: maxLevel, keepsPartial: keepPartial,
                json: json, fallbackReason: fallbackReason))
    }

    /// Whether it was the hardware decoder that failed, which nobody required; the output appears only when it is whole.
    private func mayDecodeAgain(_ job: EncodeJob, _ error: ClientError) -> Bool {
        guard job.decodesInHardware, input != "-", output != "-" else { return false }
        return error.code == .session(.videoDecoderMalfunction)
    }

    /// Whether hardware failed that was only preferred, and nothing has been read or written that cannot be again.
    private func mayTryAgain(_ job: EncodeJob, _ error: ClientError) -> Bool {
        guard hardware == .prefer, job.usesHardware, input != "-", output != "-" else { return false }
        return error.code == .session(.videoEncoderMalfunction)
            || error.code == .session(.videoEncoderNotAvailableNow)
    }

    private var specification: [PropertyKey: PropertyValue] {
        var specification: [PropertyKey: PropertyValue]
        switch hardware {
        case .prefer: specification = [.enableHardware: .bool(true)]
        case .require: specification = [.requireHardware: .bool(true)]
        case .off: specification = [.enableHardware: .bool(false)]
        }
        if let device {
            specification[hardware == .require ? .requiredGPU : .preferredGPU] = .string(device)
        }
        return specification
    }

    /// What the options ask for; `--property` has the last word.
    private var properties: [PropertyKey: PropertyValue] {
        var properties: [PropertyKey: PropertyValue] = [:]
        if let profile {
            properties[.profileLevel] = .string(profile == .main ? "HEVC_Main_AutoLevel" : "HEVC_Main10_AutoLevel")
        }
        if let bits = bitrate.flatMap(Self.bits) { properties[.averageBitRate] = .int(bits) }
        if let quality { properties[.quality] = .double(quality) }
        if let qp { properties[.qp] = .int(Int64(qp)) }
        if let alpha { properties[.alphaChannelMode] = .string(alpha.rawValue) }
        if let alphaQuality { properties[.targetQualityForAlpha] = .double(alphaQuality) }
        if let preset { properties[.x265Preset] = .string(preset) }
        if let keyframeInterval { properties[.maxKeyFrameInterval] = .int(Int64(keyframeInterval)) }
        for (key, rate) in [
            (PropertyKey.baseLayerFrameRate, baseLayerFrameRate), (.expectedFrameRate, expectedFrameRate),
        ] {
            if let rate = rate.flatMap({ Rational(text: $0) }) { properties[key] = .string(rate.description) }
        }
        for text in property {
            let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            properties[PropertyKey(rawValue: String(pair[0]))] = Self.value(String(pair[1]))
        }
        return properties
    }

    /// A property's value: JSON where it looks like a list or an object, else as `PropertyValue` reads it.
    private static func value(_ text: String) -> PropertyValue {
        if text.hasPrefix("[") || text.hasPrefix("{"),
            let value = try? JSON.decode(PropertyValue.self, from: Array(text.utf8))
        {
            return value
        }
        return PropertyValue(commandLine: text)
    }

    /// Bits a second from `6M`, `800k`, `1500000`; nil when it reads as none of these.
    static func bits(_ text: String) -> Int64? {
        let scale: Double
        switch text.last {
        case "k", "K": scale = 1e3
        case "m", "M": scale = 1e6
        default: scale = 1
        }
        guard let number = Double(scale == 1 ? text : String(text.dropLast())), number >= 0, number * scale < 1e12
        else { return nil }
        return Int64((number * scale).rounded())
    }
}
