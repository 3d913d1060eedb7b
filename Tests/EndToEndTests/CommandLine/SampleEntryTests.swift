// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// Videos whose parameter sets, size, depth or chroma format change, in sample entries or inside their samples.
    @Suite struct FormatChanges {
        private let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func path(_ name: String) -> String { server.folder.path(name) }

        private func hwctl(_ arguments: String...) throws -> Finished {
            try Programs.hwctl(arguments, socket: server.socket)
        }

        private func summary(_ run: Finished) throws -> [String: Any] {
            try #require(run.status == 0, "\(run.errors)")
            return try #require(try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
        }

        private static func clip(_ name: String) -> String { Clips.fixture("entries/\(name).mov").path }

        /// The frames that ffmpeg scales to the first size, which is its rule too.
        private func reference(_ input: String) throws -> [String] {
            let raw = path("reference.yuv")
            let arguments = ["-y", "-v", "quiet", "-i", input, "-fps_mode", "passthrough", "-pix_fmt", "yuv420p"]
            try Programs.tool("ffmpeg", arguments + ["-f", "rawvideo", raw])
            return ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", "96x64", "-i", raw]
        }

        @Test(
            "A change of size, depth or chroma format is encoded in the first format, and reported",
            arguments: [("size", 10, 0), ("depth", 0, 10), ("422", 0, 10)])
        func encode(_ name: String, scaled: Int, converted: Int) throws {
            let (input, output) = (Self.clip(name), path("out.mov"))
            let run = try hwctl("encode", "--json", "--preset", "ultrafast", "--qp", "4", input, output)
            let report = try summary(run)
            #expect(report["scaled_frames"] as? Int == scaled && report["converted_frames"] as? Int == converted)
            #expect((report["warnings"] as? [String])?.count == 1)
            #expect(
                run.complaints.contains { $0.contains("warning") && $0.contains("frame 10 is") }, "\(run.errors)")
            #expect(try Probe(output).size == (96, 64))
            #expect(try Probe(output).field("pix_fmt") == "yuv420p")
            #expect(try Probe(output).frameTimes().count == 20 && Probe(output).decodingMessages() == "")
            // Equal scaling gives 48 dB; nearest-neighbor scaling 29, and pictures in the wrong place less than 15.
            #expect(try psnr(["-i", output], reference(input), as: "yuv420p") > 40)
        }

        /// Alpha is scaled with the colors, and frames of a decoder in this process are fitted as the daemon's are.
        @Test("A change of size with alpha, and in a series of pictures")
        func pictures() throws {
            for (number, size) in [(1, "96x64"), (2, "96x64"), (3, "128x80"), (4, "48x32")] {
                let source = "testsrc2=s=\(size),format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='255*X/W'"
                try Programs.tool(
                    "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", source, "-frames:v", "1", path("\(number).png")])
            }
            for (options, ending) in [([], "mov"), (["--alpha", "straight"], "mov")] {
                let output = path("out.\(ending)")
                let run = try Programs.hwctl(
                    ["encode", "--json", "--qp", "4"] + options + [path("%d.png"), output], socket: server.socket)
                let report = try summary(run)
                #expect(report["scaled_frames"] as? Int == 2 && report["frames"] as? Int == 4)
                #expect(try Probe(output).size == (96, 64) && Probe(output).frameTimes().count == 4)
            }
            let raw = path("alpha.yuv")
            try #require(try hwctl("decode", "--format", "yuva", path("out.mov"), raw).status == 0)
            let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: raw)))
            let frame = 96 * 64 * 5 / 2
            try #require(bytes.count == 4 * frame)
            // The ramp of alpha, from 0 to 252, in every frame.
            for number in 0..<4 {
                for x in [8, 48, 88] {
                    let value = Int(bytes[number * frame + 96 * 64 * 3 / 2 + 32 * 96 + x])
                    #expect((value - 255 * x / 96).magnitude <= 8, "frame \(number), column \(x): \(value)")
                }
            }
        }

        @Test("A change inside a transport stream, with and without --keep-partial")
        func transportStream() throws {
            var bytes = Data()
            for size in ["96x64", "128x80"] {
                let part = path("\(size).ts")
                let source = ["-f", "lavfi", "-i", "testsrc2=s=\(size):r=25:d=0.4", "-pix_fmt", "yuv420p"]
                let coding = ["-c:v", "libx265", "-x265-params", "log-level=none:info=0"]
                try Programs.tool("ffmpeg", ["-v", "error"] + source + coding + [part])
                bytes += try Data(contentsOf: URL(fileURLWithPath: part))
            }
            let input = path("in.ts")
            try bytes.write(to: URL(fileURLWithPath: input))
            for options in [[], ["--keep-partial"]] {
                let run = try Programs.hwctl(
                    ["encode", "--json", "--qp", "4"] + options + [input, path("out.mov")], socket: server.socket)
                #expect(try summary(run)["scaled_frames"] as? Int == 10)
                #expect(try psnr(["-i", path("out.mov")], reference(input), as: "yuv420p") > 40)
            }
            let copy = try summary(try hwctl("encode", "--copy", "--json", input, path("copy.mp4")))
            #expect(copy["sample_entries"] as? Int == 2)
            #expect(try digests(path("copy.mp4")) == digests(input))
        }

        private func digests(_ path: String) throws -> [String] {
            try EndToEnd.Decoding.digests(["-i", path], "yuv420p")
        }

        @Test("Every frame of two sample entries is decoded and copied", arguments: ["mov", "hevc"])
        func copy(_ ending: String) throws {
            let input = Clips.fixture("two_entries.mov").path
            let expected = try digests(input)
            #expect(expected.count == 20)
            let output = path("out.\(ending)")
            let report = try summary(try hwctl("encode", "--copy", "--json", input, output))
            #expect(report["sample_entries"] as? Int == (ending == "hevc" ? nil : 2))
            #expect(try digests(output) == expected)
            let decoded = try hwctl("decode", output, path("out.y4m"))
            #expect(decoded.status == 0 && !decoded.errors.contains("warning"), "\(decoded.errors)")
            #expect(try digests(path("out.y4m")) == expected)
        }

        @Test("Decoding to a file of one size ends where the size changes; info counts the sample entries")
        func decode() throws {
            let run = try hwctl("decode", Self.clip("size"), path("out.y4m"))
            #expect(run.status == 65 && run.complaints.count == 1, "\(run.errors)")
            #expect(server.folder.contents == ["socket"])
            let series = try hwctl("decode", Self.clip("size"), path("%02d.png"))
            #expect(series.status == 0 && server.folder.contents.count == 21, "\(series.errors)")
            #expect(try Probe(path("10.png")).size == (96, 64) && Probe(path("11.png")).size == (128, 80))
            let deep = try hwctl("decode", Self.clip("depth"), path("out.y4m"))
            #expect(deep.status == 0, "\(deep.errors)")
            let decoded = ["-i", path("out.y4m")]
            #expect(try psnr(decoded, reference(Self.clip("depth")), as: "yuv420p") > 50)
            let refused = try hwctl("encode", Self.clip("codec"), path("out.mov"))
            #expect(refused.status == 65 && refused.complaints.count == 1, "\(refused.errors)")
            #expect(refused.errors.contains("avc1"))
            let info = try summary(try hwctl("info", "--json", "--no-measure", Self.clip("422")))
            #expect((info["video"] as? [[String: Any]])?.first?["sample_entries"] as? Int == 2)
        }
    }
}
