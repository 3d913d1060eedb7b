// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDColor
internal import HWDControlCommands
internal import HWDModel
internal import HWDWire

/// `hwctl convert`.
struct ConvertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Convert raw frames between Y'CbCr and RGB formats, and scale them.",
        discussion: """
            EXAMPLES
              hwctl convert in.p010 out.f16 --size 3840x2160 --from p010 --to rgba16f --transfer pq \\
                  --from-primaries 2020 --matrix 2020 --siting topleft --to-primaries p3
              hwctl convert in.f16 out.p010 --size 3840x2160 --from rgba16f --to p010 --from-primaries p3 \\
                  --transfer hlg --to-primaries 2020 --matrix 2020
              hwctl convert in.p010 out.p010 --size 3840x2160 --to-size 1920x1080 --from p010 --to p010
              hwctl convert in.f16 out.f16 --size 3840x2160 --from rgba16f --to rgba16f \\
                  --effect exposure:ev=1 --effect lut:file=look.cube,space=pq
              hwctl convert - - --size 1280x720 --from nv12 --to bgra8 <in.yuv | ffplay -f rawvideo -pixel_format bgra \\
                  -video_size 1280x720 -

            INPUT and OUTPUT hold frames of one size each, one after another, without headers or padding; - is standard \
            input or output. Colors are converted by a pixel-transfer session of the daemon, on a GPU if there is one. \
            OUTPUT is created only when it is complete.

            bgra10, rgba10, bgrx10 and rgbx10 are 32-bit little-endian words of full range with 10 bits of each color, the \
            first lowest, and 2 bits of alpha; with x these are not read, and written as ones. ffmpeg calls \
            bgrx10 x2rgb10le, and rgbx10 x2bgr10le.

            --to-size scales, up to 8 times in either direction. Values are filtered as they are coded, plane by plane, with \
            chroma where its siting says and colors multiplied by alpha; --filter-light linear filters light.

            --effect applies to pictures of the target's size. Tables have 129³ entries at most. A key needs a target \
            with alpha, or a background after it.

            --transfer, --matrix, --range and --siting describe the source, or the target where the source is rgba16f: \
            half floats are linear, 1.0 is reference white, and highlights are above 1.0. \
            Names: transfer bt1886, bt709-oetf, srgb, apple709, pq, hlg, hlg-apple12, linear, gamma2.2, gamma2.4, \
            gamma2.8; primaries 709, p3, 2020, 601-525, 601-625; matrix 601, 709, 2020; range video, full; siting \
            left, center, topleft, top, bottomleft, bottom.
            """)

    /// Options of one side only.
    struct Side: ParsableArguments {
        @Option(help: "The target's transfer function.")
        var toTransfer: String?
        @Option(help: "The target's matrix.")
        var toMatrix: String?
        @Option(help: "The target's range.")
        var toRange: String?
        @Option(help: "The siting of the target's chroma.")
        var toSiting: String?
        @Option(help: "How the source's colors relate to alpha: premultiplied or straight.")
        var fromAlpha: String?
        @Option(help: "How the target's colors relate to alpha: premultiplied or straight.")
        var toAlpha: String?
    }

    /// Options of the conversion.
    struct Conversion: ParsableArguments {
        @Option(parsing: .unconditional, help: "Luminance of the linear value 1.0 in cd/m²; 203 by default.")
        var referenceWhite: Double?
        @Option(parsing: .unconditional, help: "Peak luminance of the display for HLG in cd/m²; 1000 by default.")
        var hlgPeak: Double?
        @Option(help: "What happens to values outside the range: clip or extend.")
        var overRange: String?
        @Option(help: "How chroma is downsampled: box or siting.")
        var chromaDownsampling: String?
        @Option(
            parsing: .unconditional,
            help: "Peak of the target in multiples of reference white; brighter light is tone-mapped.")
        var headroom: Double?
        @Option(parsing: .unconditional, help: "Peak luminance of the content in cd/m², for tone mapping.")
        var masteringPeak: Double?
        @Option(parsing: .unconditional, help: "Exposure adjustment in stops.")
        var exposure: Double?
        @Option(parsing: .unconditional, help: "Saturation; 0 is gray, 1 leaves it unchanged.")
        var saturation: Double?
        @Option(parsing: .unconditional, help: "Sepia of light, 0 to 1; --effect sepia is the usual one.")
        var sepia: Double?
        @Flag(help: "Dither when a deeper source is converted to 8 bits.")
        var dither = false

        var options: CreateTransferSession.Options {
            var options = CreateTransferSession.Options()
            options.referenceWhite = referenceWhite
            options.hlgPeak = hlgPeak
            options.overRange = overRange
            options.chromaDownsampling = chromaDownsampling
            options.targetHeadroom = headroom
            options.masteringPeak = masteringPeak
            options.exposure = exposure
            options.saturation = saturation
            options.sepia = sepia
            options.dither = dither ? true : nil
            return options
        }
    }

    @Argument(help: "The frames to convert; - is standard input.")
    var input: String

    @Argument(help: "The file to write; - is standard output.")
    var output: String

    @Option(help: ArgumentHelp("The frames' size.", valueName: "WxH"))
    var size: String

    @Option(help: "The source's pixel format.")
    var from: FrameFormat

    @Option(help: "The target's pixel format.")
    var to: FrameFormat

    @Option(help: "The transfer function of the source, or of the target if the source is rgba16f.")
    var transfer: String?

    @Option(help: "The source's primaries; by default p3 for rgba16f, else 709.")
    var fromPrimaries: String?

    @Option(help: "The matrix of the source, or of the target if the source is RGB.")
    var matrix: String?

    @Option(help: "The range of the source, or of the target if the source is RGB.")
    var range: String?

    @Option(help: "The chroma siting of the source, or of the target if the source is RGB.")
    var siting: String?

    @Option(help: "The target's primaries; by default p3 for rgba16f, else 709.")
    var toPrimaries: String?

    @OptionGroup(title: "Target and alpha options")
    var side: Side

    @OptionGroup(title: "Size")
    var scaling: ScalingArguments

    @OptionGroup(title: "Conversion options")
    var conversion: Conversion

    @OptionGroup(title: "Effects")
    var effects: EffectArguments

    @Option(
        help: ArgumentHelp(
            "What converts: auto, vulkan, cpu, or the PCI address of a GPU as listed by hwctl probe.",
            discussion: """
                auto is a GPU if there is one, preferably the one used for VA-API, else the CPU; vulkan also uses a \
                software implementation if there is no GPU.
                """,
            valueName: "device"))
    var device = "auto"

    @OptionGroup(title: "Files")
    var replacing: ReplaceArguments

    @OptionGroup(title: "Sessions")
    var sessions: SessionArguments

    @OptionGroup(title: "Messages")
    var messages: ProgressArguments

    @Flag(help: "Print one JSON document about the result on standard output.")
    var json = false

    /// Width and height of `--size`.
    private var dimensions: (width: Int, height: Int)? { PictureSizeText.parse(size) }

    func validate() throws {
        guard let dimensions else {
            throw ValidationError("--size takes \(PictureSizeText.example), not '\(size)'.")
        }
        let isWhole = [nil, .normal].contains(scaling.scalingMode)
        if isWhole, let target = scaling.dimensions, !PictureSizeText.canScale(dimensions, target) {
            throw ValidationError("--to-size is up to 8 times larger or smaller than --size.")
        }
        let hasMembers = conversion.exposure != nil || conversion.saturation != nil || conversion.sepia != nil
        if !effects.effects.isEmpty, hasMembers {
            throw ValidationError("--effect excludes --exposure, --saturation and --sepia: name them in --effect.")
        }
        try OptionCheck.json(json, output: output)
    }

    func run() throws {
        try report(output: output) {
            guard let (width, height) = dimensions else { return }
            guard try replacing.writes(FilePair(input: input, output: output)) else {
                return Console.file("\(output): exists, skipped")
            }
            var options = conversion.options
            scaling.apply(to: &options)
            let applied = try effects.request()
            applied?.apply(to: &options)
            let size = scaling.dimensions
            let parameters = CreateTransferSession.Parameters(
                width: width, height: height, targetWidth: size?.width, targetHeight: size?.height, source: source,
                target: target, options: options, device: device)
            let request = ConvertJob.Request(
                input: input, output: output, replaces: replacing.replaces, parameters: parameters,
                tables: applied?.addedTables ?? [], source: from.pixelFormat, target: to.pixelFormat, json: json)
            try ConvertJob(request).run(try Interruption())
        }
    }

    private var isFromHalves: Bool { from.pixelFormat == .rgba16f }
    private var isFromRGB: Bool { !from.pixelFormat.isYCbCr }

    private var source: CreateTransferSession.Image {
        CreateTransferSession.Image(
            pixelFormat: from.pixelFormat.rawValue, primaries: fromPrimaries,
            transfer: isFromHalves ? nil : transfer, matrix: isFromRGB ? nil : matrix,
            range: isFromRGB ? nil : range, siting: isFromRGB ? nil : siting, alpha: side.fromAlpha)
    }

    private var target: CreateTransferSession.Image {
        CreateTransferSession.Image(
            pixelFormat: to.pixelFormat.rawValue, primaries: toPrimaries,
            transfer: side.toTransfer ?? (isFromHalves ? transfer : nil),
            matrix: side.toMatrix ?? (isFromRGB ? matrix : nil), range: side.toRange ?? (isFromRGB ? range : nil),
            siting: side.toSiting ?? (isFromRGB ? siting : nil), alpha: side.toAlpha)
    }
}
