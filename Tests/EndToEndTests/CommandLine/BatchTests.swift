// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import Testing

extension EndToEndFaults {
    /// Several files, files that exist, and what is printed.
    @Suite struct Batches: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        @discardableResult
        func clip(_ name: String) throws -> String {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=0.4", "-c:v",
                    "libx265",
                    "-preset", "ultrafast", "-x265-params", "log-level=none", path(name),
                ])
            return path(name)
        }

        private func folder() throws -> String {
            try FileManager.default.createDirectory(atPath: path("out"), withIntermediateDirectories: false)
            return path("out")
        }

        @Test(
            "Several files have a line each, a summary and the worst exit code",
            arguments: ["--preset=ultrafast", "--copy"])
        func several(_ option: String) throws {
            let (first, second, folder) = (try clip("a.mp4"), try clip("b.x.mkv"), try self.folder())
            let run = try hwctl("encode", option, "--output-dir", folder, first, second)
            let lines = run.errorLines
            let files = lines.drop { $0.hasPrefix("hwctl: encoding in software (x265): ") }
            #expect(lines.count - files.count == (option == "--copy" ? 0 : 1), "\(run.errors)")
            #expect(files.count == 3, "\(run.errors)")
            #expect(files.first?.hasPrefix("hwctl: 1/2 \(folder)/a.mov: 10 frames") == true)
            #expect(files.dropFirst().first?.hasPrefix("hwctl: 2/2 \(folder)/b.x.mov: 10 frames") == true)
            #expect(files.last == "hwctl: 2 files: 2 written")
            for name in ["a", "b.x"] { #expect(try Probe("\(folder)/\(name).mov").frameTimes().count == 10) }

            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path("bad.mp4")))
            let mixed = try hwctl(
                "encode", option, "--output-dir", folder, "--skip-existing", first, path("bad.mp4"),
                path("none.mp4"), second,
                status: 66)
            #expect(mixed.errorLines.count == 5, "\(mixed.errors)")
            #expect(mixed.errorLines[0] == "hwctl: 1/4 \(folder)/a.mov: exists, skipped")
            #expect(mixed.errorLines[1].hasPrefix("hwctl: 2/4 \(path("bad.mp4")): failed (65): "))
            #expect(mixed.errorLines[2].hasPrefix("hwctl: 3/4 \(path("none.mp4")): failed (66): "))
            #expect(mixed.errorLines[4] == "hwctl: 4 files: 0 written, 2 skipped, 2 failed")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["a.mov", "b.x.mov"])
        }

        @Test("The document of several files has an entry each")
        func json() throws {
            let folder = try self.folder()
            let run = try hwctl(
                "encode", "--preset", "ultrafast", "--json", "--to", "mp4", "--output-dir", folder,
                try clip("a.mp4"),
                path("none.mp4"), status: 66)
            let document = try #require(try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            let files = try #require(document["files"] as? [[String: Any]])
            #expect(
                files.count == 2 && files[0]["frames"] as? Int == 10
                    && files[0]["output"] as? String == "\(folder)/a.mp4")
            #expect(files[0]["input_bytes"] as? Int ?? 0 > 0)
            #expect(files[1]["exit_code"] as? Int == 66 && files[1]["error"] is String)
        }

        @Test("Names that collide, and wrong options, are refused before any work")
        func refused() throws {
            let folder = try self.folder()
            let (first, second) = (try clip("a.mp4"), try clip("a.mkv"))
            #expect(
                try hwctl("encode", "--output-dir", folder, first, second, status: 64).errors.contains(
                    "both be written"))
            try hwctl("encode", first, second, path("b.mov"), status: 64)
            try hwctl("encode", first, status: 64)
            try hwctl("encode", "--output-dir", folder, "-", status: 64)
            try hwctl("encode", "-y", "--no-overwrite", first, path("b.mov"), status: 64)
            try hwctl("encode", "-q", "-v", first, path("b.mov"), status: 64)
            try hwctl("encode", "--speed", "fast", "--preset", "fast", first, path("b.mov"), status: 64)
            #expect(
                try hwctl("encode", "--bitrate", "6", first, path("b.mov"), status: 64).errors.contains(
                    "did you mean 6M?"))
            #expect(
                try hwctl("encode", "--quality", "23", first, path("b.mov"), status: 64).errors.contains(
                    "--quality 0.45"))
            #expect(
                try hwctl("encode", "--crf", "23", first, path("b.mov"), status: 64).errors.contains(
                    "--quality 0.45"))
            #expect(
                try hwctl("encode", "--codec", "hevc", first, path("b.mov"), status: 64).errors.contains(
                    "always HEVC"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            // A folder that cannot be made.
            let blocked = try hwctl("encode", "--output-dir", "\(first)/none", first, status: 73)
            #expect(blocked.errors.contains("\(first)/none: Not a directory"), "\(blocked.errors)")
        }

        @Test("Folders are inputs, and the folder of outputs is created")
        func folders() throws {
            let source = path("clips")
            try FileManager.default.createDirectory(atPath: "\(source)/more", withIntermediateDirectories: true)
            let movie = try clip("clip.mp4")
            for name in ["clips/b.mkv", "clips/a.MP4", "clips/.hidden.mp4", "clips/more/c.mp4"] {
                try FileManager.default.copyItem(atPath: movie, toPath: path(name))
            }
            try Data("text".utf8).write(to: URL(fileURLWithPath: "\(source)/notes.txt"))
            let output = path("new/deep")
            let run = try Running(
                Programs.path("hwctl"), ["encode", "--copy", "--output-dir", output, source],
                environment: ["HWDAEMON_SOCKET": server.socket]
            ).wait()
            #expect(run.status == 0 && run.errorLines.last == "hwctl: 2 files: 2 written", "\(run.errors)")
            #expect(
                run.errors.hasPrefix("hwctl: \(source): 1 other file and 1 folder left out\n"), "\(run.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: output).sorted() == ["a.mov", "b.mov"])
            #expect(try Probe("\(output)/a.mov").frameTimes().count == 10)

            let whole = try hwctl("encode", source, path("b.mov"), status: 66)
            #expect(whole.errors.contains("--output-dir DIR \(source) encodes the videos in it"), "\(whole.errors)")
            let into = try hwctl("encode", "\(source)/b.mkv", source, status: 73)
            #expect(into.errors.contains("--output-dir \(source) \(source)/b.mkv writes into it"), "\(into.errors)")
            let empty = try hwctl("encode", "--output-dir", path("never"), output + "/..", status: 66)
            #expect(empty.errors.contains("there is no video in"), "\(empty.errors)")
            #expect(!FileManager.default.fileExists(atPath: path("never")))
        }

        @Test("An output that exists is replaced, kept or skipped")
        func existing() throws {
            let (input, output) = (try clip("a.mp4"), path("b.mov"))
            let old = Data("old".utf8)
            try old.write(to: URL(fileURLWithPath: output))
            let kept = try hwctl("encode", "--copy", "--no-overwrite", input, output, status: 73)
            #expect(kept.errors == "hwctl: \(output) exists and is not replaced\n")
            let skipped = try hwctl("encode", "--copy", "--skip-existing", input, output)
            #expect(skipped.errors == "hwctl: \(output): exists, skipped\n")
            #expect(try Data(contentsOf: URL(fileURLWithPath: output)) == old)
            try hwctl("encode", "--copy", "-y", input, output)
            #expect(try Probe(output).frameTimes().count == 10)
        }

        @Test("A terminal asks before a file is replaced", arguments: ["n", "y", ""])
        func question(_ answer: String) throws {
            let (input, output) = (try clip("a.mp4"), path("b.mov"))
            try Data("old".utf8).write(to: URL(fileURLWithPath: output))
            // script(1) runs a program on a terminal of its own.
            let command = "'\(Programs.path("hwctl"))' encode --copy '\(input)' '\(output)'; echo status $?"
            let pipe = try PipeEnds()
            let text = Array("\(answer)\n".utf8)
            #expect(write(pipe.writeNumber, text, text.count) == text.count)
            let run = try Running(
                Programs.required("script"), ["-qec", command, "/dev/null"],
                environment: ["HWDAEMON_SOCKET": server.socket, "SHELL": "/bin/sh"], input: pipe.readNumber
            ).wait()
            #expect(run.text.contains("\(output) exists; replace it? [y/N]"), "\(run.text)")
            #expect(run.text.contains("status \(answer == "y" ? 0 : 73)"), "\(run.text)")
            #expect(
                try Data(contentsOf: URL(fileURLWithPath: output)).starts(with: Data("old".utf8)) == (answer != "y")
            )
        }

        @Test("-q prints nothing, -v the private daemon too")
        func verbosity() throws {
            let input = try clip("a.mp4")
            let quiet = try hwctl("encode", "-q", "--preset", "ultrafast", input, path("q.mov"))
            #expect(quiet.errors.isEmpty)
            let own = try Programs.hwctl(["encode", "-v", "--preset", "ultrafast", input, path("v.mov")])
            #expect(own.status == 0 && own.errors.contains("using a private one"))
            // The private daemon's log, whose lines have a level.
            #expect(
                own.errorLines.contains { $0.contains("hwdaemon") && !$0.hasPrefix("hwctl: ") }, "\(own.errors)")
            let normal = try Programs.hwctl(["encode", "--preset", "ultrafast", input, path("n.mov")])
            #expect(normal.status == 0 && !normal.errors.contains("using a private one"))
            #expect(!normal.errorLines.contains { !$0.hasPrefix("hwctl: ") }, "\(normal.errors)")
            let line = try #require(normal.errorLines.last)
            #expect(line.contains(" of the input") && line.contains("KiB"), "\(line)")
        }

        @Test(
            "The speeds are x265's presets",
            arguments: sampled([("fast", "veryfast"), ("balanced", "medium"), ("best", "slow")], oneIn: 2))
        func speeds(_ speed: String, _ preset: String) throws {
            let input = try clip("a.mp4")
            let first = try hwctl("encode", "--speed", speed, input, path("speed.hevc"))
            try hwctl("encode", "--preset", preset, input, path("preset.hevc"))
            #expect(
                try Data(contentsOf: URL(fileURLWithPath: path("speed.hevc")))
                    == Data(contentsOf: URL(fileURLWithPath: path("preset.hevc"))))
            #expect(!first.errors.contains("X265Preset"))
        }
    }
}
