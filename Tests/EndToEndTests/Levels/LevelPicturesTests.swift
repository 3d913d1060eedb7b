// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEnd {
    /// Temporal levels change the headers of x265's pictures, not the pictures: the x265 program codes the same ones.
    @Suite struct LevelPictures {
        @Test(
            "Pictures with temporal levels equal those of the x265 program, which has no levels",
            arguments: [
                (30, 25, "yuv420p"), (60, 17, "yuv420p10le"), (120, 17, "yuv420p"), (15, 33, "yuv420p"),
            ])
        func thePicturesAreTheCommandLines(base: Int, frames: Int, pixels: String) throws {
            let server = try TestDaemon()
            let (source, own) = (server.folder.path("in.y4m"), server.folder.path("own.hevc"))
            let theirs = server.folder.path("theirs.hevc")
            try Programs.tool(
                "ffmpeg",
                [
                    "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=240", "-frames:v",
                    "\(frames)", "-pix_fmt", pixels, "-strict", "-1", source,
                ])
            let run = try Programs.hwctl(
                [
                    "encode", "--qp", "32", "--hardware", "off", "--base-layer-frame-rate", "\(base)",
                    "--expected-frame-rate", "240", "--property", "X265Params=frame-threads=1", source, own,
                ], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            // Two levels are in groups of four, all of whose references are of level 0.
            let group = max(4, 240 / base)
            let references = base == 120 ? "3" : "1"
            let interval = "\(250 / group * group)"
            try Programs.tool(
                "x265",
                [
                    "--log-level", "none", "--qp", "32", "--frame-threads", "1", "--bframes", "\(group - 1)",
                    "--b-adapt", "0", "--b-pyramid", "--scenecut", "0", "--ref", references, "--keyint", interval,
                    "--min-keyint", interval, "--output-depth", pixels == "yuv420p" ? "8" : "10", source, "-o",
                    theirs,
                ])
            let pictures = try [own, theirs].map { stream in
                let raw = stream + ".yuv"
                try Programs.tool("ffmpeg", ["-y", "-v", "error", "-i", stream, "-f", "rawvideo", raw])
                return try Data(contentsOf: URL(fileURLWithPath: raw))
            }
            #expect(pictures[0].count == frames * 96 * 64 * 3 / (pixels == "yuv420p" ? 2 : 1))
            let isSame = pictures[0] == pictures[1]
            #expect(isSame, "the pictures differ")
        }
    }
}
