// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import HWDTransport
import Testing

extension EndToEndFaults {
    /// Containers on standard input and standard output, checked by ffprobe and ffmpeg.
    @Suite struct Pipes {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        func path(_ name: String) -> String { server.folder.path(name) }

        /// Runs a line of bash in which `hwctl` is the program under test; it fails where any part does.
        @discardableResult
        func shell(_ line: String, status: Int32 = 0) throws -> Finished {
            let script = "set -o pipefail; hwctl() { '\(Programs.path("hwctl"))' \"$@\"; }; " + line
            let run = try Running(
                Programs.required("bash"), ["-c", script], environment: ["HWDAEMON_SOCKET": server.socket]
            ).wait()
            try #require(run.status == status, "\(line): \(run.errors)")
            return run
        }

        /// Pictures at irregular times, and sound.
        func source(_ codecs: String = "-c:v ffv1 -c:a pcm_s16le") throws -> String {
            let picked = "\"select='not(mod(n,5))+not(mod(n,7))+eq(n,11)'\""
            try shell(
                "ffmpeg -v error -f lavfi -i testsrc2=size=128x96:rate=50:duration=2 -f lavfi -i "
                    + "anoisesrc=color=pink:duration=2:sample_rate=48000 -vf \(picked) -fps_mode vfr -pix_fmt yuv420p "
                    + "\(codecs) -ac 2 -f nut \(path("in.nut"))")
            return path("in.nut")
        }

