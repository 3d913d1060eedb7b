// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDTransport
import Testing

extension EndToEnd {
    /// Y4M on standard input, Annex B on standard output, and the JSON document.
    @Suite struct StandardStreams {
        static let frames = 12

        /// ffmpeg's test picture as Y4M.
        static func y4m(_ pixelFormat: String, frames: Int = frames, in folder: Scratch) throws -> String {
            let path = folder.path("in-\(pixelFormat).y4m")
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30000/1001", "-frames:v",
                    "\(frames)", "-pix_fmt", pixelFormat, "-strict", "-1", "-f", "yuv4mpegpipe", path,
                ])
            return path
        }

        /// Runs hwctl on a pipe that ffmpeg writes to.
        private func pipe(_ y4m: String, into arguments: [String], output: Int32? = nil) throws -> Finished {
            let ends = try PipeEnds()
            let ffmpeg = try Running(
                Programs.required("ffmpeg"),
                ["-v", "error", "-i", y4m, "-strict", "-1", "-f", "yuv4mpegpipe", "-"], output: ends.writeNumber)
            let hwctl = try Running(
                Programs.path("hwctl"), ["encode", "--preset", "ultrafast"] + arguments, input: ends.readNumber)
            ends.closeWriting()
            ends.closeReading()
            let finished = try hwctl.wait()
            _ = try ffmpeg.wait()
            return finished
        }

        @Test("Y4M on standard input keeps its bit depth", arguments: ["yuv420p", "yuv420p10le"])
        func input(_ pixelFormat: String) throws {
            let folder = try Scratch()
            let y4m = try Self.y4m(pixelFormat, in: folder)
            let output = folder.path("out.mov")
            let run = try pipe(y4m, into: ["-", output])
            try #require(run.status == 0, "\(run.errors)")
            #expect(try Probe(output).field("pix_fmt") == pixelFormat)
            #expect(try Encoding.agree(Probe(output).frameTimes(), Probe(y4m).frameTimes()))
            #expect(try psnr(["-i", output], ["-i", y4m], as: pixelFormat) >= 35)
            #expect(try Probe(output).decodingMessages() == "")
        }

        @Test("With the output -, standard output is Annex B and nothing else")
        func output() throws {
            let folder = try Scratch()
            let y4m = try Self.y4m("yuv420p", in: folder)
            let run = try pipe(y4m, into: ["-", "-"])
            try #require(run.status == 0, "\(run.errors)")
            #expect(run.output.starts(with: [0, 0, 0, 1]))
            let coded = folder.path("out.hevc")
            try Data(run.output).write(to: URL(fileURLWithPath: coded))
            #expect(try Probe(coded).frameTimes().count == Self.frames)
            #expect(try psnr(["-i", coded], ["-i", y4m], as: "yuv420p") >= 35)
        }

        @Test("--json prints one document with the encoder and the reason why it is not hardware")
        func json() throws {
            let folder = try Scratch()
            let y4m = try Self.y4m("yuv420p", in: folder)
            let run = try Programs.hwctl(
                [
                    "encode", "--json", "--preset", "ultrafast", "--property", "MaxKeyFrameInterval=5", y4m,
                    folder.path("out.mp4"),
                ])
            try #require(run.status == 0, "\(run.errors)")
            let document = try #require(
                try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            #expect(document["schema"] as? Int == 2)
            #expect(document["EncoderID"] as? String == "org.hwdaemon.encoder.x265")
            #expect(document["UsingHardwareAcceleratedVideoEncoder"] as? Bool == false)
            let reason = try #require(document["FallbackReason"] as? String)
            #expect(reason.contains("/dev/null/none"))
            #expect(document["frames"] as? Int == Self.frames)
            #expect(document["width"] as? Int == 320)
            let properties = try #require(document["properties"] as? [String: Any])
            #expect(properties["MaxKeyFrameInterval"] as? Int == 5)
            #expect(properties["OutputBitDepth"] as? Int == 8)
        }

        @Test("--hardware off reports no fallback reason")
        func hardwareOff() throws {
            let folder = try Scratch()
            let y4m = try Self.y4m("yuv420p", in: folder)
            let run = try Programs.hwctl(
                ["encode", "--json", "--preset", "ultrafast", "--hardware", "off", y4m, folder.path("out.mp4")])
            let document = try #require(
                try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            #expect(document["UsingHardwareAcceleratedVideoEncoder"] as? Bool == false)
            #expect(document["FallbackReason"] == nil)
        }

        @Test("A broken pipe on standard output ends with 141, as for SIGPIPE, and without a line")
        func brokenPipe() throws {
            let folder = try Scratch()
            let y4m = try Self.y4m("yuv420p", frames: 200, in: folder)
            let ends = try PipeEnds()
            let hwctl = try Running(
                Programs.path("hwctl"), ["encode", "--preset", "ultrafast", "--qp", "1", y4m, "-"],
                output: ends.writeNumber)
            ends.closeReading()
            ends.closeWriting()
            let run = try hwctl.wait()
            #expect(run.status == 141, "\(run.errors)")
            #expect(run.complaints.isEmpty, "\(run.errors)")
        }

        @Test(
            "A limit of file sizes is an error that names it, not a signal",
            .enabled(if: Programs.has("prlimit"), "needs prlimit"), arguments: [1 << 20, 48 << 20])
        func fileSizeLimit(_ bytes: Int) throws {
            let folder = try Scratch()
            let y4m = try Self.y4m("yuv420p", in: folder)
            let run = try Running(
                Programs.required("prlimit"),
                ["--fsize=\(bytes):\(bytes)", Programs.path("hwctl"), "encode", y4m, folder.path("out.mov")]
            ).wait()
            #expect(run.status == 70 && run.complaints.count == 1, "\(run.exit): \(run.errors)")
            #expect(run.errors.contains("RLIMIT_FSIZE (ulimit -f) allows \(bytes)"), "\(run.errors)")
        }

        /// Standard error is a file too, so the line about the error is not written either.
        @Test(
            "Standard output beyond a limit of file sizes is a failed write, not a signal",
            .enabled(if: Programs.has("prlimit"), "needs prlimit"), arguments: [0, 100])
        func limitedOutput(_ bytes: Int) throws {
            let run = try Running(
                Programs.required("prlimit"), ["--fsize=\(bytes)", Programs.path("hwctl"), "presets"]
            ).wait()
            #expect(run.exit == .exited(74), "\(run.errors)")
            #expect(run.output.count == bytes)
        }
    }
}
