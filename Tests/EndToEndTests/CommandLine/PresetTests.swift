// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// Presets, recommended settings, and what fits a file.
    @Suite struct Presets: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        func document(_ arguments: String...) throws -> [String: Any] {
            let run = try Programs.hwctl(arguments, socket: server.socket)
            try #require(run.status == 0, "\(arguments): \(run.errors)")
            return try #require(try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
        }

        @Test("presets lists names, and says why one does not fit")
        func list() throws {
            #expect(try hwctl("presets").text.contains("HEVC1920x1080"))
            let plain = Clips.fixture("bbb_720p.mp4").path
            let text = try hwctl("presets", "--for", plain).text
            #expect(text.contains("the source has no alpha") && text.contains("fewer than 100"))
            let presets = try #require(
                try document("presets", "--json", "--for", plain)["presets"] as? [[String: Any]])
            func fits(_ name: String) -> Bool? { presets.first { $0["name"] as? String == name }?["fits"] as? Bool }
            #expect(fits("HEVC1920x1080") == true && fits("HEVC1920x1080WithAlpha") == false)
            let title = Clips.fixture("alpha_prores4444.mov").path
            #expect(try hwctl("presets", "--for", title).text.contains("the source has no alpha") == false)
            let slow = try #require(
                try document("presets", "--json", "--for", Clips.fixture("fps240.mp4").path)["presets"]
                    as? [[String: Any]])
            #expect(slow.first { $0["name"] as? String == "SlowMotion" }?["fits"] as? Bool == true)
        }

        @Test(
            "The presets, and what hwctl presets prints, conform to the schema",
            .enabled(if: JSONSchema.missing == nil, "\(JSONSchema.missing ?? "")"))
        func schema() throws {
            let mutations = [
                "f.pop('schema')", "f['presets'][0].pop('name')", "f['presets'][0].update(max_size=[8, 8])",
                "f['presets'][0].update(speed='slow')", "f['rates'].update(alpha_factor=0.5)",
                "f.update(nonsense=1)",
            ]
            let errors = try JSONSchema.errors(
                of: Programs.repository("presets.json"), by: "presets.schema.json", mutations)
            #expect(errors == "")
        }

        @Test("Administrators add presets, and a damaged file is named")
        func added() throws {
            let folder = path("presets.d")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try Data(#"{"schema":1,"presets":[{"name":"House","summary":"ours","properties":{"QP":40}}]}"#.utf8)
                .write(to: URL(fileURLWithPath: folder + "/a.json"))
            try Data("{".utf8).write(to: URL(fileURLWithPath: folder + "/b.json"))
            let run = try Running(
                Programs.path("hwctl"), ["presets"], environment: ["HWDAEMON_PRESETS_DIR": folder]
            ).wait()
            #expect(run.status == 0 && run.text.contains("House"))
            #expect(run.errorLines.count == 1 && run.errors.contains("b.json is not used"))
        }

        @Test("A preset's size is that of the part that is kept, as it is turned")
        func cropped() throws {
            let folder = path("presets.d")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try Data(#"{"schema":1,"presets":[{"name":"Tiny","summary":"","max_size":[128,128]}]}"#.utf8)
                .write(to: URL(fileURLWithPath: folder + "/a.json"))
            for (options, size) in [
                (["--crop", "640:320:0:0"], (128, 64)), (["--crop", "640:320:0:0", "--rotate", "90"], (64, 128)),
            ] {
                let run = try Running(
                    Programs.path("hwctl"),
                    ["encode", "-y", "--preset", "ultrafast", "--preset-name", "Tiny", "--duration", "0.2"]
                        + options
                        + [Clips.fixture("bbb_720p.mp4").path, path("tiny.mov")],
                    environment: ["HWDAEMON_PRESETS_DIR": folder, "HWDAEMON_SOCKET": server.socket]
                ).wait()
                try #require(run.status == 0, "\(run.errors)")
                #expect(try Probe(path("tiny.mov")).size == size, "\(options)")
                // --check says the same without encoding.
                let check = try Running(
                    Programs.path("hwctl"), ["encode", "--check"] + options + [Clips.fixture("bbb_720p.mp4").path],
                    environment: ["HWDAEMON_PRESETS_DIR": folder]
                ).wait()
                let row = check.text.split(separator: "\n").first { $0.hasPrefix("Tiny ") }
                #expect(row?.contains(" \(size.0)x\(size.1)") == true, "\(options): \(check.text)\(check.errors)")
            }
            try hwctl(
                "encode", "--check", "--crop", "640:320:1000:0", Clips.fixture("bbb_720p.mp4").path, status: 65)
        }

        @Test("A preset sets what the user does not")
        func encoded() throws {
            let input = Clips.fixture("bbb_720p.mp4").path
            func properties(_ arguments: String...) throws -> [String: Any] {
                let run = try Programs.hwctl(
                    ["encode", "--json", "--preset-name"] + arguments + [input, path("out.mov")],
                    socket: server.socket)
                try #require(run.status == 0, "\(run.errors)")
                let document = try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any]
                return try #require(document?["properties"] as? [String: Any])
            }
            let rate = try #require(try properties("hevc-1080p")["AverageBitRate"] as? Int)
            let settings = try document("settings", "--preset-name", "hevc-1080p", input)
            #expect((settings["properties"] as? [String: Any])?["AverageBitRate"] as? Int == rate && rate > 500_000)
            let own = try properties("hevc-1080p", "--quality", "0.4")
            #expect(own["AverageBitRate"] == nil && own["Quality"] as? Double == 0.4)
            #expect(
                try hwctl("encode", "--preset-name", "hevc1080p", input, path("no.mov"), status: 64).errors
                    .contains("hwctl presets"))
            let refused = try hwctl("encode", "--preset-name", "slow-motion", input, path("no.mov"), status: 65)
            #expect(refused.errorLines.count == 1 && refused.errors.contains("the preset SlowMotion does not fit"))
            try hwctl("encode", "--preset-name", "web-alpha", input, path("no.mov"), status: 65)
            #expect(!server.folder.contents.contains("no.mov"))
        }

        @Test("A preset with alpha keeps it")
        func alpha() throws {
            try hwctl(
                "encode", "--preset-name", "web-alpha", Clips.fixture("alpha_prores4444.mov").path, path("out.mov"))
            let info = try document("info", "--json", path("out.mov"))
            #expect("\(info)".contains("premultiplied"))
        }

        @Test("settings recommends properties that a session takes")
        func settings() throws {
            let document = try self.document("settings", Clips.fixture("bbb_720p_main10.mp4").path)
            let properties = try #require(document["properties"] as? [String: Any])
            #expect(properties["ProfileLevel"] as? String == "HEVC_Main10_AutoLevel")
            #expect(document["codec"] as? String == "hevc" && properties["ExpectedFrameRate"] != nil)
            let options = properties.flatMap { ["--property", "\($0.key)=\($0.value)"] }
            let run = try Programs.hwctl(
                ["encode"] + options + [
                    Clips.fixture("bbb_720p_main10.mp4").path, path("out.mov"),
                ],
                socket: server.socket)
            #expect(run.status == 0, "\(run.errors)")
        }

        @Test("--check says what containers hold, and writes nothing")
        func check() throws {
            let input = path("in.mkv")
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", Clips.fixture("bbb_720p.mp4").path, "-f", "lavfi", "-i", "sine=duration=1",
                    "-map",
                    "0:v", "-map", "1:a", "-c:v", "copy", "-c:a", "flac", "-metadata", "title=A title", input,
                ])
            let before = server.folder.contents
            let text = try hwctl("encode", "--check", input).text
            #expect(text.contains("HEVC1920x1080") && text.contains("is converted to ALAC"))
            let document = try self.document("encode", "--check", "--json", "--audio", "copy", input)
            let containers = try #require(document["containers"] as? [[String: Any]])
            func entry(_ format: String) -> [String: Any]? {
                containers.first { $0["format"] as? String == format }
            }
            #expect(entry("mov")?["fits"] as? Bool == false && entry("mkv")?["fits"] as? Bool == true)
            #expect((entry("ts")?["reason"] as? String)?.contains("the sound would be lost") == true)
            #expect(server.folder.contents == before)
            try hwctl("encode", "--check", input, path("out.mov"), status: 64)
        }
    }
}