        /// The times of a stream's packets in rising order, from the first one's on.
        func times(_ file: String, _ stream: String = "v:0") throws -> [Double] {
            let text = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", stream, "-show_entries", "packet=pts_time", "-of", "csv=p=0",
                    file,
                ]
            ).text
            let times = text.split(whereSeparator: { ",\n".contains($0) }).compactMap { Double($0) }.sorted()
            return times.map { $0 - (times.first ?? 0) }
        }

        func agree(_ first: [Double], _ second: [Double], within tolerance: Double) -> Bool {
            first.count == second.count && zip(first, second).allSatisfy { abs($0 - $1) <= tolerance }
        }

        @Test(
            "Inputs are recognized by their first bytes",
            arguments: [
                ("-f yuv4mpegpipe -pix_fmt yuv444p", false),
                ("-f yuv4mpegpipe -pix_fmt yuv422p10le -strict -1", false),
                ("-f matroska -c:v libx264 -preset ultrafast -c:a flac", true), ("-f nut -c copy", true),
                ("-f mpegts -c:v libx264 -preset ultrafast -c:a aac", true),
                ("-f mp4 -movflags frag_keyframe+delay_moov -c:v libx264 -preset ultrafast -c:a aac", true),
                ("-f hevc -c:v libx265 -preset ultrafast -x265-params log-level=none", false),
            ])
        func inputs(_ format: String, _ hasTimes: Bool) throws {
            let input = try source()
            let run = try shell(
                "ffmpeg -v error -i \(input) -fps_mode passthrough \(format) - | "
                    + "hwctl encode --preset ultrafast - \(path("out.mov"))")
            let (old, new) = (try times(input), try times(path("out.mov")))
            #expect(old.count == new.count)
            // 1 ms in Matroska, 1/90000 s in MPEG-TS.
            if hasTimes { #expect(agree(old, new, within: 0.0012), "\(old) \(new)") }
            #expect(try Probe(path("out.mov")).audioCodecs().count == (hasTimes ? 1 : 0))
            #expect(!run.errors.contains("damaged"), "\(run.errors)")
        }

        @Test(
            "Containers on standard output hold pictures, times and sound",
            arguments: sampled(pairs(["nut", "matroska", "mpegts", "fmp4", "hevc"], ["", "--copy"]), oneIn: 3))
        func outputs(_ format: String, _ copy: String) throws {
            let coded = "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=10 -c:a aac"
            let input = try source(copy.isEmpty ? "-c:v ffv1 -c:a aac" : coded)
            let options = copy.isEmpty ? "--preset ultrafast" : copy
            try shell("hwctl encode \(options) --to \(format) \(input) - >\(path("out"))")
            #expect(try Probe(path("out")).field("codec_name") == "hevc")
            #expect(try psnr(["-i", path("out")], ["-i", input], as: "yuv420p") >= 30)
            // ffmpeg's demuxer complains of a NUT file without an index, which a pipe cannot have.
            if format != "nut" { #expect(try Probe(path("out")).decodingMessages() == "") }
            if format != "hevc" {
                #expect(agree(try times(input), try times(path("out")), within: 0.0012))
                // ffprobe lists the streams of MPEG-TS twice.
                #expect(try Set(Probe(path("out")).audioCodecs()) == ["aac"])
            }
        }

        @Test("An input that is not recognized names ffmpeg's option")
        func unrecognized() throws {
            let run = try shell("head -c 100000 /dev/zero | hwctl encode - \(path("no.mov"))", status: 65)
            #expect(
                run.errorLines.count == 1
                    && run.errors.contains("add -f nut or -f yuv4mpegpipe to ffmpeg's options"))
            #expect(!server.folder.contents.contains("no.mov"))
        }

        @Test("Three programs in a pipe keep every time", arguments: ["", "--copy"])
        func threePrograms(_ copy: String) throws {
            let coded = "-c:v libx265 -preset ultrafast -x265-params log-level=none:bframes=3 -c:a aac"
            let input = try source(copy.isEmpty ? "-c:v ffv1 -c:a aac" : coded)
            let options = copy.isEmpty ? "--preset ultrafast" : copy
            try shell(
                "ffmpeg -v error -i \(input) -c copy -f nut - | hwctl encode \(options) - - --to nut | "
                    + "ffmpeg -v error -i - -c copy \(path("out.nut"))")
            for stream in ["v:0", "a:0"] {
                let (old, new) = (try times(input, stream), try times(path("out.nut"), stream))
                #expect(agree(old, new, within: 0.000_002))
                let largest = zip(old, new).map { abs($0 - $1) }.max() ?? .infinity
                print("three programs, \(copy) \(stream): \(old.count) packets, times differ by up to \(largest) s")
            }
        }

        @Test(
            "Files in Matroska, MPEG-TS and NUT",
            arguments: sampled(pairs(["mkv", "ts", "nut"], ["flac", "aac"]), oneIn: 5))
        func files(_ ending: String, _ sound: String) throws {
            let input = try source("-c:v ffv1 -c:a \(sound)")
            let output = path("out.\(ending)")
            let run = try Programs.hwctl(["encode", "--preset", "ultrafast", input, output], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            #expect(agree(try times(input), try times(output), within: 0.0012))
            let codec = try #require(try Probe(output).audioCodecs().first)
            // Only MPEG-TS does not hold FLAC.
            #expect(codec == (ending == "ts" ? "aac" : sound))
            #expect(run.errors.contains("is converted to \(codec.uppercased())") == (sound != codec))
            // FLAC in NUT has no block size, which ffmpeg remarks.
            if codec != "flac" || ending != "nut" { #expect(try Probe(output).decodingMessages() == "") }
        }

        @Test("A file on standard input is read as one, also where its index is at the end")
        func redirected() throws {
            let input = try source("-c:v ffv1 -c:a aac")
            try shell("ffmpeg -v error -i \(input) -c:v libx264 -c:a copy \(path("in.mp4"))")
            try shell("hwctl encode --preset ultrafast - \(path("out.mov")) <\(path("in.mp4"))")
            #expect(try Probe(path("out.mov")).audioCodecs() == ["aac"])
            let run = try shell("cat \(path("in.mp4")) | hwctl encode - \(path("no.mov"))", status: 65)
            #expect(run.errorLines.count == 1)
            #expect(run.errors.contains("index behind the samples"))
            #expect(!server.folder.contents.contains("no.mov"))
        }

        @Test("HDR metadata of a pipe's first picture are kept")
        func hdr() throws {
            try shell(
                "ffmpeg -v error -i \(Clips.fixture("pq.mov").path) -c copy -f nut - | "
                    + "hwctl encode --preset ultrafast - \(path("out.mov"))")
            /// Ratios as numbers: Matroska reduces them.
            func display(_ file: String) throws -> [Int] {
                let text = try Programs.tool(
                    "ffprobe",
                    [
                        "-v", "error", "-show_entries", "stream_side_data=max_luminance,red_x,max_content", "-of",
                        "csv=p=0", file,
                    ]
                ).text
                return text.split(whereSeparator: { ",\n".contains($0) }).compactMap { field in
                    let parts = field.split(separator: "/").compactMap { Double($0) }
                    return parts.isEmpty ? nil : Int((parts[0] / (parts.count > 1 ? parts[1] : 1) * 1000).rounded())
                }
            }
            let old = try display(Clips.fixture("pq.mov").path)
            #expect(old.count == 3)
            #expect(try display(path("out.mov")) == old)
            try shell("hwctl encode --copy \(path("out.mov")) \(path("out.mkv"))")
            #expect(try display(path("out.mkv")).sorted() == old.sorted())
        }

        @Test("Dolby Vision's record is kept in Matroska and fragmented MP4", arguments: ["matroska", "fmp4"])
        func dolbyVision(_ format: String) throws {
            let input = Clips.fixture("dolby_vision_84.mov").path
            try shell("hwctl encode --copy --to \(format) \(input) - >\(path("out"))")
            func record(_ file: String) throws -> String {
                try Programs.tool(
                    "ffprobe",
                    [
                        "-v", "error", "-select_streams", "v", "-show_entries",
                        "stream_side_data=dv_profile,dv_level,dv_bl_signal_compatibility_id", "-of", "default=nw=1",
                        file,
                    ]
                ).text
            }
            #expect(try record(input).contains("dv_profile=8"))
            #expect(try record(path("out")) == record(input))
        }

        @Test("URLs are refused with the pipe that reads them")
        func urls() throws {
            let input = try shell("hwctl encode https://example.org/a.mp4 \(path("out.mov"))", status: 64)
            #expect(
                input.errors
                    == "hwctl: URLs are not opened: use ffmpeg -i 'https://example.org/a.mp4' -c copy -f nut - | "
                    + "hwctl encode - OUTPUT\n")
            let output = try shell(
                "hwctl encode \(Clips.fixture("bbb_720p.mp4").path) rtmp://example.org/a", status: 64)
            #expect(output.errorLines.count == 1)
            #expect(output.errors.contains("hwctl encode INPUT - --to mpegts | ffmpeg -i - -c copy"))
        }

        @Test("Wrong formats of standard output are refused", arguments: ["y4m", "avi"])
        func wrongFormats(_ format: String) throws {
            let run = try shell(
                "hwctl encode --to \(format) \(Clips.fixture("bbb_720p.mp4").path) - >/dev/null", status: 64)
            #expect(run.errors.contains("--to"))
            try shell("hwctl encode --to nut \(Clips.fixture("bbb_720p.mp4").path) out.mov", status: 64)
        }

        @Test("An empty pipe is an error", arguments: ["true", "printf YUV4", "printf '\\032E'"])
        func empty(_ writer: String) throws {
            let run = try shell("\(writer) | hwctl encode - \(path("out.mov"))", status: 65)
            #expect(run.errorLines.count == 1, "\(run.errors)")
            #expect(run.errors.contains("standard input"))
            #expect(!server.folder.contents.contains("out.mov"))
        }

        @Test(
            "A reader that closes its pipe ends the command with 141 and no line",
            arguments: ["nut", "matroska", "hevc"])
        func closed(_ format: String) throws {
            let input = Clips.fixture("bbb_720p.mp4").path
            let run = try shell(
                "{ hwctl encode --preset ultrafast --qp 4 --to \(format) \(input) - || echo $? >&2; } | head -c 1000",
                status: 0)
            // Lines before the pipe was closed are notes about the input.
            #expect(run.errorLines.last == "141" && !run.errors.contains("cannot be written"), "\(run.errors)")
        }
    }
}

