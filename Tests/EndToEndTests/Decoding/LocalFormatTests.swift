// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// `hwctl decode` of codecs that it decodes itself: RGB, and rates that an output cannot express.
    @Suite struct LocalFormats {
        private let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func path(_ name: String) -> String { server.folder.path(name) }

        private func decode(_ arguments: String...) throws -> Finished {
            let run = try Programs.hwctl(["decode"] + arguments, socket: server.socket)
            try #require(run.status == 0, "\(arguments): \(run.errors)")
            return run
        }

        private func bytes(_ name: String) throws -> [UInt8] {
            try [UInt8](Data(contentsOf: URL(fileURLWithPath: path(name))))
        }

        @Test("RGB of H.264 and of RGB with alpha is ffmpeg's")
        func rgb() throws {
            let source = ["-v", "error", "-f", "lavfi", "-i", "gradients=size=160x96:duration=0.12:seed=3"]
            let tags = ["-color_primaries", "bt709", "-color_trc", "iec61966-2-1", "-colorspace", "bt709"]
            try Programs.tool(
                "ffmpeg",
                source + [
                    "-vf", "scale=out_color_matrix=bt709", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-qp", "1",
                ]
                    + tags + [path("clip.mp4")])
            try Programs.tool(
                "ffmpeg",
                source + ["-vf", "format=argb,colorchannelmixer=aa=0.5", "-c:v", "qtrle", path("alpha.mov")])
            for (name, filter) in [("clip.mp4", "scale=in_color_matrix=bt709"), ("alpha.mov", "null")] {
                let raw = ["-vf", filter, "-pix_fmt", "rgba", "-f", "rawvideo", "-"]
                let expected = try Programs.tool("ffmpeg", ["-v", "error", "-i", path(name)] + raw).output
                let run = try decode("--format", "rgba8", path(name), path("out.raw"))
                #expect(!run.errors.contains("alpha layer"), "\(run.errors)")
                let pixels = try bytes("out.raw")
                try #require(pixels.count == expected.count && !pixels.isEmpty)
                let sum = zip(pixels, expected).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
                #expect(Double(sum) / Double(pixels.count) < 1.5, "\(name)")
                _ = try decode("--format", "rgba16f", "--primaries", "709", path(name), path("half.raw"))
                #expect(try bytes("half.raw").count == 2 * pixels.count)
            }
        }

        @Test("Frame times that Y4M cannot hold are counted")
        func irregularTimes() throws {
            let source = ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=60000/1001:duration=0.5"]
            let codec = ["-c:v", "ffv1", "-fps_mode", "vfr"]
            try Programs.tool("ffmpeg", source + codec + [path("regular.mkv")])
            let filter = ["-vf", "select='lt(n,10)+not(mod(n,4))'"]
            try Programs.tool("ffmpeg", source + filter + codec + [path("irregular.mkv")])
            for (name, isRegular) in [("regular.mkv", true), ("irregular.mkv", false)] {
                let run = try decode("--json", path(name), path("out.y4m"))
                let summary = try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any]
                let count = try #require(summary?["irregular_frames"] as? Int)
                #expect((count == 0) == isRegular, "\(name): \(count)")
                #expect(try decode(path(name), path("out.y4m")).errors.contains("timing is lost") != isRegular)
                #expect(try !decode(path(name), path("out.yuv")).errors.contains("timing is lost"))
            }
        }
    }
}
