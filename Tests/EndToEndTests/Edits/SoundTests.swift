// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import Testing

extension EndToEndFaults {
    /// The sound of encoded and copied files, checked by ffprobe and ffmpeg.
    @Suite struct SoundOfFiles: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        /// Two seconds of HEVC with noise in tracks of some codecs.
        ///
        /// - Parameter sound: ffmpeg's options of the sound.
        @discardableResult
        func clip(_ name: String, tracks: Int = 1, source: String = "", _ sound: String...) throws -> String {
            let noise = (0..<tracks).flatMap { track in
                [
                    "-f", "lavfi", "-i",
                    "anoisesrc=color=pink:seed=\(track + 1):duration=2:sample_rate=48000\(source)",
                ]
            }
            let maps = (0...tracks).flatMap { ["-map", "\($0)"] }
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=2"] + noise + maps + [
                    "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none",
                ] + sound + [path(name)])
            return path(name)
        }

        /// A codec in a file, and the codec that it becomes in .mov and in .mp4.
        struct Case: Sendable, CustomTestStringConvertible {
            var codec: String
            var (mov, mp4): (String, String)
            var testDescription: String { codec }
        }

        static let cases = [
            Case(codec: "flac", mov: "alac", mp4: "alac"),
            Case(codec: "libvorbis", mov: "aac", mp4: "vorbis"),
            Case(codec: "libopus", mov: "aac", mp4: "opus"),
            Case(codec: "pcm_s16le", mov: "pcm_s16le", mp4: "alac"),
            Case(codec: "pcm_s24le", mov: "pcm_s24le", mp4: "alac"),
            Case(codec: "libmp3lame", mov: "mp3", mp4: "mp3"),
            Case(codec: "ac3", mov: "ac3", mp4: "ac3"),
            Case(codec: "aac", mov: "aac", mp4: "aac"),
            Case(codec: "wmav2", mov: "aac", mp4: "aac"),
        ]

        @Test(
            "Sound is copied or converted, and keeps its times",
            arguments: sampled(pairs(cases, ["mov", "mp4"]), oneIn: 5))
        func kept(_ codec: Case, _ ending: String) throws {
            try clip("in.mkv", "-c:a", codec.codec, "-b:a", "192k", "-ac", "2")
            let output = path("out.\(ending)")
            let run = try hwctl("encode", "--preset", "ultrafast", path("in.mkv"), output)
            let expected = ending == "mov" ? codec.mov : codec.mp4
            let source = try #require(try Probe(path("in.mkv")).audioCodecs().first)
            #expect(try Probe(output).audioCodecs() == [expected])
            #expect(run.errors.contains("is converted to \(expected.uppercased())") == (source != expected))
            let (old, new) = (try Sound(path("in.mkv")), try Sound(output))
            var largest = 0.0
            defer { print("sound of \(codec.codec) in .\(ending): delayed by up to \(largest * 1000) ms") }
            for time in [0.4, 1.0, 1.6] {
                let delay = new.delay(behind: old, at: time)
                largest = max(largest, abs(delay.seconds))
                #expect(abs(delay.seconds) <= 0.002, "\(codec.codec) in .\(ending) at \(time): \(delay)")
                #expect(delay.likeness > 0.9)
            }
            #expect(abs(new.seconds - old.seconds) < 0.05)
            // ffmpeg guesses the channels of PCM.
            #expect(try Probe(output).decodingMessages().isEmpty || codec.codec.hasPrefix("pcm"))
        }

        @Test(
            "No container loses sound without an error",
            arguments: sampled(
                pairs(
                    ["flac", "libvorbis", "libopus", "pcm_s16le", "libmp3lame", "ac3", "aac", "wmav2"],
                    ["mkv", "ts", "nut"]), oneIn: 5))
        func neverLost(_ codec: String, _ ending: String) throws {
            try clip("in.mkv", "-c:a", codec, "-b:a", "192k", "-ac", "2")
            let output = path("out.\(ending)")
            let run = try hwctl("encode", "--preset", "ultrafast", path("in.mkv"), output)
            let (old, new) = (try Sound(path("in.mkv")), try Sound(output))
            #expect(try Set(Probe(output).audioCodecs()).count == 1, "\(run.errors)")
            #expect(
                new.seconds > old.seconds - 0.1, "\(codec) in .\(ending): \(new.seconds) s of \(old.seconds)")
            #expect(new.samples.contains { abs($0) > 0.05 })
        }

        @Test("Lossless sound stays the same to the sample")
        func lossless() throws {
            try clip("in.mkv", "-c:a", "flac", "-sample_fmt", "s32", "-bits_per_raw_sample", "24", "-ac", "2")
            try hwctl("encode", "--copy", path("in.mkv"), path("out.mov"))
            #expect(try Probe(path("out.mov")).audioCodecs() == ["alac"])
            func samples(_ name: String) throws -> [UInt8] {
                try Programs.tool(
                    "ffmpeg", ["-v", "error", "-i", path(name), "-map", "0:a", "-f", "s32le", "-"]
                ).output
            }
            let (old, new) = (try samples("in.mkv"), try samples("out.mov"))
            #expect(old.count == 2 * 48_000 * 2 * 4 && old == new)
            let receipt = try ReceiptDocument(path("in.mkv"), path("out.mov"), socket: server.socket)
            #expect(try receipt.item("audio").verdict == "changed")
        }

        @Test("Sound that would be lost is an error, and nothing is written")
        func lost() throws {
            try clip("in.mkv", "-c:a", "libvorbis")
            for copy in [["--copy"], []] {
                let run = try Programs.hwctl(
                    ["encode", "--audio", "copy"] + copy + [path("in.mkv"), path("out.mov")], socket: server.socket)
                #expect(run.status == 65)
                #expect(
                    run.complaints == [
                        "hwctl: the sound would be lost: .mov holds no vorbis (stream 1); "
                            + "use --audio aac, or .mp4, or --drop-audio"
                    ])
            }
            #expect(!server.folder.contents.contains("out.mov"))
            let dropped = try hwctl(
                "encode", "--copy", "--audio", "copy", "--drop-audio", path("in.mkv"), path("out.mov"))
            #expect(dropped.errors.contains("stream 1 (audio, vorbis) is not copied: .mov holds no vorbis"))
            #expect(try Probe(path("out.mov")).audioCodecs().isEmpty)
            let raw = try hwctl("encode", "--copy", path("in.mkv"), path("out.hevc"))
            #expect(raw.errors.contains("stream 1 (audio, vorbis) is not copied"))
        }

        @Test(
            "An output of only pictures says so of the sound, once",
            arguments: [
                ("encode", "out.hevc", ".hevc holds only video"),
                ("decode", "out.y4m", "Y4M holds only pictures"),
                ("decode", "out.yuv", "raw frames hold only pictures"),
                ("encode", "out.heic", "HEIC files hold only pictures"),
                ("encode", "out.heics", "HEIC files hold only pictures"),
            ])
        func picturesAlone(_ command: String, _ output: String, _ reason: String) throws {
            try clip("in.mkv", "-c:a", "aac")
            let run = try hwctl(command, path("in.mkv"), path(output))
            let notes = run.errorLines.filter { $0.contains("stream 1 (audio, aac) is not copied: \(reason)") }
            #expect(notes.count == 1, "\(run.errors)")
            let quiet = try hwctl(command, "-q", path("in.mkv"), path("quiet-" + output))
            #expect(quiet.errors.isEmpty, "\(quiet.errors)")
        }

        @Test("Sound of a video with alpha is named once, though it is read twice")
        func alphaSequence() throws {
            let title = Clips.fixture("alpha_prores4444.mov").path
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-i", title, "-f", "lavfi", "-i", "sine=duration=1", "-c:v", "copy", "-c:a", "aac"]
                    + ["-shortest", path("title.mov")])
            let run = try hwctl("encode", "--alpha", "straight", path("title.mov"), path("out.heics"))
            #expect(run.errorLines.count { $0.contains("(audio, aac) is not copied") } == 1, "\(run.errors)")
        }

        @Test("Tracks are chosen by number and language")
        func tracks() throws {
            try clip(
                "in.mkv", tracks: 2, "-c:a:0", "aac", "-c:a:1", "ac3", "-metadata:s:a:0", "language=eng",
                "-metadata:s:a:1", "language=deu")
            for (track, codec) in [("1", "aac"), ("2", "ac3"), ("deu", "ac3"), ("eng", "aac")] {
                try hwctl("encode", "--copy", "--audio-track", track, path("in.mkv"), path("out.mov"))
                #expect(try Probe(path("out.mov")).audioCodecs() == [codec], "\(track)")
            }
            for track in ["3", "fra"] {
                let run = try hwctl(
                    "encode", "--copy", "--audio-track", track, path("in.mkv"), path("no.mov"), status: 65)
                #expect(run.errorLines.count == 1)
                #expect(run.errors.contains("has no audio track \(track): it has 1 (aac, eng), 2 (ac3, deu)"))
            }
            try hwctl("encode", "--copy", "--audio", "none", path("in.mkv"), path("silent.mov"))
            #expect(try Probe(path("silent.mov")).audioCodecs().isEmpty)
            try hwctl("encode", "--copy", "--audio", "aac", path("in.mkv"), path("both.mov"))
            #expect(try Probe(path("both.mov")).audioCodecs() == ["aac", "aac"])
            #expect(!server.folder.contents.contains("no.mov"))
        }

        @Test(
            "Channels and rates stay where AAC has them",
            arguments: sampled(
                [
                    ("mono", "8000"), ("stereo", "44100"), ("5.1(side)", "48000"), ("5.1", "48000"),
                    ("7.1", "48000"), ("quad", "32000"), ("3.0", "48000"), ("stereo", "96000"),
                    ("stereo", "192000"),
                ], oneIn: 4))
        func layouts(_ layout: String, _ rate: String) throws {
            // A chain of filters makes the channels alike.
            let gains = ["mono": 1, "stereo": 2, "3.0": 3, "quad": 4, "7.1": 8][layout] ?? 6
            let pan = (0..<gains).map { "c\($0)=c0" }.joined(separator: "|")
            try clip(
                "in.mkv", source: ",pan=\(layout)|\(pan),aresample=\(rate)", "-c:a", "flac")
            let run = try hwctl("encode", "--copy", "--audio", "aac", path("in.mkv"), path("out.mp4"))
            let fields = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "a", "-show_entries",
                    "stream=codec_name,sample_rate,channels",
                    "-of", "csv=p=0", path("out.mp4"),
                ]
            ).text.split(whereSeparator: \.isNewline)
            #expect(fields == ["aac,\(rate == "192000" ? "96000" : rate),\(gains)"])
            #expect(run.errors.contains("96000 samples per second") == (rate == "192000"))
            let (old, new) = (try Sound(path("in.mkv")), try Sound(path("out.mp4")))
            let delay = new.delay(behind: old, at: 1)
            #expect(abs(delay.seconds) <= 0.002 && delay.likeness > 0.8, "\(layout): \(delay)")
        }

        @Test("A gap stays a gap, and a late beginning stays late")
        func gaps() throws {
            try clip("whole.mkv", "-c:a", "flac")
            // Without the packets of 0.5…1.2 s, and 0.3 s later.
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", path("whole.mkv"), "-itsoffset", "0.3", "-i", path("whole.mkv"), "-map",
                    "0:v",
                    "-map", "1:a", "-c", "copy", "-bsf:a", "noise=drop=between(pts*tb\\,0.5\\,1.2)",
                    path("gap.mkv"),
                ])
            try hwctl("encode", "--copy", "--audio", "aac", path("gap.mkv"), path("gap.mov"))
            let (old, new) = (try Sound(path("gap.mkv")), try Sound(path("gap.mov")))
            for time in [0.56, 1.9] {
                let delay = new.delay(behind: old, at: time)
                #expect(abs(delay.seconds) <= 0.002 && delay.likeness > 0.8, "at \(time): \(delay)")
            }
            let silent = new.samples[Int(0.7 * Double(Sound.rate))..<Int(1.2 * Double(Sound.rate))]
            #expect(silent.allSatisfy { abs($0) < 0.01 })
        }

        @Test(
            "Options that contradict each other are refused",
            arguments: [
                ["--audio", "mp3"], ["--audio-track", "0"], ["--audio-track", "german"], ["--audio-bitrate", "6"],
                ["--audio", "none", "--audio-track", "1"], ["--audio", "alac", "--audio-bitrate", "128k"],
            ])
        func refused(_ options: [String]) throws {
            let run = try Programs.hwctl(["encode"] + options + [path("in.mkv"), path("out.mov")])
            #expect(run.status == 64)
        }
    }
}
