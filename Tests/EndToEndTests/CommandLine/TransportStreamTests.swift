// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// MPEG-TS whose timestamps begin late, wrap or jump: encoded and copied files have the times of ffmpeg's copy.
    @Suite struct TransportStreams {
        private let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func path(_ name: String) -> String { server.folder.path(name) }

        /// A .ts of the clip, moved by `offset` seconds; it holds video and audio.
        private func part(_ offset: String) throws -> Data {
            let clip = Clips.fixture("bframes.ts").path
            let part = path("part-\(offset).ts")
            let arguments = ["-v", "error", "-i", clip, "-c", "copy", "-output_ts_offset", offset, part]
            try Programs.tool("ffmpeg", arguments)
            return try Data(contentsOf: URL(fileURLWithPath: part))
        }

        /// The times of a stream's packets in seconds, in presentation order.
        private func times(_ path: String, _ stream: String) throws -> [Double] {
            let text = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", stream, "-show_entries", "packet=pts_time", "-of",
                    "default=noprint_wrappers=1:nokey=1", path,
                ]
            ).text
            return try text.split(separator: "\n").map { try #require(Double($0)) }.sorted()
        }

        @Test(
            "Times are ffmpeg's, to one tick",
            arguments: [["501"], ["93600"], ["95442.05"], ["0", "501"], ["501", "0", "20"]])
        func times(_ offsets: [String]) throws {
            var bytes = Data()
            for offset in offsets { bytes += try part(offset) }
            let input = path("in.ts")
            try bytes.write(to: URL(fileURLWithPath: input))
            // Edit lists in ticks that divide both 1/90000 and 1/48000 s.
            let scales = ["-video_track_timescale", "90000", "-movie_timescale", "720000"]
            try Programs.tool("ffmpeg", ["-v", "quiet", "-i", input, "-c", "copy"] + scales + [path("ffmpeg.mp4")])
            for (name, options) in [("coded.mp4", ["--preset", "ultrafast"]), ("copied.mp4", ["--copy"])] {
                let run = try Programs.hwctl(
                    ["encode", "--json"] + options + [input, path(name)], socket: server.socket)
                try #require(run.status == 0, "\(run.errors)")
                for stream in ["v:0", "a:0"] {
                    let expected = try times(path("ffmpeg.mp4"), stream)
                    let ours = try times(path(name), stream)
                    #expect(ours.count == expected.count)
                    // A tick is 11.1 us: at a jump two frames can have one time, and an encode moves the second.
                    #expect(zip(ours, expected).allSatisfy { ($0 - $1).magnitude < 0.000012 })
                    #expect(!expected.isEmpty && (expected.last ?? 99) < 3)
                }
                let summary = try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any]
                #expect(summary?["discontinuities"] as? Int == offsets.count - 1)
            }
        }
    }
}
