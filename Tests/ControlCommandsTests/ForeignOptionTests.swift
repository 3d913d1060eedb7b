// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDControlCommands

/// What is said to those who write the options of ffmpeg, HandBrake and others.
@Suite struct ForeignOptionTests {
    @Test(
        arguments: [
            (["encode", "-i", "in.mp4", "out.mov"], "-i is not needed: write INPUT alone, before OUTPUT"),
            (["encode", "in.mp4", "-o", "out.mov"], "-o is not needed: OUTPUT is the last name"),
            (["encode", "-crf", "24"], "ffmpeg's -crf 24 is --quality 0.42"),
            (["encode", "-crf", "x"], "-crf: --quality 0.0-1.0 sets the quality"),
            (["encode", "--crf=18"], "--crf 18 is --quality 0.58 here"),
            (
                ["encode", "-c:v", "libx265"],
                "-c:v: the output is always HEVC, in hardware where it is verified (--hardware)"
            ),
            (["encode", "-c", "copy"], "ffmpeg's -c copy is --copy"),
            (["encode", "-c:a", "aac"], "ffmpeg's -c:a aac is --audio aac"),
            (["encode", "--audio-codec", "opus"], "--audio-codec: --audio copy|aac|alac|none"),
            (["encode", "-b:v", "6M"], "ffmpeg's -b:v 6M is --bitrate 6M"),
            (
                ["encode", "-maxrate", "8M"],
                "ffmpeg's -maxrate 8M is --property 'DataRateLimits=[1000000,1]' (bytes in 1 second)"
            ),
            (["encode", "-ss", "1:30"], "ffmpeg's -ss 1:30 is --start 1:30"),
            (["encode", "-t", "20"], "ffmpeg's -t 20 is --duration 20"),
            (["encode", "-vf", "scale=1280:-1"], "ffmpeg's -vf scale=1280:-1 is --size 1280x-2"),
            (
                ["encode", "-vf", "crop=100:50:2:4,transpose=1"],
                "ffmpeg's -vf crop=100:50:2:4,transpose=1 is --crop 100:50:2:4 --rotate 90"
            ),
            (["encode", "-n"], "ffmpeg's -n is --no-overwrite"),
            (["encode", "-preset", "slow"], "ffmpeg's -preset slow is --preset slow"),
            (["encode", "-preset", "p5"], "ffmpeg's -preset p5 is --speed best"),
            (
                ["encode", "-preset", "llhq"],
                "-preset: --speed fast|balanced|best is for hardware and software, --preset for x265 alone"
            ),
            (["encode", "--fps", "30"], "--fps 30 is --output-frame-rate 30 here"),
            (["encode", "--scale", "640:-2"], "--scale 640:-2 is --size 640x-2 here"),
            (["encode", "--width", "640"], "--width 640 is --size 640x-2 here"),
            (["encode", "-an", "in.mov"], "ffmpeg's -an is --audio none"),
            (["decode", "-pix_fmt", "yuv420p10le"], "ffmpeg's -pix_fmt yuv420p10le is --format i010"),
            (["-i", "in.mp4", "out.mov"], "-i belongs to ffmpeg: write hwctl encode INPUT OUTPUT"),
        ])
    func answered(_ arguments: [String], _ answer: String) {
        #expect(ForeignOptions.answers(to: arguments) == answer)
    }

    @Test("A whole command line of ffmpeg has every answer, once")
    func several() {
        let line = "encode -i in.mp4 -crf 24 -preset slow -an -an out.mov".split(separator: " ").map(String.init)
        #expect(
            ForeignOptions.answers(to: line)
                == "-i is not needed: write INPUT alone, before OUTPUT; ffmpeg's -crf 24 is --quality 0.42; "
                + "ffmpeg's -preset slow is --preset slow; ffmpeg's -an is --audio none")
    }

    @Test(arguments: [
        ["encode", "-dash.mp4", "b.mov"], ["encode", "--", "-i"], ["sessions", "-i"], [], ["encode", "-"],
    ])
    func unanswered(_ arguments: [String]) { #expect(ForeignOptions.answers(to: arguments) == nil) }

    @Test("Every row's names are options, and no name has two rows of a command")
    func rows() {
        for command in ["encode", "decode", "info"] {
            let names = ForeignOptions.names(for: command)
            #expect(names.allSatisfy { $0.hasPrefix("-") })
            #expect(Set(names).count == names.count, "\(command): \(names.sorted())")
        }
    }

    @Test("Help begins with the usage, then has what the command does, examples, options, and the rest")
    func order() {
        let help = """
            OVERVIEW: Encode.

            EXAMPLES
              hwctl encode a b

            Long text.

            USAGE: hwctl encode <a> <b>

            OPTIONS:
              --json

            """
        #expect(
            CommandHelp.text(help) == """
                USAGE: hwctl encode <a> <b>

                Encode.

                EXAMPLES
                  hwctl encode a b

                OPTIONS:
                  --json

                Long text.

                """)
        #expect(CommandHelp.text("0.2.0") == nil)
    }
}
