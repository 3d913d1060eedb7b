// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEnd {
    /// `hwctl verify` and `hwctl encode --verify` with outputs that are as they should be.
    @Suite struct Receipts {
        let folder: Scratch

        init() throws { folder = try Scratch() }

        private func path(_ name: String) -> String { folder.path(name) }

        /// ffmpeg's filters compute the same figures.
        @Test func figuresAreThoseOfFFmpeg() throws {
            let source = Clips.fixture("bframes.mp4").path
            let output = path("out.mov")
            let run = try Programs.hwctl(["encode", "--preset", "ultrafast", "--qp", "34", source, output])
            try #require(run.status == 0, "\(run.errors)")
            let receipt = try ReceiptDocument(source, output)
            #expect(receipt.lost == [])
            let quality = try #require(receipt.quality)
            #expect(quality.pictures == 30)
            #expect(!quality.exact)
            for (filter, ours) in [
                ("psnr", [("y", quality.psnr_y), ("u", quality.psnr_cb), ("v", quality.psnr_cr)]),
                ("ssim", [("Y", quality.ssim_y), ("U", quality.ssim_cb), ("V", quality.ssim_cr)]),
            ] {
                let text = try Programs.tool(
                    "ffmpeg",
                    ["-v", "info", "-nostats", "-i", output, "-i", source, "-lavfi", filter, "-f", "null", "-"]
                ).errors
                for (name, value) in ours {
                    let word = try #require(text.split(separator: " ").last { $0.hasPrefix("\(name):") })
                    let theirs = try #require(Double(word.dropFirst(2)))
                    let value = try #require(value)
                    #expect(
                        abs(value - theirs) < (filter == "psnr" ? 0.01 : 0.0005),
                        "\(filter) \(name): \(value), \(theirs)")
                }
            }
        }

        @Test func copiesAreEqual() throws {
            for (clip, options) in [("bframes.mp4", []), ("hlg.mov", []), ("raw.hevc", ["--frame-rate", "24"])] {
                let source = Clips.fixture(clip).path
                let run = try Programs.hwctl(
                    ["encode", "--copy", "--verify", "--json"] + options + [source, path("c.mp4")])
                try #require(run.status == 0, "\(clip): \(run.errors)")
                struct Document: Decodable { var receipt: ReceiptDocument }
                let receipt = try JSONDecoder().decode(Document.self, from: Data(run.output)).receipt
                #expect(
                    try receipt.item("pictures").sentence == "the coded pictures are the input's own", "\(clip)")
                #expect(receipt.lost == [])
            }
        }

        /// A raw stream holds only pictures, which is no fault; times are then not compared.
        @Test func rawStream() throws {
            let source = Clips.fixture("bframes.ts").path
            let run = try Programs.hwctl(["encode", "--preset", "ultrafast", "--verify", source, path("out.hevc")])
            #expect(run.status == 0, "\(run.errors)")
            let receipt = try ReceiptDocument(source, path("out.hevc"))
            #expect(try receipt.item("audio").expected == "a raw HEVC stream holds only pictures")
            #expect(try receipt.item("timestamps").expected == "a raw HEVC stream holds only pictures")
            #expect(try receipt.item("frames").verdict == "kept")
        }

        /// A .mov holds no Vorbis: the sound is converted, or left out on request.
        @Test func soundThatDoesNotFit() throws {
            let source = Clips.fixture("vp8_vorbis.webm").path
            let run = try Programs.hwctl(["encode", "--preset", "ultrafast", "--verify", source, path("out.mov")])
            #expect(run.status == 0, "\(run.errors)")
            #expect(try ReceiptDocument(source, path("out.mov")).item("audio").verdict == "changed")

            let silent = ["encode", "--preset", "ultrafast", "--audio", "none", source, path("silent.mov")]
            try #require(Programs.hwctl(silent).status == 0)
            #expect(try ReceiptDocument(source, path("silent.mov")).lost == ["audio"])
            #expect(try ReceiptDocument("--asked", "audio", source, path("silent.mov")).lost == [])
        }

        /// Sound that was coded again is changed; a part of it is lost.
        @Test func soundCodedAnew() throws {
            let source = Clips.fixture("bframes.ts").path
            func recode(_ options: [String], _ name: String) throws -> ReceiptDocument {
                try Programs.tool(
                    "ffmpeg", ["-v", "error", "-y", "-i", source, "-c:v", "copy"] + options + [path(name)])
                return try ReceiptDocument(source, path(name))
            }
            let whole = try recode(["-c:a", "alac"], "alac.mov")
            #expect(whole.lost == [])
            #expect(try whole.item("audio").verdict == "changed")
            let cut = try recode(["-c:a", "alac", "-af", "atrim=end=0.2"], "cut.mov")
            #expect(cut.lost == ["audio"])
        }

        @Test func refusals() throws {
            let source = Clips.fixture("bframes.mp4").path
            let cases: [([String], Int32)] = [
                (["verify", source], 64), (["verify", "--asked", "nothing", source, source], 64),
                (["verify", "--asked", "hdr=bright", source, source], 64),
                (["verify", "--asked", "max-level=9", source, source], 64),
                (["verify", source, path("missing.mov")], 66),
                (["verify", source, Clips.fixture("ATTRIBUTION.md").path], 65),
                (["encode", "--verify", source, "-"], 64), (["encode", "--verify", "-", path("x.mov")], 64),
                (["encode", "--verify", path("pipe"), path("x.mov")], 64),
            ]
            try #require(mkfifo(path("pipe"), 0o600) == 0)
            for (arguments, status) in cases {
                let run = try Programs.hwctl(arguments)
                #expect(run.status == status, "\(arguments): \(run.errors)")
            }
            #expect(!FileManager.default.fileExists(atPath: path("x.mov")))
        }

        /// HEVC is coded in 4:2:0, which the receipt names; SDR stays as it is where SDR is asked for.
        @Test func chromaAndTagsOfSDR() throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc=s=160x96:d=0.2", "-c:v", "libx264", "-pix_fmt",
                    "yuv444p", "-color_primaries", "smpte170m", "-color_trc", "smpte170m", "-colorspace",
                    "smpte170m", path("full.mov"),
                ])
            let run = try Programs.hwctl([
                "encode", "--preset", "ultrafast", "--hdr", "sdr", "--verify", path("full.mov"), path("out.mov"),
            ])
            #expect(run.status == 0, "\(run.errors)")
            let chroma = try ReceiptDocument(path("full.mov"), path("out.mov")).item("chroma")
            #expect(chroma.verdict == "lost" && chroma.expected != nil)
            #expect(chroma.sentence == "4:4:4 became 4:2:0")
        }

        @Test func text() throws {
            let source = Clips.fixture("bframes.mp4").path
            let run = try Programs.hwctl(["verify", "--explain", source, source])
            #expect(run.status == 0)
            let lines = run.text.split(separator: "\n")
            #expect(lines.contains { $0.hasPrefix("kept") && $0.contains("frames") && $0.contains("30 frames") })
            #expect(lines.contains { $0.contains("compared: each picture of the input is there once") })
        }
    }
}
