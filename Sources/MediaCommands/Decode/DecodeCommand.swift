// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWClient
internal import HWDControlCommands
internal import HWDMediaFile
internal import HWDModel

/// `hwctl decode`.
struct DecodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Decode a video to raw frames or pictures through a decompression session of the daemon.",
        discussion: """
            INPUT is any file libavformat reads. HEVC is decoded by the daemon, in hardware where that was verified; \
            other codecs are decoded in this process. OUTPUT is chosen by its ending: .y4m is YUV4MPEG2, .yuv and \
            .raw are samples without any header, .png is the first picture, and frame-%04d.png all of them. - is Y4M \
            on standard output. An output appears whole or not at all; see --keep-partial. \
            Where hardware fails in the middle and was not required, the whole is decoded again in software and the \
            reason told.

            Frames come in presentation order, cut to the file's clean aperture. Their depth is the stream's: 10 bits \
            become 8 only where --format asks for it. Damaged pictures are written, counted and told of.

            Alpha is decoded where it is asked for: --format yuva has a full-range alpha plane behind the others, as the \
            file codes it, and a .png of that is RGBA with straight alpha, or as --alpha says. --background lays the \
            picture over a colour instead. Where a file has no alpha, all is opaque.

            --format rgba16f gives half floats R, G, B, A in extended linear light: 1.0 is reference white and highlights \
            lie above; bgra8 and rgba8 are bytes with sRGB's curve. Each picture's own colour description is followed, \
            and its alpha, multiplied into the colours as the stream has it, or as --alpha says.

            --max-level N leaves out the temporal levels of an HEVC video above N; 0 keeps the base layer alone. A .mov or \
            .mp4 says itself which pictures those are (tscl); elsewhere the session reads it from the NAL units, which is \
            told, as is an annotation that contradicts them.

            EXAMPLES
              hwctl decode clip.mov clip.y4m
              hwctl decode --format rgba16f --primaries p3 hdr.mov hdr.raw
              hwctl decode --format nv12 clip.mp4 clip.yuv
              hwctl decode clip.mkv - | ffplay -i -
              hwctl decode --format yuva title.mov title-%04d.png
              hwctl decode --background 00ff00 title.mov title.y4m
            """)

    /// Where RGB is converted.
    enum Device: String, ExpressibleByArgument, CaseIterable {
        case auto, vulkan, cpu
    }

    enum Alpha: String, ExpressibleByArgument, CaseIterable {
        case premultiplied, straight

        var mode: AlphaChannelMode { self == .premultiplied ? .premultiplied : .straight }
    }

    @Argument(help: "The video to decode.")
    var input: String

    @Argument(help: "The file to write: .y4m, .yuv, .raw or .png (frame-%04d.png for all); - is Y4M.")
    var output: String

    @Option(help: "Whether hardware is preferred, required or off.")
    var hardware = EncodeCommand.Hardware.prefer

    @Option(help: "How samples lie; by default planar (i420, or i010 for more than 8 bits).")
    var format: RawFormat?

    @Option(help: "Whether the colours of RGBA pictures are multiplied by alpha: premultiplied or straight.")
    var alpha: Alpha?

    @Option(help: ArgumentHelp("The colour that a picture with alpha is laid over.", valueName: "RRGGBB"))
    var background: String?

    enum Primaries: String, ExpressibleByArgument, CaseIterable {
        case bt709 = "709"
        case p3
        case bt2020 = "2020"

        /// H.273's number.
        var code: Int64 { [.bt709: 1, .p3: 12, .bt2020: 9][self] ?? 2 }
    }

    @Option(help: "The primaries of rgba16f (p3 when not given), bgra8 and rgba8 (709 when not given).")
    var primaries: Primaries?

    @Option(parsing: .unconditional, help: "Nits of the linear value 1.0 in rgba16f; 203 when not given.")
    var referenceWhite: Double?

    @Option(help: "What converts to RGB: auto is a GPU where there is one.")
    var device: Device?

    @Option(
        help: ArgumentHelp(
            "Frames a second of pictures and raw streams, as 25, 23.976 or 30000/1001; 25 when not given.",
            valueName: "rate"))
    var frameRate: String?

    @Option(
        help: ArgumentHelp("Leave out temporal levels of an HEVC input above this one.", valueName: "0…6"))
    var maxLevel: Int?

    @Flag(help: "When the input breaks off, keep the frames before that; the exit code still says that it did.")
    var keepPartial = false

    @Flag(help: "Print one JSON document about the result on standard output.")
    var json = false

    func validate() throws {
        try EncodeCommand.check(maxLevel: maxLevel)
        if json, output == "-" {
            throw ValidationError("--json and the output - would both go to standard output.")
        }
        if let frameRate, Rational(text: frameRate).map({ $0.value < 0.001 || $0.value > 1000 }) ?? true {
            throw ValidationError(
                "--frame-rate takes a rate from 0.001 to 1000, such as 25 or 30000/1001, not '\(frameRate)'.")
        }
        let isRGB = format.map { !$0.pixelFormat.isYCbCr } ?? false
        let isPNG = output.lowercased().hasSuffix(".png")
        let isRaw = output.lowercased().hasSuffix(".yuv") || output.lowercased().hasSuffix(".raw")
        if primaries != nil || referenceWhite != nil || device != nil, !isRGB {
            throw ValidationError(
                "--primaries, --reference-white and --device are for --format rgba16f, bgra8 and rgba8.")
        }
        if let referenceWhite, !(1...10000).contains(referenceWhite) {
            throw ValidationError("--reference-white takes nits from 1 to 10000, not \(referenceWhite).")
        }
        if let background {
            guard BackgroundCompositor.RGB(text: background) != nil else {
                throw ValidationError("--background takes a colour as six hexadecimal digits, not '\(background)'.")
            }
            guard format == nil || format == .i420, alpha == nil else {
                throw ValidationError(
                    "--background leaves no alpha and gives i420: no other --format, and no --alpha.")
            }
        }
        if alpha != nil, !isRGB, format != .yuva || !isPNG {
            throw ValidationError(
                "--alpha is for rgba16f, bgra8, rgba8, and for .png of yuva; raw yuva is as the file has it.")
        }
        if format == .yuva, !isRaw, !isPNG {
            throw ValidationError("--format yuva is for .yuv, .raw and .png; Y4M holds no alpha.")
        }
        if let format, format.pixelFormat.isSemiPlanar || isRGB, !isRaw {
            throw ValidationError(
                "--format \(format.rawValue) is for .yuv and .raw; the others hold planar samples.")
        }
    }

    func run() throws {
        try report {
            let interruption = try Interruption()
            let job = job(specification)
            do {
                try job.run(interruption)
            } catch let error as ClientError where mayTryAgain(job, error) {
                Console.note("the hardware decoder failed, decoding again in software: \(error.reason)")
                let reason = "\(error.reason) (in the middle of the video)"
                try self.job([.enableHardwareDecoder: .bool(false)], fallbackReason: reason).run(interruption)
            }
        }
    }

    private func job(
        _ specification: [PropertyKey: PropertyValue], fallbackReason: String? = nil
    ) -> DecodeJob {
        DecodeJob(
            DecodeJob.Request(
                input: input, output: output, specification: specification, properties: properties,
                format: format?.pixelFormat, alphaMode: alpha?.mode ?? .straight,
                background: background.flatMap { BackgroundCompositor.RGB(text: $0) },
                frameRate: frameRate.flatMap { Rational(text: $0) }, maxLevel: maxLevel,
                keepsPartial: keepPartial, json: json, fallbackReason: fallbackReason))
    }

    /// Whether hardware failed that was only preferred, and nothing has been read or written that cannot be again.
    private func mayTryAgain(_ job: DecodeJob, _ error: ClientError) -> Bool {
        guard hardware == .prefer, job.usesHardware, input != "-", output != "-" else { return false }
        return error.code == .session(.videoDecoderMalfunction)
    }

    /// The session's properties: what RGB is to be.
    private var properties: [PropertyKey: PropertyValue] {
        var properties: [PropertyKey: PropertyValue] = [:]
        properties[.destinationColorPrimaries] = primaries.map { .int($0.code) }
        if let format, !format.pixelFormat.isYCbCr {
            properties[.destinationAlphaMode] = alpha.map { .string($0.rawValue) }
        }
        properties[.referenceWhite] = referenceWhite.map(PropertyValue.double)
        properties[.pixelTransferDevicePreference] = device.map { .string($0.rawValue) }
        return properties
    }

    private var specification: [PropertyKey: PropertyValue] {
        switch hardware {
        case .prefer: [.enableHardwareDecoder: .bool(true)]
        case .require: [.requireHardwareDecoder: .bool(true)]
        case .off: [.enableHardwareDecoder: .bool(false)]
        }
    }
}
