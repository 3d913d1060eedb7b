// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWClient
internal import HWDControlCommands
internal import HWDModel
internal import HWDPolicy

/// `hwctl bench`.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Compare this machine's hardware and software encoders on a clip.",
        discussion: """
            EXAMPLES
              hwctl bench clip.mp4
              hwctl bench --bitrate 1M,2M,4M,8M --plot quality.svg clip.mp4
              hwctl bench --seconds 10 --preset fast,medium --json clip.mkv >bench.json
              hwctl bench --against bench.json --preset fast --seconds 10 clip.mkv
              hwctl bench --against x264 --plot bits.svg clip.mp4
              hwctl bench --decode --convert --frames 100 talk.mov

            Decodes the first frames of INPUT into memory, then encodes them through sessions of the daemon, in hardware \
            and in software, once at each bit rate, one session after another at full speed. Each coded stream is \
            decoded by libavcodec and compared with the source. If there is no hardware, or it cannot encode the clip, \
            the reason is reported and only software is measured.

            VMAF is measured where an ffmpeg with libvmaf is found. --against x264 also codes the clip with its libx264 \
            (preset medium) at the same rates, and --against FILE reads the document of an earlier run. BD-RATE is how many \
            percent more bits a curve needs than another, on average over the qualities that both have (Bjøntegaard); with \
            several curves the first is the one that the others are compared with. A rate that is missed by more than a \
            tenth is warned of.

            COLUMNS
              TARGET        the requested bit rate in kbit/s
              KBIT/S        the resulting bit rate
              FPS           coded frames per second, from the first frame sent to
                            the last packet
              P50, P99      milliseconds from sending a frame to its packet; up to
                            6 frames are in flight, and look-ahead is included
              WORKER CPU    CPU seconds of the session's process
              ALL CPU       WORKER CPU and the CPU seconds of hwctl
              RSS           peak memory of the session's process in MiB, frames
                            and libraries included
              PSNR          in dB over the samples of all planes and frames, each
                            plane weighted by its size
              PSNR-Y        PSNR of luma
              SSIM          structural similarity of 8x8 blocks four samples apart,
                            averaged over frames, planes weighted by their size
              VMAF          of ffmpeg's libvmaf, its default model

            docs/bench.schema.json describes the document of --json.
            """)

    enum Only: String, ExpressibleByArgument, CaseIterable { case hardware, software }

    @Argument(help: "The video to encode; - is Y4M on standard input.")
    var input: String

    @Option(help: "The HEVC profile; by default the one for the source's bit depth.")
    var profile: EncoderArguments.ProfileName?

    @Option(help: ArgumentHelp("Encode at most this many frames of the input; 300 by default.", valueName: "n"))
    var frames: Int?

    @Option(help: ArgumentHelp("Encode at most this many seconds of the input.", valueName: "s"))
    var seconds: Double?

    @Option(
        help: ArgumentHelp(
            "Bit rates in bits per second, with suffix k or M, separated by commas.",
            discussion: "By default four rates that suit the clip's size and frame rate.", valueName: "rate,..."))
    var bitrate: String?

    @Option(
        help: ArgumentHelp(
            "x265 presets, separated by commas: speed against compression (software only).", valueName: "name,..."))
    var preset: String?

    @Flag(help: "Measure decoding of the input, in hardware and software.")
    var decode = false

    @Flag(help: "Measure conversion to RGB of half floats, on the CPU and a Vulkan device.")
    var convert = false

    @Option(
        help: ArgumentHelp(
            "Compare with x264 of the same clip, or with the document of an earlier run.", valueName: "FILE|x264"))
    var against: String?

    @Option(help: ArgumentHelp("The ffmpeg that measures VMAF; by default the one on PATH.", valueName: "program"))
    var ffmpeg: String?

    @Option(help: ArgumentHelp("The render node whose hardware encoder is measured.", valueName: "node"))
    var device: String?

    @Option(help: "Measure only hardware or only software.")
    var only: Only?

    @Option(help: ArgumentHelp("Write a plot of quality against bit rate to this file.", valueName: "file.svg"))
    var plot: String?

    @Option(help: ArgumentHelp("Keep the coded streams in this directory, as Annex B.", valueName: "directory"))
    var keep: String?

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    func validate() throws {
        if frames != nil, seconds != nil {
            throw ValidationError("--frames and --seconds contradict each other: use one of them.")
        }
        if let frames, frames < 1 { throw ValidationError("--frames takes a number of at least 1, not \(frames).") }
        if let seconds, !(seconds > 0 && seconds <= 86_400) {
            throw ValidationError("--seconds takes a number above 0, at most 86400, not \(seconds).")
        }
        if let bitrate, Self.rates(bitrate) == nil {
            throw ValidationError("--bitrate takes rates such as 800k,2M,6M, at most 16, not '\(bitrate)'.")
        }
        let known = Set(PropertyTable.x265Presets)
        if let preset, presets.isEmpty || presets.count > 10 || !presets.allSatisfy(known.contains) {
            throw ValidationError(
                "--preset takes presets such as fast,medium of \(PropertyTable.x265Presets.joined(separator: ", ")), "
                    + "not '\(preset)'.")
        }
        if only == .software, device != nil {
            throw ValidationError("--device selects hardware, which --only software excludes.")
        }
    }

    func run() throws {
        try report {
            try BenchJob(
                input: input, amount: amount, rates: bitrate.flatMap(Self.rates), properties: properties,
                presets: presets, device: device, hardware: only != .software, software: only != .hardware,
                plot: plot, keep: keep, measures: (decode, convert), against: against, ffmpeg: ffmpeg, json: json
            ).run()
        }
    }

    private var presets: [String] { preset?.split(separator: ",").map(String.init) ?? [] }

    private var amount: BenchClip.Amount { seconds.map { .seconds($0) } ?? .frames(frames ?? 300) }

    private var properties: [PropertyKey: PropertyValue] {
        profile.map { [.profileLevel: $0.property] } ?? [:]
    }

    /// Parses a list of rates: sorted, without duplicates; nil when one is invalid.
    private static func rates(_ text: String) -> [Int64]? {
        var rates: Set<Int64> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let bits = EncoderArguments.bits(String(part)), bits > 0 else { return nil }
            rates.insert(bits)
        }
        return 1...16 ~= rates.count ? rates.sorted() : nil
    }
}
