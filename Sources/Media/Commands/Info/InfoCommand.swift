// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWClient
internal import HWDControlCommands
internal import HWDDisplays
internal import HWDHEIF
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWImages

/// `hwctl info`.
struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Describe a media file or a HEIC picture: tracks, tiles, profile, size, color, HDR.",
        discussion: """
            EXAMPLES
              hwctl info clip.mov
              hwctl info --no-measure --json clip.mov
              hwctl info photo.heic

            FILE is any file that libavformat reads, or a series of pictures (frame-%04d.png). The first seconds of its \
            video are decoded to find out whether this machine can play it: at real time, at twice that, in reverse and \
            while scrubbing, by every frame, by temporal levels, by key frames or not at all. With --no-measure the daemon \
            is not contacted and nothing is decoded, except one picture of an HDR track whose container has no HDR metadata.

            For an HEVC video with temporal levels, the frame rate that remains when the upper levels are dropped is \
            listed for each level. Sample groups (tscl, tsas, stsa, sync, rap) and sdtp of a .mov or .mp4 are compared \
            with the pictures' NAL unit headers; damage and contradictions are listed, and the headers take precedence.

            The pictures of HEVC and H.264 video are searched for Dolby Vision's RPUs, HDR10+, closed captions and changes \
            of color: all of a short file, else the first 65,536 packets or 256 MiB. For a file with HDR video, whether a \
            display of this machine can show it is listed as by hwctl displays.

            A recording that was cut or is not finished is described as far as it goes, with a warning: hwctl repair finishes it. \
            In the JSON document "fragments" is then "cut" for a movie that ends within a fragment, else "whole".

            For the video of a Live Photo, the content identifier and the time of the still image are listed.

            Of a HEIC or HEIF file the pictures are listed with their sizes, tiles (TileWidth, TileLength), colors, thumbnails, \
            auxiliary pictures (alpha, depth, gain maps, mattes) and the essentials of their Exif, and the file's groups, tracks \
            and brands; nothing is decoded.
            """)

    @Argument(help: "The file to describe.")
    var file: String

    @Flag(help: "Describe the file without decoding its video.")
    var noMeasure = false

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    func run() throws {
        try report {
            let interruption = try noMeasure ? nil : Interruption()
            let opened = try InputFile(file)
            if let still = try StillInput(opened), still.file.primary != nil {
                let info = StillInfo(still)
                return json ? try Console.json(info) : try Console.result(StillInfoText(info).text)
            }
            if let warning = opened.unfinishedRecordingWarning { Console.note(warning) }
            let info = try MediaInfo(opened)
            let playback = try interruption.flatMap { try measure(opened, info, $0) }
            let alphaExport = info.video.first { !$0.picture }.map { AlphaExportInfo($0) }
            let displays = info.containsHDRVideo ? DisplayReport(ConnectorSource().connectors()) : nil
            if json {
                return try Console.json(
                    Document(
                        info: info, playback: playback, alphaExport: alphaExport, isEligible: displays?.isEligible,
                        fragments: opened.fragments))
            }
            try Console.result(InfoText(info, playback, alphaExport, eligibility: displays?.eligibility).text)
        }
    }

    /// Decodes the first seconds; nil for a file of pictures or without video, and where decoding is not possible.
    private func measure(
        _ file: InputFile, _ info: MediaInfo, _ interruption: Interruption
    ) throws -> Playback? {
        guard info.video.contains(where: { !$0.picture }) else { return nil }
        do {
            var playback = try Playback(file, daemon: SessionRequest.findDaemon) { interruption.isSet }
            let levels = info.video.first { $0.stream == playback.stream }?.levels ?? []
            try playback.addPlayability(file, levels: levels) { interruption.isSet }
            return playback
        } catch let error as MediaError where error.kind != .interrupted {
            Console.note("warning: decoding was not measured: \(error.reason)")
            return nil
        } catch let error as ClientError {
            Console.note("warning: decoding was not measured: \(error.reason)")
            return nil
        }
    }

    /// The file's description and what was measured.
    private struct Document: Encodable {
        var info: MediaInfo
        var playback: Playback?
        var alphaExport: AlphaExportInfo?
        /// Whether a display can show HDR video; nil for other video, and where that is not known.
        var isEligible: Bool?
        var fragments: InputFile.Fragments?

        enum CodingKeys: String, CodingKey {
            case playback, fragments
            case alphaExport = "alpha_export"
            case isEligible = "eligible_for_hdr_playback"
        }

        func encode(to encoder: any Encoder) throws {
            try info.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(playback, forKey: .playback)
            try container.encodeIfPresent(alphaExport, forKey: .alphaExport)
            try container.encodeIfPresent(isEligible, forKey: .isEligible)
            try container.encodeIfPresent(fragments, forKey: .fragments)
        }
    }
}
