// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWClient
internal import HWDControlCommands
internal import HWDMediaFile

/// `hwctl info`.
struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Tell what a media file is: tracks, profile, size, colour, HDR.",
        discussion: """
            FILE is anything libavformat reads, or a series of pictures (frame-%04d.png). The first \
            seconds of its video are decoded, to tell whether this machine can play it; with --no-measure no daemon is \
            asked and nothing is decoded, but for one picture of an HDR track whose container does not tell its light.

            Of an HEVC video with temporal levels it tells how many frames a second are left when the upper levels are \
            dropped. Sample groups (tscl, tsas, stsa, sync, rap) and sdtp of a .mov or .mp4 are compared with the \
            pictures' own headers; what is damaged or contradicts them is named, and the headers are believed.
            """)

    @Argument(help: "The file to look into.")
    var file: String

    @Flag(help: "Tell what the file says, and try nothing.")
    var noMeasure = false

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    func run() throws {
        try report {
            let interruption = try noMeasure ? nil : Interruption()
            let opened = try InputFile(file)
            let info = try MediaInfo(opened)
            let playback = try interruption.flatMap { try measure(opened, info, $0) }
            let alphaExport = info.video.first { !$0.picture }.map { AlphaExportInfo($0) }
            if json {
                return try Console.json(Document(info: info, playback: playback, alphaExport: alphaExport))
            }
            try Console.result(Self.text(info, playback, alphaExport))
        }
    }

    /// Pictures are not played.
    private func measure(
        _ file: InputFile, _ info: MediaInfo, _ interruption: Interruption
    ) throws -> Playback? {
        guard info.video.contains(where: { !$0.picture }) else { return nil }
        do {
            return try Playback(file, daemon: Daemon.findAndReport) { interruption.isSet }
        } catch let error as MediaError where error.kind != .interrupted {
            Console.note("warning: it cannot be tried: \(error.reason)")
            return nil
        } catch let error as ClientError {
            Console.note("warning: it cannot be tried: \(error.reason)")
            return nil
        }
    }

    /// The file's description with what was tried.
    private struct Document: Encodable {
        var info: MediaInfo
        var playback: Playback?

        var alphaExport: AlphaExportInfo?

        enum CodingKeys: String, CodingKey {
            case playback
            case alphaExport = "alpha_export"
        }

        func encode(to encoder: any Encoder) throws {
            try info.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(playback, forKey: .playback)
            try container.encodeIfPresent(alphaExport, forKey: .alphaExport)
        }
    }

    private static func text(_ info: MediaInfo, _ playback: Playback?, _ alphaExport: AlphaExportInfo?) -> String {
        var rows = [["FILE", info.file]]
        rows.append(["container", info.containerName + (info.brand.map { ", brand \($0)" } ?? "")])
        rows.append(["duration", info.duration.map { "\(Progress.decimal($0, 3)) s" } ?? "not known"])
        if let rate = info.bitRate {
            rows.append(["bit rate", "\(Progress.decimal(Double(rate) / 1000, 0)) kbit/s"])
        }
        rows.append(["contains HDR video", info.containsHDRVideo ? "yes" : "no"])
        rows.append(["contains alpha", info.containsAlpha ? "yes" : "no"])
        if info.chapters > 0 { rows.append(["chapters", "\(info.chapters)"]) }
        for video in info.video {
            rows += [[]] + Self.rows(video)
            if let alphaExport, alphaExport.stream == video.stream, video.alpha == true {
                rows.append(["  export with alpha", alphaExport.text])
            }
            if let playback, playback.stream == video.stream { rows += playback.rows }
        }
        var text = Console.table(rows.map { $0.isEmpty ? [""] : $0 })
        guard !info.otherStreams.isEmpty else { return printable(text) }
        var others = [["STREAM", "CONTENT", "CODEC", "TAG", "LANGUAGE", "DETAILS"]]
        for stream in info.otherStreams {
            let details = [
                stream.sampleRate.map { "\($0) Hz" }, stream.channels.map { "\($0) channels" },
                stream.duration.map { "\(Progress.decimal($0, 3)) s" },
            ]
            others.append([
                "\(stream.stream)", stream.content, stream.codec, stream.tag ?? "-", stream.language ?? "-",
                details.compactMap { $0 }.joined(separator: ", "),
            ])
        }
        text += "\n\n" + Console.table(others)
        return printable(text)
    }

    private static func rows(_ video: VideoTrackInfo) -> [[String]] {
        let tag = video.tag.map { " (\($0))" } ?? ""
        var rows = [["STREAM \(video.stream)", "\(video.picture ? "picture" : "video"), \(video.codec)\(tag)"]]
        func row(_ name: String, _ parts: [String?]) {
            let text = parts.compactMap { $0 }.joined(separator: ", ")
            if !text.isEmpty { rows.append(["  " + name, text]) }
        }
        row("profile", [video.profile, video.level.map { "level \($0)" }, video.tier.map { "\($0) tier" }])
        row("samples", [video.bitDepth.map { "\($0) bit" }, video.chroma, video.pixelFormat])
        row(
            "size",
            [
                "\(video.width)x\(video.height)",
                video.cleanAperture.map { "shown \(decimal($0.width))x\(decimal($0.height)) (clean aperture)" },
                video.pixelAspectRatio.map { "pixel aspect \($0)" },
                video.rotation == 0 ? nil : "turned \(decimal(video.rotation))° clockwise",
                video.interlaced ? "interlaced" : nil,
            ])
        let rates = [
            video.averageFrameRate, video.baseFrameRate == video.averageFrameRate ? nil : video.baseFrameRate,
        ]
        row(
            "frames",
            [
                video.frames.map { "\($0)" }, rates[0].map { "\($0) a second" }, rates[1].map { "base rate \($0)" },
                video.duration.map { "\(Progress.decimal($0, 3)) s" },
            ])
        let color = video.color
        row(
            "colour",
            [color.primaries, color.transfer, color.matrix].map { "\($0.name) (\($0.code))" }
                + ["\(color.range) range", video.hdr ? "HDR" : nil])
        if let display = video.masteringDisplay {
            func point(_ point: [Double]) -> String { point.map { Progress.decimal($0, 4) }.joined(separator: ",") }
            row(
                "mastering display",
                [
                    "R \(point(display.red))", "G \(point(display.green))", "B \(point(display.blue))",
                    "W \(point(display.white))",
                    "\(Progress.decimal(display.minLuminance, 4)) to \(decimal(display.maxLuminance)) cd/m²",
                ])
        }
        if let light = video.contentLight {
            row("content light", ["MaxCLL \(light.maxContent)", "MaxFALL \(light.maxFrameAverage) cd/m²"])
        }
        row(
            "layers",
            [
                video.layers.map { "\($0)" }, video.temporalLayers.map { "\($0) temporal" },
                video.alpha.map { $0 ? "alpha" : "no alpha" }, video.alphaMode.map { "\($0) alpha" },
            ])
        if let deviations = video.alphaDeviations {
            row(
                "alpha profile",
                [deviations.isEmpty ? "followed" : "not followed: " + deviations.joined(separator: "; ")])
        }
        for level in video.levels ?? [] {
            row(
                level.level == 0 ? "level 0" : "levels 0 to \(level.level)",
                [
                    level.frameRate.map { "\($0) a second" },
                    level.frames.map { "\($0) frames of level \(level.level)" },
                ])
        }
        row("annotations", [video.annotations.map { $0.joined(separator: " ") }])
        for fault in video.annotationFaults ?? [] { row("wrong annotation", [fault]) }
        row("language", [video.language])
        return rows
    }

    /// A number without a fraction that is zero.
    private static func decimal(_ value: Double) -> String {
        Progress.decimal(value, value == value.rounded() ? 0 : 2)
    }

    /// What a file says of itself must not steer a terminal.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    let isControl = (scalar.value < 32 && scalar != "\n") || (127..<160).contains(scalar.value)
                    return isControl ? "?" : scalar
                }))
    }
}
