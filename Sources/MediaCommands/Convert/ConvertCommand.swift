// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDModel
internal import HWDWire

/// `hwctl convert`.
struct ConvertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Convert raw frames: Y'CbCr to half-float or 8-bit RGB, back, and between their kinds.",
        discussion: """
            INPUT and OUTPUT hold frames of one size one after the other, without any header and without gaps; - is \
            standard input or output. Colours are converted by a pixel-transfer session of the daemon, on a GPU where \
            there is one. An output appears whole or not at all.

            --transfer, --matrix, --range and --siting tell of the source, or of the target where the source is \
            rgba16f, which has none of them: half floats are linear, 1.0 is reference white, and highlights lie above. \
            Names: transfer bt1886, bt709-oetf, srgb, apple709, pq, hlg, hlg-apple12, linear, gamma2.2, gamma2.4, \
            gamma2.8; primaries 709, p3, 2020, 601-525, 601-625; matrix 601, 709, 2020; range video, full; siting \
            left, center, topleft, top, bottomleft, bottom.

            EXAMPLES
              hwctl convert in.p010 out.f16 --size 3840x2160 --from p010 --to rgba16f --transfer pq \\
                  --from-primaries 2020 --matrix 2020 --siting topleft --to-primaries p3
              hwctl convert in.f16 out.p010 --size 3840x2160 --from rgba16f --to p010 --from-primaries p3 \\
                  --transfer hlg --to-primaries 2020 --matrix 2020
              hwctl convert - - --size 1280x720 --from nv12 --to bgra8 <in.yuv | ffplay -f rawvideo -pixel_format bgra \\
                  -video_size 1280x720 -
            """)

    /// What one side is, where that is not told once for both.
    struct Side: ParsableArguments {
        @Option(help: "The target's transfer function.")
        var toTransfer: String?
        @Option(help: "The target's matrix.")
        var toMatrix: String?
        @Option(help: "The target's range.")
        var toRange: String?
        @Option(help: "Where the target's chroma lies.")
        var toSiting: String?
        @Option(help: "Whether the source's colours are multiplied by alpha: premultiplied or straight.")
        var fromAlpha: String?
        @Option(help: "The same of the target.")
        var toAlpha: String?
    }

    /// How it is done.
    struct Manner: ParsableArguments {
        @Option(parsing: .unconditional, help: "Nits of the linear value 1.0; 203 when not given.")
        var referenceWhite: Double?
        @Option(parsing: .unconditional, help: "Nits of the display that HLG is shown on; 1000 when not given.")
        var hlgPeak: Double?
        @Option(help: "Values outside their range: clip or extend.")
        var overRange: String?
        @Option(help: "How chroma is made smaller: box or siting.")
        var chromaDownsampling: String?
        @Option(
            parsing: .unconditional,
            help: "Light that the target shows, in multiples of reference white: what is brighter is mapped.")
        var headroom: Double?
        @Option(parsing: .unconditional, help: "Nits of the brightest content, for that mapping.")
        var masteringPeak: Double?
        @Option(parsing: .unconditional, help: "Factor of light, in stops.")
        var exposure: Double?
        @Option(parsing: .unconditional, help: "Saturation; 0 is grey, 1 as it is.")
        var saturation: Double?
        @Option(parsing: .unconditional, help: "Sepia, 0 to 1.")
        var sepia: Double?
        @Flag(help: "Dither 8-bit targets of deeper sources.")
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

    @Option(help: "How the source's samples lie.")
    var from: RawFormat

    @Option(help: "How the target's samples lie.")
    var to: RawFormat

    @Option(help: "The transfer function of the source, or of the target of half floats.")
    var transfer: String?

    @Option(help: "The source's primaries; p3 for half floats, else 709, when not given.")
    var fromPrimaries: String?

    @Option(help: "The matrix of the source, or of the target of RGB.")
    var matrix: String?

    @Option(help: "The range of the source, or of the target of RGB.")
    var range: String?

    @Option(help: "Where chroma lies in the source, or in the target of RGB.")
    var siting: String?

    @Option(help: "The target's primaries; p3 for half floats, else 709, when not given.")
    var toPrimaries: String?

    @OptionGroup(title: "The target and alpha")
    var side: Side

    @OptionGroup(title: "How")
    var manner: Manner

    @Option(
        help: ArgumentHelp(
            "What converts: auto, vulkan, cpu, or a GPU's PCI address as hwctl probe tells it.",
            discussion: """
                auto is a GPU where there is one, that of VA-API before others, else the CPU; vulkan takes software \
                too, where there is no GPU.
                """,
            valueName: "device"))
    var device = "auto"

    @Flag(help: "Print one JSON document about the result on standard output.")
    var json = false

    /// Width and height of `--size`.
    private var dimensions: (width: Int, height: Int)? {
        let parts = size.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = Int(parts[0]), let height = Int(parts[1]),
            (1...16384).contains(width), (1...16384).contains(height)
        else { return nil }
        return (width, height)
    }

    func validate() throws {
        guard dimensions != nil else {
            throw ValidationError("--size takes a size such as 1920x1080, of 16384 at most, not '\(size)'.")
        }
        if json, output == "-" {
            throw ValidationError("--json and the output - would both go to standard output.")
        }
    }

    func run() throws {
        try report {
            guard let (width, height) = dimensions else { return }
            let parameters = CreateTransferSession.Parameters(
                width: width, height: height, source: source, target: target, options: manner.options,
                device: device)
            let job = ConvertJob(
                input: input, output: output, parameters: parameters, source: from.pixelFormat,
                target: to.pixelFormat, json: json)
            try job.run(try Interruption())
        }
    }

    private var isFromHalves: Bool { from == .rgba16f }
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