extension EndToEndFaults.Pipes {
    @Suite struct Long {
        /// The most memory of hwctl in KiB while it encodes `frames` pictures of 460,800 bytes each.
        private func peak(frames: Int, _ server: TestDaemon) throws -> Int {
            let ends = try PipeEnds()
            let null = open("/dev/null", O_WRONLY)
            defer { close(null) }
            let writer = try Running(
                Programs.required("ffmpeg"),
                [
                    "-v", "error", "-f", "lavfi", "-i", "color=size=640x480:rate=100", "-frames:v", "\(frames)",
                    "-f",
                    "nut", "-c:v", "rawvideo", "-pix_fmt", "yuv420p", "-",
                ], output: ends.writeNumber)
            let hwctl = try Running(
                Programs.path("hwctl"), ["encode", "--preset", "ultrafast", "--to", "nut", "-", "-"],
                environment: ["HWDAEMON_SOCKET": server.socket], input: ends.readNumber, output: null)
            ends.closeWriting()
            ends.closeReading()
            var most = 0
            // The line is gone once the process has ended.
            let hasEnded = eventually(within: hangLimit * 5) {
                guard let now = Self.peak(of: hwctl.child.pid) else { return true }
                most = max(most, now)
                return false
            }
            try #require(hasEnded, "\(hwctl.errorsSoFar)")
            let finished = try hwctl.wait()
            try #require(finished.status == 0, "\(finished.errors)")
            _ = try writer.wait()
            return most
        }

        /// VmHWM of a process; nil once it has ended.
        private static func peak(of process: Int32) -> Int? {
            let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            return line.flatMap { $0.split(whereSeparator: { " \t".contains($0) }).dropFirst().first }.flatMap {
                Int($0)
            }
        }

        @Test("A stream of 1 GB needs no more memory than one of 10 MB")
        func memory() throws {
            let server = try TestDaemon()
            let small = try peak(frames: 22, server)
            let large = try peak(frames: 2300, server)
            print("hwctl's peak memory: \(small) KiB for 10 MB, \(large) KiB for 1 GB")
            #expect(small > 10_000 && large < small + 8192)
        }
    }
}
