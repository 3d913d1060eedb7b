// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEndFaults {
    /// File names that are unusual, and standard descriptors that are closed.
    @Suite struct FileNames {
        private let server: TestDaemon
        private let source: String

        init() throws {
            server = try TestDaemon()
            source = server.folder.path("source.mp4")
            try FileManager.default.copyItem(atPath: Clips.fixture("bframes.mp4").path, toPath: source)
        }

        /// Runs a shell script in the scratch directory, in which `$H` is hwctl.
        ///
        /// A String cannot hold every file name; printf(1) of a shell can write it.
        private func shell(_ script: String) throws -> Finished {
            let start = "cd '\(server.folder.root)' && H='\(Programs.path("hwctl"))' && "
            return try Running(
                Programs.required("sh"), ["-c", start + script], environment: ["HWDAEMON_SOCKET": server.socket]
            ).wait()
        }

        @Test(
            "A closed standard input is a missing input",
            arguments: ["encode - o.mov", "decode - o.y4m", "convert --size 4x4 --from nv12 --to p010 - o.yuv"])
        func closedInput(_ arguments: String) throws {
            let run = try shell("$H \(arguments) <&-")
            #expect(run.status == 66, "\(run.errors)")
            #expect(run.complaints == ["hwctl: standard input is closed"])
            #expect(!server.folder.contents.contains { $0.hasPrefix("o.") })
        }

        @Test("A closed standard output cannot be created, and no other file gets its number")
        func closedOutput() throws {
            let run = try shell("$H encode source.mp4 - >&-")
            #expect(run.status == 73, "\(run.errors)")
            #expect(run.complaints == ["hwctl: standard output is closed"])
            #expect(try shell("$H encode --preset ultrafast source.mp4 o.mov <&- >&- 2>&-").status == 0)
            #expect(try Probe(server.folder.path("o.mov")).decodingMessages() == "")
        }

        @Test(
            "A file name that begins with a hyphen is refused in one line",
            arguments: [
                "encode -dash.mp4 o.mov", "encode source.mp4 -dash.mov", "encode --json -dash.mp4 o.mov",
                "decode -x o.y4m", "sessions -dash", "-dash",
            ])
        func hyphen(_ arguments: String) throws {
            let run = try shell("$H \(arguments)")
            #expect(run.status == 64, "\(run.errors)")
            // With --json, the failure is a document, too.
            #expect(run.text.isEmpty != arguments.contains("--json"), "\(run.text)")
            #expect(run.complaints.count == 1 && run.errors.contains("./-"), "\(run.errors)")
        }

        @Test("Behind -- such a name is taken, and -h prints help")
        func hyphenAfterTerminator() throws {
            let run = try shell("cp source.mp4 ./-dash.mp4 && $H encode --preset ultrafast -- -dash.mp4 -o.mov")
            #expect(run.status == 0 && server.folder.contents.contains("-o.mov"), "\(run.errors)")
            let help = try shell("$H encode -h")
            #expect(help.status == 0 && help.text.contains("USAGE"))
        }

        @Test("Bytes that are not UTF-8 reach the file system unchanged")
        func bytes() throws {
            let run = try shell(
                #"N=$(printf 'caf\351\364\217\277\277') && cp source.mp4 "$N.mp4" && "#
                    + #"$H encode --preset ultrafast "$N.mp4" "$N.mov" && test -s "$N.mov" && "#
                    + #"$H encode --copy "$N.mov" "$N.copy.mp4" && test -s "$N.copy.mp4" && "#
                    + #"$H decode "$N.mov" "$N-%02d.png" && test -s "$N-01.png" && "#
                    + #"$H encode --preset ultrafast "$N-%02d.png" "$N.png.mov" && test -s "$N.png.mov" && "#
                    + #"$H decode "$N.mov" "$N.y4m" && $H encode --preset ultrafast "$N.y4m" "$N.mov" && "#
                    + #"$H info --json --no-measure "$N.mov""#)
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.errors.contains(#"caf\xE9\xF4\x8F\xBF\xBF.mov: "#), "\(run.errors)")
            let object = try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any]
            #expect((object?["file"] as? String)?.hasSuffix(#"caf\xE9\xF4\x8F\xBF\xBF.mov"#) == true)
            let missing = try shell(#"$H encode "$(printf 'no\351.mp4')" o.mov"#)
            #expect(missing.status == 66 && missing.complaints.first?.contains(#"no\xE9.mp4"#) == true)
            let same = try shell(
                #"N=$(printf 'caf\351\364\217\277\277'); $H encode "$N.mp4" "./$N.mp4""#)
            #expect(same.status == 64, "\(same.errors)")
        }

        @Test("Control characters of file names do not reach the terminal")
        func controlCharacters() throws {
            let run = try shell(
                #"N=$(printf 'a\nb\033[2J\342\200\256c') && cp source.mp4 "$N.mp4" && $H encode x.mp4 "$N.avi"; "#
                    + #"$H encode "$N" o.mov; $H encode --preset ultrafast "$N.mp4" "$N.mov" && "#
                    + #"$H info --no-measure "$N.mov""#)
            #expect(run.status == 0, "\(run.errors)")
            let lines = run.complaints
            #expect(lines.count == 3 && lines.allSatisfy { $0.hasPrefix("hwctl: ") }, "\(run.errors)")
            for text in [run.errors, run.text] {
                #expect(text.contains(#"a\nb\x1B[2J\u{202E}c"#), "\(text)")
                #expect(!text.contains("\u{1B}") && !text.contains("\u{202E}"))
            }
        }

        @Test("A song's cover is no video")
        func coverArt() throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "sine=duration=1", "-f", "lavfi", "-i",
                    "color=red:size=64x64:duration=0.04", "-frames:v", "1", "-map", "0", "-map", "1", "-c:v", "png",
                    "-disposition:v", "attached_pic",
                    server.folder.path("song.mp3"),
                ])
            for arguments in ["encode song.mp3 o.mov", "encode --copy song.mp3 o.mov", "decode song.mp3 o.png"] {
                let run = try shell("$H \(arguments)")
                #expect(run.status == 65 && run.errors.contains("has no video stream"), "\(run.errors)")
            }
            let info = try shell("$H info --no-measure song.mp3")
            #expect(info.status == 0, "\(info.errors)")
        }
    }
}
