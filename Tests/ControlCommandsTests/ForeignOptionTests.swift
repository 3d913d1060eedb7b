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
            (["encode", "--scale", "1/2"], "--scale: --size WxH scales, --max-height N to a height at most"),
            (["encode", "--resolution", "720p"], "--resolution 720p is --max-height 720 here"),
            (
                ["encode", "-vf", "scale=w=640:h=-1:flags=lanczos"],
                "ffmpeg's -vf scale=w=640:h=-1:flags=lanczos is --size 640x-2"
            ),
            (
                ["encode", "-vf", "eq=saturation=1.5"],
                "ffmpeg's -vf eq=saturation=1.5 is --effect saturation:s=1.5"
            ),
            (["encode", "-vf", "lut3d=film.cube"], "ffmpeg's -vf lut3d=film.cube is --effect lut:file=film.cube"),
            (
                ["encode", "-color_trc", "smpte2084"],
                "-color_trc is not needed: color and HDR stay what INPUT has; --hdr sdr|pq|hlg converts, --retag renames"
            ),
            (
                ["encode", "--maxrate", "800k"],
                "--maxrate 800k is --property 'DataRateLimits=[100000,1]' here (bytes in 1 second)"
            ),
            (["encode", "-vn"], "-vn is not there: an output has video; ffmpeg -i INPUT -vn writes sound alone"),
            (["info", "-show_streams", "a.mp4"], "-show_streams is not needed: hwctl info shows all of it"),
            (["-encoders"], "-encoders is hwctl probe: what this machine encodes and decodes"),
            (["-version"], "-version is hwctl --version"),
        ])
    func answered(_ arguments: [String], _ answer: String) {
        #expect(ForeignOptions.answers(to: arguments) == answer)
    }

    @Test(
        "Several options with one answer have it once, and a filter without words is ffmpeg's, without a second codec"
    )
    func common() {
        #expect(
            ForeignOptions.answers(to: ["encode", "-color_primaries", "bt2020", "-color_trc", "smpte2084"])
                == "-color_primaries is not needed: color and HDR stay what INPUT has; --hdr sdr|pq|hlg converts, "
                + "--retag renames")
        let filter = ForeignOptions.answers(to: ["encode", "-vf", "hflip"])
        #expect(
            filter?.hasSuffix(
                "ffmpeg -i INPUT -vf FILTERS -c:v rawvideo -c:a copy -f nut - | hwctl encode - OUTPUT") == true)
    }

    @Test("A whole command line of ffmpeg has every answer, once")
    func several() {
        let line = "encode -i in.mp4 -crf 24 -preset slow -an -an out.mov".split(separator: " ").map(String.init)
        #expect(
            ForeignOptions.answers(to: line)
                == "-i is not needed: write INPUT alone, before OUTPUT; ffmpeg's -crf 24 is --quality 0.42; "
                + "ffmpeg's -preset slow is --preset slow; ffmpeg's -an is --audio none")
    }

    @Test(
        "Where each option has an answer, the whole command line is written",
        arguments: [
            (
                "-i a.mp4 -c:v libx265 -crf 28 -preset fast out.mp4",
                "hwctl encode a.mp4 --quality 0.32 --preset fast out.mp4"
            ),
            (
                "encode -ss 1 -t 2 -i a.mp4 -c copy out.mp4",
                "hwctl encode --start 1 --duration 2 a.mp4 --copy out.mp4"
            ),
            ("encode -o out.mp4 -i a.mp4 --size 640x-2", "hwctl encode a.mp4 --size 640x-2 out.mp4"),
            ("encode --scale=640:-1 a.mp4 out.mp4", "hwctl encode --size 640x-2 a.mp4 out.mp4"),
            (
                "encode -b:v 500k -maxrate 800k -bufsize 1600k a.mp4 out.mp4",
                "hwctl encode --bitrate 500k --property 'DataRateLimits=[100000,1]' a.mp4 out.mp4"
            ),
            ("decode -ss 2 -i a.mp4 -frames:v 1 frame.png", "hwctl decode --at 2 a.mp4 frame.png"),
            (
                "encode -vf lut3d=it's.cube a.mp4 out.mp4",
                "hwctl encode --effect 'lut:file=it'\\''s.cube' a.mp4 out.mp4"
            ),
            // No words, words that exclude each other, an option that nobody knows, a value that is missing.
            ("encode -c:v libx264 a.mp4 out.mp4", nil), ("encode -vf hflip a.mp4 out.mp4", nil),
            ("encode -crf 20 -b:v 5M a.mp4 out.mp4", nil), ("encode -crf 20 -nonsense a.mp4 out.mp4", nil),
            ("encode a.mp4 out.mp4 -crf", nil),
            // A command behind an option, and a file behind what ends the options.
            ("-v encode -crf 20 a.mp4 b.mov", nil),
            ("encode -crf 20 -- -i b.mov", "hwctl encode --quality 0.53 -- -i b.mov"),
            // A thing that is said twice; a width and a height are one.
            ("encode --width 640 --height 480 a.mp4 b.mov", "hwctl encode --size 640x480 a.mp4 b.mov"),
            ("encode -l 480 -w 640 a.mp4 b.mov", "hwctl encode --size 640x480 a.mp4 b.mov"),
            ("encode --width 640 --width 480 a.mp4 b.mov", nil), ("encode -crf 20 -crf 30 a.mp4 b.mov", nil),
            ("encode --resolution 720p --width 480 a.mp4 b.mov", nil),
            // Values by their names.
            ("encode -vf scale=h=480:w=640 a.mp4 b.mov", "hwctl encode --size 640x480 a.mp4 b.mov"),
            (
                "encode -vf crop=y=4:x=2:h=50:w=100 a.mp4 b.mov",
                "hwctl encode --crop 100:50:2:4 a.mp4 b.mov"
            ),
            ("encode -vf scale=h=480:h=640 a.mp4 b.mov", nil), ("encode -vf eq=1.5 a.mp4 b.mov", nil),
            // Values that a shell would run.
            ("encode --width 640;id a.mp4 b.mov", nil), ("encode -vf eq=saturation=$(id) a.mp4 b.mov", nil),
            ("encode -vf fps=25;id a.mp4 b.mov", nil), ("encode -vf scale=1;id:2 a.mp4 b.mov", nil),
            ("encode -x265-params a;id a.mp4 b.mov", "hwctl encode --property 'X265Params=a;id' a.mp4 b.mov"),
            ("encode -vf fps=30000/1001 a.mp4 b.mov", "hwctl encode --output-frame-rate 30000/1001 a.mp4 b.mov"),
        ] as [(String, String?)])
    func commandLine(_ foreign: String, _ ours: String?) {
        #expect(ForeignOptions.commandLine(for: foreign.split(separator: " ").map(String.init)) == ours)
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
