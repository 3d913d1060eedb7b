// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWClient
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVWriting
internal import HWDModel

/// `hwctl decode`.
struct DecodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Decode a video to raw frames or pictures through a decompression session of the daemon.",
        discussion: """
            EXAMPLES
              hwctl decode clip.mov clip.y4m
              hwctl decode --format rgba16f --primaries p3 hdr.mov hdr.raw
              hwctl decode --format rgba16f --apply-rpu phone.mov hdr.raw
              hwctl decode --format nv12 clip.mp4 clip.yuv
              hwctl decode clip.mkv - | ffplay -i -
              hwctl decode --at 12.5 clip.mov picture.png
              hwctl decode --at 0,10,1:20 clip.mov picture-%02d.png
              hwctl decode --format yuva title.mov title-%04d.png
              hwctl decode --background 00ff00 title.mov title.y4m
              hwctl decode photo.heic photo.jpg
              hwctl decode --region 1000x800+2000+1500 photo.heic part.png
              hwctl decode --frame 3 sticker.heics third.png

            INPUT is any file that libavformat reads. HEVC is decoded by the daemon, in hardware where that is verified; \
            other codecs are decoded in this process. The extension of OUTPUT selects the format: .y4m is YUV4MPEG2, \
            .yuv and .raw are samples without a header, .png is the first picture, and frame-%04d.png is every \
            picture. - is Y4M on standard output. OUTPUT is created only when it is complete, all pictures of a series \
            together; see --keep-partial. If \
            the decoder fails in the middle of the video, another process continues with the same pictures, after a second \
            failure of hardware in software unless hardware is required, and the reason is reported.

            Frames are written in presentation order, cropped to the file's clean aperture, in the stream's bit depth: \
            10 bits become 8 only if --format requires it. Damaged pictures are written, counted and reported. \
            Where the size changes within the input, a series of .png of HEVC continues; other outputs hold one size, and \
            decoding ends with an error, for which --keep-partial keeps the frames before.

            A .png is for viewers: PQ and HLG are tone-mapped to sRGB with white at 203 cd/m² (BT.2390, 8 bit), and the \
            picture is turned and mirrored as the file's display matrix says. --raw-color writes R'G'B' as the stream codes \
            it instead, 16 bit where the stream has more than 8, in the stored orientation.

            --apply-rpu maps each picture by its Dolby Vision RPU (profiles 5, 8.1 and 8.4) when it becomes RGB, which .png \
            and --format rgba16f, bgra8 and rgba8 do; the colors that the mapping gives are PQ of BT.2020 up to the peak that \
            the RPU names. Frames without an RPU, and those whose RPU cannot be applied (profile 7, whose enhancement layer \
            is not decoded), are converted as without the option, and counted.

            Alpha is decoded if requested: --format yuva adds a full-range alpha plane as the file codes it, and a .png \
            of that is RGBA with straight alpha, or as --alpha sets. --background composites the picture over a color \
            instead. Without alpha in the file, all pictures are opaque.

            --format rgba16f writes half floats R, G, B, A in extended linear light: 1.0 is reference white, highlights \
            are above 1.0. bgra8 and rgba8 are bytes with the sRGB transfer function; frames \
            that this process decoded are converted by a pixel-transfer session. The color description of each picture \
            applies, and its alpha, with colors premultiplied if the stream's are, or as --alpha sets.

            --max-level N leaves out the temporal levels of an HEVC video above N; 0 keeps only the base layer. The \
            sample groups (tscl) of a .mov or .mp4 signal the level of each picture; without them, and where they \
            contradict a picture, the NAL unit headers do, and a note or warning is printed.

            INPUT may be a HEIC or HEIF file. Its primary picture, or that of --item, is decoded by the tile through one \
            session, cropped, turned and mirrored as its properties say, and written as .png (with its alpha and ICC profile), \
            .jpg (upright, with Exif of orientation 1), .y4m, .yuv or .raw. With --region only the tiles of that part are read. \
            --thumbnail takes the smallest embedded thumbnail that suffices, and scales down. --aux writes the alpha, depth or \
            gain map in gray. Of an image sequence (.heics) all pictures are decoded as of a video, without alpha, or with --frame \
            one. JPEG, AVCI and other items that no session takes are decoded in this process.
            """)

    @Argument(help: "The video to decode.")
    var input: String

    @Argument(
        help:
            "The file to write: .y4m, .yuv, .raw or .png (frame-%04d.png for every picture), of HEIC .jpg; - is Y4M."
    )
    var output: String

    @Option(help: "Whether hardware is preferred, required or off.")
    var hardware = EncoderArguments.Hardware.prefer

    @Option(
        help: ArgumentHelp(
            "Frames per second of pictures and raw streams, such as 25, 23.976 or 30000/1001; 25 by default.",
            valueName: "rate"))
    var frameRate: String?

    @Option(
        help: ArgumentHelp("Leave out the temporal levels of an HEVC input above this one.", valueName: "0-6"))
    var maxLevel: Int?

    @Option(
        help: ArgumentHelp(
            "Write only the pictures that are shown at these times, as .png; seconds or h:m:s, separated by commas.",
            valueName: "time,..."))
    var at: String?

    @OptionGroup(title: "Pictures and colors")
    var picture: DecodePictureArguments

    @OptionGroup(title: "Effects")
    var effects: EffectArguments

    @OptionGroup(title: "Files")
    var replacing: ReplaceArguments

    @OptionGroup(title: "HEIC")
    var still: StillDecodeArguments

    @Flag(help: "If the input ends early, keep the frames before that; the exit code still reports the error.")
    var keepPartial = false

    @OptionGroup(title: "Sessions")
    var sessions: SessionArguments

    @OptionGroup(title: "Messages")
    var messages: ProgressArguments

    @Flag(help: "Print one JSON document about the result on standard output.")
    var json = false

    func run() throws {
        try report(output: output) {
            let files = [output] + [still.exif].compactMap { $0 }
            guard try replacing.writes(over: files.flatMap(FrameWriter.existingFiles), asks: input != "-") else {
                return Console.file("\(output): exists, skipped")
            }
            let interruption = try Interruption()
            if let input = try stillInput() {
                return try StillDecodeJob(input, stillRequest(specification)).run(interruption)
            }
            var job = job(specification)
            try SessionRequest.policy.run(
                repeatingIf: { remedy, error in
                    guard let next = try self.job(after: job, for: remedy, error) else { return false }
                    if interruption.isSet { throw CommandFailure.interrupted }
                    job = next
                    return true
                },
                { try job.run(interruption) })
        }
    }

    /// Another attempt at a job that failed; nil where there is none.
    private func job(
        after job: DecodeJob, for remedy: ClientError.Remedy, _ error: ClientError
    ) throws -> DecodeJob? {
        guard job.request.canRepeat else { return nil }
        switch remedy {
        case .slots:
            Console.detail("waiting for slots of all sessions: \(error.reason)")
            return DecodeJob(job.request)
        case .software(.decompression) where hardware == .prefer:
            Console.note("the hardware decoder failed, decoding again in software: \(error.reason)")
            let reason = "\(error.reason) (in the middle of the video)"
            return self.job([.enableHardwareDecoder: .bool(false)], fallbackReason: reason)
        case .software: return nil
        }
    }

    private func job(
        _ specification: [PropertyKey: PropertyValue], fallbackReason: String? = nil
    ) -> DecodeJob {
        DecodeJob(
            DecodeJob.Request(
                input: input, output: output, replaces: replacing.replaces, specification: specification,
                properties: properties,
                format: picture.format?.pixelFormat, alphaMode: picture.alpha?.mode ?? .straight,
                background: picture.background.flatMap { BackgroundCompositor.RGB(text: $0) },
                keepsColor: picture.rawColor,
                appliesRPU: picture.appliesRPU, effects: effects.list,
                frameRate: frameRate.flatMap { Rational(text: $0) },
                maxLevel: maxLevel,
                times: times ?? [], keepsPartial: keepPartial, json: json, fallbackReason: fallbackReason))
    }

    /// The times of `--at` in microseconds; nil for text that is none.
    var times: [Int64]? {
        guard let at else { return [] }
        let times = at.split(separator: ",", omittingEmptySubsequences: false)
            .map { TimeRange.microseconds(String($0)) }
        return times.contains(nil) ? nil : times.compactMap { $0 }
    }

    /// The session's properties: the RGB it converts to.
    private var properties: [PropertyKey: PropertyValue] {
        var properties: [PropertyKey: PropertyValue] = [:]
        properties[.destinationColorPrimaries] = picture.primaries.map { .int($0.code) }
        if let format = picture.format, !format.pixelFormat.isYCbCr {
            properties[.destinationAlphaMode] = picture.alpha.map { .string($0.rawValue) }
        }
        if picture.appliesRPU { properties[.appliesHDRMetadata] = .bool(true) }
        properties[.referenceWhite] = picture.referenceWhite.map(PropertyValue.double)
        properties[.pixelTransferDevicePreference] = picture.device.map { .string($0.rawValue) }
        return properties
    }

    var specification: [PropertyKey: PropertyValue] {
        switch hardware {
        case .prefer: [.enableHardwareDecoder: .bool(true)]
        case .require: [.requireHardwareDecoder: .bool(true)]
        case .off: [.enableHardwareDecoder: .bool(false)]
        }
    }
}
