// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWClient
internal import HWDControlCommands
internal import HWDModel

/// `hwctl bench`.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Compare this machine's hardware and software encoders on a clip.",
        discussion: """
            Decodes the first frames of INPUT into memory, then encodes them through sessions of the daemon, in hardware \
            and in software, once at each bit rate, one session after the other and as fast as it goes. Every coded \
            stream is decoded again by libavcodec and compared with the source. Where there is no hardware, or it \
            cannot take the clip, the reason is told and the software is measured alone.

            COLUMNS
              FPS           coded frames a second, from the first frame sent to the
                            last packet
              P50, P99      milliseconds from sending a frame to its packet; up to
                            6 frames are under way at once, and look-ahead counts
              WORKER CPU    CPU seconds of the session's process
              ALL CPU       the same and hwctl's own
              KBIT/S        the bit rate that came out
              PSNR          in dB over the samples of all planes and frames, each
                            plane weighted by its size
              PSNR-Y        the same of luma
              SSIM          structural similarity of 8x8 blocks four samples apart,
                            averaged over frames, planes weighted by their size
              RSS           most memory the session's process had, in MiB, frames
                            and libraries included

            EXAMPLES
              hwctl bench clip.mp4
              hwctl bench --bitrate 1M,2M,4M,8M --plot quality.svg clip.mp4
              hwctl bench --seconds 10 --preset fast --json clip.mkv >bench.json
            """)

    enum Only: String, ExpressibleByArgument, CaseIterable { case hardware, software }

    @Argument(help: "The video to encode; - is Y4M on standard input.")
    var input: String

    @Option(help: "The HEVC profile; by default the one that holds the source's bit depth.")
    var profile: EncodeCommand.ProfileName?

    @Option(help: ArgumentHelp("Encode so many frames of the input at most; 300 when not given.", valueName: "n"))
    var frames: Int?

    @Option(help: ArgumentHelp("Encode so many seconds of the input at most.", valueName: "s"))
    var seconds: Double?

    @Option(
        help: ArgumentHelp(
            "Bit rates to encode at, with k or M, separated by commas.",
            discussion: "Default: four, from the size and the frame rate.", valueName: "rate,…"))
    var bitrate: String?

    @Option(help: ArgumentHelp("x265's trade of speed for compression (software only).", valueName: "x265-name"))
    var preset: String?

    @Option(help: ArgumentHelp("Use the hardware encoder of this render node.", valueName: "node"))
    var device: String?

    @Option(help: "Measure one of the two alone.")
    var only: Only?

    @Option(help: ArgumentHelp("Draw quality against bit rate to this file.", valueName: "file.svg"))
    var plot: String?

    @Option(help: ArgumentHelp("Keep the coded streams in this folder, as Annex B.", valueName: "folder"))
    var keep: String?

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    func validate() throws {
        if frames != nil, seconds != nil { throw ValidationError("--frames and --seconds exclude each other.") }
        if let frames, frames < 1 { throw ValidationError("--frames takes a number from 1 on, not \(frames).") }
        if let seconds, !(seconds > 0 && seconds <= 86_400) {
            throw ValidationError("--seconds takes a number above 0, not \(seconds).")
        }
        if let bitrate, Self.rates(bitrate) == nil {
            throw ValidationError("--bitrate takes rates such as 800k,2M,6M, at most 16, not '\(bitrate)'.")
        }
        if only == .software, device != nil {
            throw ValidationError("--device names hardware, which --only software leaves out.")
        }
    }

    func run() throws {
        try report {
            try BenchJob(
                input: input, amount: amount, rates: bitrate.flatMap(Self.rates), properties: properties,
                preset: preset, device: device, hardware: only != .software, software: only != .hardware,
                plot: plot, keep: keep, json: json
            ).run()
        }
    }

    private var amount: BenchClip.Amount { seconds.map { .seconds($0) } ?? .frames(frames ?? 300) }

    private var properties: [PropertyKey: PropertyValue] {
        guard let profile else { return [:] }
        return [.profileLevel: .string(profile == .main ? "HEVC_Main_AutoLevel" : "HEVC_Main10_AutoLevel")]
    }

    /// The rates of a list, lowest first, each once; nil when one of them reads as none.
    private static func rates(_ text: String) -> [Int64]? {
        var rates: Set<Int64> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let bits = EncodeCommand.bits(String(part)), bits > 0 else { return nil }
            rates.insert(bits)
        }
        return 1...16 ~= rates.count ? rates.sorted() : nil
    }
}
