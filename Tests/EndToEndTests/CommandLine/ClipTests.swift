// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import Testing

extension EndToEnd {
    /// `hwctl encode` of whole clips, checked by ffprobe, ffmpeg and libde265.
    @Suite struct Encoding {
        /// Clips whose PSNR is measured, which takes as long as encoding them.
        static let measured: Set = [
            "hevc_854x480_bframes.mp4", "natural_1024x768_hevc_2tracks.mp4", "bframes.mp4", "two_tracks.mp4",
        ]

        @Test(
            "A clip becomes a .mov with its frames, times and depth", arguments: sampled(Clips.videos, oneIn: 3))
        func clip(_ url: URL) throws { try Self.check(url) }

        /// Encodes a clip and judges the file.
        static func check(_ url: URL) throws {
            let server = try TestDaemon()
            let output = server.folder.path("out.mov")
            let run = try Programs.hwctl(
                ["encode", "--preset", "ultrafast", url.path, output], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")

            let (source, coded) = (Probe(url.path), Probe(output))
            #expect(try coded.field("codec_tag_string") == "hvc1")
            let pixelFormat = try source.isDeep ? "yuv420p10le" : "yuv420p"
            // ffprobe names full range of 8 bits yuvj420p.
            #expect(try coded.field("pix_fmt").replacing("yuvj", with: "yuv") == pixelFormat)
            // 4:2:0 has whole chroma samples only: an odd size is coded as the next even one.
            let size = try source.size
            #expect(try coded.size == ((size.width + 1) & ~1, (size.height + 1) & ~1))
            // A transport stream's time line begins with its first frame.
            let times = try source.frameTimes()
            let start = url.pathExtension == "ts" ? try #require(times.first ?? nil) : 0
            #expect(try agree(coded.frameTimes(), times.map { $0.map { $0 - start } }))
            #expect(try coded.decodingMessages() == "")
            if measured.contains(url.lastPathComponent) {
                let quality = try psnr(["-i", output], ["-i", url.path], as: pixelFormat)
                print("\(url.lastPathComponent): \(quality) dB")
                #expect(quality >= 35)
            }
            #expect(server.folder.contents == ["out.mov", "socket"])
            #expect(server.hasNoWorkers())
        }

        /// Whether the counts are equal and each time is within half a tick of the coarsest time base (1 ms).
        static func agree(_ coded: [Double?], _ source: [Double?]) -> Bool {
            guard coded.count == source.count else { return false }
            return zip(coded, source).allSatisfy { coded, source in
                guard let coded else { return false }
                // An elementary stream has no times to keep.
                return source.map { abs(coded - $0) < 0.0006 } ?? true
            }
        }

        @Test("Audio is copied as it is")
        func audio() throws {
            let url = Clips.fixture("bbb_720p.mp4")
            let folder = try Scratch()
            let output = folder.path("out.mp4")
            let run = try Programs.hwctl(["encode", "--preset", "ultrafast", url.path, output])
            try #require(run.status == 0, "\(run.errors)")
            #expect(try Probe(output).audioCodecs() == Probe(url.path).audioCodecs())
            let copy = ["-map", "0:a", "-c", "copy", "-f", "md5", "-"]
            #expect(
                try Programs.tool("ffmpeg", ["-v", "error", "-i", output] + copy).text
                    == Programs.tool("ffmpeg", ["-v", "error", "-i", url.path] + copy).text)
        }

        @Test("10 bits survive at the default quality")
        func tenBits() throws {
            let url = Clips.fixture("bbb_720p_main10.mp4")
            let folder = try Scratch()
            let output = folder.path("out.mov")
            let run = try Programs.hwctl(["encode", "--profile", "main10", "--preset", "fast", url.path, output])
            try #require(run.status == 0, "\(run.errors)")
            #expect(try Probe(output).field("pix_fmt") == "yuv420p10le")
            #expect(try Probe(output).field("profile") == "Main 10")
            let quality = try psnr(["-i", output], ["-i", url.path], as: "yuv420p10le")
            print("\(url.lastPathComponent), default quality: \(quality) dB")
            #expect(quality >= 40)
        }

        @Test("libde265 decodes an .hevc output to the samples that ffmpeg decodes")
        func libde265() throws {
            let url = Clips.fixture("bframes.mp4")
            let decoder = try Programs.required("libde265-dec265", "dec265")
            let folder = try Scratch()
            let (coded, decoded) = (folder.path("out.hevc"), folder.path("out.yuv"))
            let run = try Programs.hwctl(["encode", "--preset", "fast", url.path, coded])
            try #require(run.status == 0, "\(run.errors)")
            let dec265 = try Running(decoder, ["--quiet", "-o", decoded, coded]).wait()
            #expect(dec265.status == 0)
            #expect(!dec265.errors.localizedCaseInsensitiveContains("error"), "\(dec265.errors)")
            let samples = try [UInt8](Data(contentsOf: URL(fileURLWithPath: decoded)))
            #expect(!samples.isEmpty)
            let same = try samples == Probe(coded).samples(Probe(coded).field("pix_fmt"))
            #expect(same, "libde265 and ffmpeg decode to different samples")
        }

        /// The large set of clips, encoded whole.
        @Suite(.enabled(if: Clips.hasShared, Clips.needsShared)) struct Long {
            @Test("A shared clip becomes a .mov with its frames, times and depth", arguments: Clips.sharedVideos)
            func clip(_ url: URL) throws { try check(url) }
        }
    }
}
