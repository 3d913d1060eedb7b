// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// Interlaced sources: what ffmpeg finds in their frames is declared by every output.
    @Suite struct Interlacing {
        private let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func path(_ name: String) -> String { server.folder.path(name) }

        private func hwctl(_ arguments: String...) throws -> Finished {
            let run = try Programs.hwctl(arguments, socket: server.socket)
            try #require(run.status == 0, "\(arguments): \(run.errors)")
            return run
        }

        /// A source: a file name and ffmpeg's options for it.
        struct Source: CustomTestStringConvertible {
            let name: String
            let options: [String]
            /// Whether ffmpeg's decoder shows the top field first; nil for progressive frames.
            let isTopFirst: Bool?

            var testDescription: String { name }
        }

        static let sources = [
            Source(
                name: "tff.ts",
                options: ["-pix_fmt", "yuv420p", "-c:v", "mpeg2video", "-flags", "+ilme+ildct", "-top", "1"],
                isTopFirst: true),
            Source(
                name: "bff.mp4",
                options: ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-flags", "+ilme+ildct", "-top", "0"],
                isTopFirst: false),
            // Nothing but the frames' flags says that DV is interlaced.
            Source(
                name: "dv.avi", options: ["-s", "720x576", "-pix_fmt", "yuv420p", "-c:v", "dvvideo"],
                isTopFirst: false),
            Source(name: "progressive.mp4", options: ["-pix_fmt", "yuv420p", "-c:v", "libx264"], isTopFirst: nil),
        ]

        private func field(_ name: String) throws -> String {
            try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "v", "-show_entries", "stream=field_order", "-of", "csv=p=0",
                    name,
                ]
            )
            .text.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        /// The values of H.265 syntax elements that ffmpeg parses in a stream.
        private func values(_ elements: [String], _ name: String) throws -> [Set<Substring>] {
            let trace = try Programs.tool(
                "ffmpeg",
                [
                    "-v", "trace", "-i", name, "-map", "0:v", "-c", "copy", "-bsf:v", "trace_headers", "-f", "null",
                    "-",
                ])
            return elements.map { element in
                Set(
                    trace.errorLines.filter { $0.contains(" \(element) ") }.compactMap {
                        $0.split(separator: " ").last
                    })
            }
        }

        private func info(_ name: String) throws -> [String: Any] {
            let run = try hwctl("info", "--json", "--no-measure", name)
            let object = try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any]
            return try #require((object?["video"] as? [[String: Any]])?.first)
        }

        private func header(_ input: String) throws -> [Substring] {
            _ = try hwctl("decode", input, path("frames.y4m"))
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path("frames.y4m"))).prefix { $0 != 0x0A }
            return String(decoding: bytes, as: UTF8.self).split(separator: " ")
        }

        @Test("Every output declares the fields of the source's frames")
        func isDeclared() throws { try check(Self.sources[0]) }

        /// The other kinds of source.
        @Suite struct Long {
            private let outer: Interlacing

            init() throws { outer = try Interlacing() }

            @Test("Every output declares the fields of the source's frames", arguments: sources.dropFirst())
            func isDeclared(_ source: Source) throws { try outer.check(source) }
        }

        private func check(_ source: Source) throws {
            let input = path(source.name)
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=25:duration=0.2"]
                    + source.options + [input])
            let flags = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-show_entries", "frame=interlaced_frame,top_field_first", "-read_intervals",
                    "%+#1",
                ]
                    + ["-of", "default=nokey=1:noprint_wrappers=1", input])
            let expected = source.isTopFirst.map { $0 ? "1\n1" : "1\n0" } ?? "0\n0"
            try #require(flags.text.hasPrefix(expected), "\(flags.text)")

            let order = source.isTopFirst.map { $0 ? "tb" : "bt" } ?? "progressive"
            let picStruct: Set<Substring> = source.isTopFirst.map { $0 ? ["3"] : ["4"] } ?? []
            let parameter = source.isTopFirst.map { $0 ? "It" : "Ib" } ?? "Ip"
            let run = try hwctl("encode", "--preset", "ultrafast", input, path("coded.mov"))
            #expect(run.errors.contains("interlaced") == (source.isTopFirst != nil))
            try Programs.tool("ffmpeg", ["-v", "error", "-i", path("coded.mov"), "-c", "copy", path("coded.ts")])
            _ = try hwctl("encode", "--copy", path("coded.ts"), path("copied.mp4"))
            for name in ["coded.mov", "copied.mp4"] {
                #expect(try field(path(name)) == order, "\(name)")
                let elements = ["pic_struct", "field_seq_flag", "general_interlaced_source_flag"]
                let isInterlaced: Substring = source.isTopFirst == nil ? "0" : "1"
                #expect(try values(elements, path(name)) == [picStruct, ["0"], [isInterlaced]], "\(name)")
            }
            for name in [source.name, "coded.ts"] {
                let video = try info(path(name))
                #expect(video["interlaced"] as? Bool == (source.isTopFirst != nil), "\(name)")
                #expect(
                    video["field_order"] as? String == source.isTopFirst.map { $0 ? "top" : "bottom" }, "\(name)")
                #expect(try header(path(name)).contains(Substring(parameter)), "\(name)")
            }
            let y4m = try hwctl("encode", "--preset", "ultrafast", path("frames.y4m"), path("again.mov"))
            #expect(y4m.errors.contains("interlaced") == (source.isTopFirst != nil))
            #expect(try field(path("again.mov")) == order)
        }
    }
}
