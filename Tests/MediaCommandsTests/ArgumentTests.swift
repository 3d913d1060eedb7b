// SPDX-License-Identifier: GPL-2.0-or-later
import ArgumentParser
import HWDControlCommands
import Testing

@testable import hwctl_media

/// Command lines that the parser and the commands' `validate()` refuse, before any file or daemon is touched.
@Suite struct ArgumentTests {
    /// The message for a command line that is refused; nil for one that is accepted.
    private func refusal(_ arguments: [String]) -> String? {
        do {
            _ = try HWCtl.parseAsRoot(arguments)
            return nil
        } catch {
            return HWCtl.message(for: error)
        }
    }

    @Test(
        arguments: [
            (
                ["encode", "--bitrate", "6", "in.mp4", "out.mov"],
                "--bitrate 6 is 6 bits a second: did you mean 6M?"
            ),
            (["encode", "--quality", "23", "in.mp4", "out.mov"], "CRF 23 is --quality 0.45"),
            (["encode", "--qualty=0.5", "in.mp4", "out.mov"], "Unknown option"),
            (["encode", "in.mp4"], "There is no OUTPUT: write hwctl encode in.mp4 OUTPUT, or --output-dir DIR"),
            (["encode", "--bitrate", "500", "in.mp4", "out.mov"], "did you mean 500k?"),
            (
                ["encode", "--preset", "turbo", "in.mp4", "out.mov"],
                "there is no preset 'turbo': x265 has ultrafast"
            ),
            (["encode", "--qp", "20", "--quality", "0.5", "in.mp4", "out.mov"], "contradict"),
            (
                ["encode", "--size", "320", "in.mp4", "out.mov"],
                "--size 320 has no height: --size 320x-2 keeps the proportions (or --max-height 320)"
            ),
            (["encode", "--size", "320x", "in.mp4", "out.mov"], "--size takes a width and a height"),
            (
                ["encode", "--preset", "hevc-1080p", "--preset-name", "hevc-720p", "in.mp4", "out.mov"],
                "are both settings"
            ),
            (["encode", "--alpha", "half", "in.mov", "out.mov"], "--alpha"),
            (["encode", "--segment", "9/4", "in.mov", "out.mov"], "--segment"),
            (["decode", "in.mov"], "<output>"),
            (["convert", "a", "b", "--size", "0x0", "--from", "nv12", "--to", "bgra8"], "--size"),
            (["probe", "--nonsense"], "Unknown option"),
        ])
    func refused(arguments: [String], words: String) throws {
        let message = try #require(refusal(arguments), "\(arguments) is accepted")
        #expect(message.contains(words), "\(message)")
    }

    @Test(
        arguments: [
            ["encode", "in.mp4", "out.mov"], ["encode", "--quality", "0.5", "in.mp4", "out.mov"],
            ["encode", "--output-dir", "hevc", "a.mp4", "b.mp4"],
            ["encode", "--preset", "hevc-1080p", "--speed", "fast", "in.mp4", "out.mov"],
            ["encode", "--preset", "slow", "in.mp4", "out.mov"],
            ["encode", "--segment", "3/4", "in.mov", "out.mov"],
            ["encode", "--bitrate", "6M", "--two-pass", "in.mkv", "out.mp4"], ["decode", "in.mov", "out.y4m"],
            ["verify", "in.mov", "out.mov"], ["sessions", "--json"],
        ])
    func accepted(arguments: [String]) {
        #expect(refusal(arguments) == nil)
    }

    @Test(
        "Options of other programs, and unknown ones, are named before anything is said about the number of names",
        arguments: [
            (["encode", "--fps", "30", "a.mp4", "b.mov"], "--fps 30 is --output-frame-rate 30 here"),
            (["encode", "--crf", "23", "a.mp4", "b.mov"], "--crf 23 is --quality 0.45 here"),
            (["encode", "--codec", "hevc", "a.mp4", "b.mov"], "the output is always HEVC"),
            (["encode", "--width", "640", "a.mp4", "b.mov"], "--width 640 is --size 640x-2 here"),
            (["encode", "--scale", "640:360", "a.mp4", "b.mov"], "--scale 640:360 is --size 640x360 here"),
            (["encode", "--threads", "4", "a.mp4", "b.mov"], "--threads is not needed"),
            (["encode", "--tune", "grain", "a.mp4", "b.mov"], "X265Params"),
            (["encode", "--audio-codec", "aac", "a.mp4", "b.mov"], "--audio-codec aac is --audio aac here"),
            (["encode", "--nonsense", "4", "a.mp4", "b.mov"], "there is no option --nonsense"),
            (["decode", "--fps", "30", "a.mp4", "b.y4m"], "--fps 30 is --frame-rate 30 here"),
            (["a.mp4", "b.mov"], "there is no command a.mp4: a file is encoded by hwctl encode a.mp4 OUTPUT"),
            (["frobnicate"], "there is no command frobnicate"),
            (["compare", "a.mp4", "b.mov"], "there is no command compare: did you mean hwctl verify?"),
            (["probe", "a.mp4"], "probe looks at this machine: hwctl info a.mp4 describes a file"),
            (["convert", "a.mp4", "b.mov"], "convert takes raw frames: hwctl encode a.mp4 b.mov encodes a video"),
            (
                ["convert", "a.jpg", "b.heic"],
                "convert takes raw frames: hwctl encode a.jpg b.heic encodes a picture"
            ),
            (
                ["convert", "a.heic", "b.jpg"],
                "convert takes raw frames: hwctl decode a.heic b.jpg writes a picture"
            ),
            (["join", "a.mp4", "b.mp4", "c.mp4"], "different videos are joined by ffmpeg -f concat"),
            (["-v", "encode", "a.mp4", "b.mov"], "options follow the command: hwctl encode -v"),
            (
                ["encode", "--fps", "30", "a.mp4", "b.mov"],
                "; write: hwctl encode --output-frame-rate 30 a.mp4 b.mov"
            ),
        ])
    func foreign(arguments: [String], words: String) throws {
        do {
            _ = try HWCtl.parseAsRoot(arguments)
            Issue.record("\(arguments) is accepted")
        } catch {
            let failure = try #require(CommandArguments.failure(error, of: HWCtl.self, arguments))
            #expect(failure.reason.contains(words) && failure.exitCode == 64, "\(failure.reason)")
            #expect(!failure.reason.contains("INPUT and OUTPUT are expected"))
        }
    }

    @Test("The presets that are answered with --preset are those that it takes")
    func presets() throws {
        let message = try #require(refusal(["encode", "--preset", "turbo", "in.mp4", "out.mov"]))
        let presets = ForeignOptions.x265Presets.joined(separator: ", ")
        #expect(message.contains("x265 has \(presets), and"), "\(message)")
    }

    @Test("No option that is answered as foreign is the command's own")
    func ownOptions() {
        for command in HWCtl.configuration.subcommands.compactMap({ $0.configuration.commandName }) {
            let own = CommandHelp.options(of: HWCtl.self, command: command)
            #expect(own.count >= 3, "\(command)")
            let both = own.intersection(ForeignOptions.names(for: command))
            #expect(both.isEmpty, "\(command): \(both)")
        }
    }
}
