// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import Testing

/// Several pictures in one file: bursts and image sequences.
extension EndToEnd.StillEncoding {
    /// Pictures whose contents differ: parts of a test card.
    private func series(_ count: Int, size: String, format: String = "rgb24") throws -> [String] {
        try (0..<count).map { index in
            let name = "series-\(index).png"
            let alpha =
                format == "rgba" ? ",format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='40*\(index + 1)+X/10'" : ""
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-y", "-f", "lavfi", "-i",
                    "testsrc=size=\(size):rate=1,hue=h=\(60 * index),gblur=sigma=3" + alpha, "-frames:v", "1",
                    "-pix_fmt", format, path(name),
                ])
            return path(name)
        }
    }

    private func document(_ arguments: String...) throws -> [String: Any] {
        let run = try Programs.hwctl(arguments, socket: server.socket)
        try #require(run.status == 0, "\(run.errors)")
        return try #require(JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
    }

    private func encode(_ options: [String], _ inputs: [String], _ output: String) throws {
        let run = try Programs.hwctl(["encode"] + options + inputs + [path(output)], socket: server.socket)
        try #require(run.status == 0, "\(run.errors)")
    }

    /// Makes burst.heic.
    ///
    /// - Returns: its pictures.
    private func encodeBurst() throws -> [String] {
        let inputs = try series(3, size: "700x500")
        try encode(["--burst", "--cover", "2", "--quality", "0.8"], inputs, "burst.heic")
        return inputs
    }

    /// Makes out.heics with alpha.
    ///
    /// - Returns: its pictures.
    private func encodeSequence() throws -> [String] {
        let inputs = try series(4, size: "200x120", format: "rgba")
        try encode(
            ["--alpha", "straight", "--frame-rate", "10", "--cover", "3", "--quality", "0.8"], inputs, "out.heics")
        return inputs
    }

    @Test("The checker accepts bursts", .needsHEICChecker)
    func strictBurst() throws {
        _ = try encodeBurst()
        try check(path("burst.heic"), ["--expect-grid", "1x2", "--expect-thumb"])
        let inputs = try series(2, size: "200x120", format: "rgba")
        try encode(["--burst", "--alpha", "straight"], inputs, "alpha.heic")
        try check(path("alpha.heic"), ["--expect-alpha", "straight"])
    }

    @Test("The checker accepts sequences", .needsHEICChecker)
    func strictSequence() throws {
        _ = try encodeSequence()
        try check(path("out.heics"), ["--expect-alpha", "straight"])
        try encode(["--quality", "0.5"], [Clips.fixture("bframes.mp4").path], "video.heics")
        try check(path("video.heics"), [])
        try encode([], try series(2, size: "101x67"), "odd.heics")
        try check(path("odd.heics"), [])
    }

    @Test("A burst is a group of pictures with a cover")
    func burst() throws {
        let inputs = try encodeBurst()
        let info = try document("info", "--json", path("burst.heic"))
        let group = try #require((info["groups"] as? [[String: Any]])?.first)
        let items = try #require(group["entities"] as? [Int])
        #expect(group["type"] as? String == "brst" && items.count == 3)
        #expect(info["primary"] as? Int == items[1])
        for (item, input) in zip(items, inputs) {
            try hwctl("decode", "--item", "\(item)", path("burst.heic"), path("ours.png"))
            #expect(try quality(path("ours.png"), input) > 38)
        }
        // libheif writes the shown pictures in the order of their ids.
        let list = try Programs.tool("heif-info", [path("burst.heic")]).text
        #expect(list.split(separator: "\n").filter { $0.contains("image: 700x500") }.count == 3, "\(list)")
        #expect(list.contains("(id=\(items[1])), primary"), "\(list)")
        try Programs.tool("heif-convert", [path("burst.heic"), path("theirs.png")])
        // It repeats chroma samples instead of interpolating them.
        for (index, input) in inputs.enumerated() {
            #expect(try quality(path("theirs-\(index + 1).png"), input) > 30)
        }
    }

    @Test("Each picture of a burst has its alpha")
    func burstWithAlpha() throws {
        let inputs = try series(2, size: "200x120", format: "rgba")
        try encode(["--burst", "--alpha", "straight"], inputs, "burst.heic")
        let info = try document("info", "--json", path("burst.heic"))
        let pictures = try #require(info["pictures"] as? [[String: Any]])
        #expect(pictures.map { ($0["auxiliaries"] as? [Any])?.count } == [1, 1])
    }

    @Test("Pictures with alpha become a sequence with their rate")
    func sequence() throws {
        let inputs = try encodeSequence()
        let streams = try Programs.tool(
            "ffprobe",
            [
                "-v", "error", "-select_streams", "v:0", "-show_entries",
                "stream=width,height,nb_frames,r_frame_rate,codec_tag_string", "-of", "default=nk=1:nw=1",
                path("out.heics"),
            ]
        ).text
        #expect(streams == "hvc1\n200\n120\n10/1\n4\n", "\(streams)")
        let info = try document("info", "--json", path("out.heics"))
        let tracks = try #require(info["sequence"] as? [[String: Any]])
        #expect(tracks.map { $0["handler"] as? String } == ["pict", "auxv"])
        #expect(tracks.allSatisfy { $0["pictures"] as? Int == 4 && $0["seconds"] as? Double == 0.4 })
        #expect(tracks[1]["auxiliary"] as? String == "alpha")
        try Programs.tool(
            "ffmpeg", ["-v", "error", "-i", path("out.heics"), "-map", "0:v:0", path("theirs-%d.png")])
        for (index, input) in inputs.enumerated() {
            try hwctl("decode", "--frame", "\(index + 1)", path("out.heics"), path("ours.png"))
            #expect(try quality(path("ours.png"), input, "rgba") > 36)
            #expect(try quality(path("theirs-\(index + 1).png"), path("ours.png")) > 30)
        }
        // The cover is a picture for readers of those.
        try hwctl("decode", "--item", "1", path("out.heics"), path("cover.png"))
        #expect(try quality(path("cover.png"), inputs[2], "rgba") > 36)
        try hwctl("decode", "--frame", "5", path("out.heics"), path("x.png"), status: 65)
        try hwctl("decode", path("out.heics"), path("all.y4m"))
        #expect(try Probe(path("all.y4m")).size == (200, 120))
    }

    @Test("Rates of 1001 give equal durations", arguments: ["24000/1001", "60000/1001"])
    func fractionalRate(_ rate: String) throws {
        try encode(["--frame-rate", rate], try series(3, size: "64x64"), "out.heics")
        let times = try Programs.tool(
            "ffprobe",
            [
                "-v", "error", "-select_streams", "v:0", "-show_entries",
                "stream=time_base:frame=pkt_duration,duration", "-of", "default=nk=1:nw=1", path("out.heics"),
            ]
        ).text
        #expect(times == "1001\n1001\n1001\n1/\(rate.dropLast(5))\n", "\(times)")
    }

    @Test("A damaged video or one that is cut off does not become a shorter sequence")
    func damagedVideo() throws {
        try Programs.tool(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=5,noise=alls=20:allf=t", "-t", "2",
                "-c:v", "png", "-movflags", "+faststart", path("whole.mov"),
            ])
        let whole = try Data(contentsOf: URL(fileURLWithPath: path("whole.mov")))
        var damaged = whole
        for index in 0..<2000 { damaged[damaged.count / 2 + index] = 0 }
        try damaged.write(to: URL(fileURLWithPath: path("damaged.mov")))
        try whole.prefix(whole.count * 2 / 3).write(to: URL(fileURLWithPath: path("cut.mov")))
        try hwctl("encode", path("damaged.mov"), path("x.heics"), status: 65)
        try hwctl("encode", path("cut.mov"), path("x.heics"), status: 65)
        try hwctl("encode", "--cover", "11", path("whole.mov"), path("x.heics"), status: 64)
        #expect(!server.folder.contents.contains { $0.hasPrefix("x.") })
        try hwctl("encode", "--cover", "10", path("whole.mov"), path("x.heics"))
    }

    @Test("A cover that cannot be counted beforehand is refused before pictures are coded")
    func coverOfAPipe() throws {
        // Nothing is read of it.
        let pipe = Pipe()
        let run = try Programs.hwctl(
            ["encode", "--cover", "2", "/dev/stdin", path("x.heics")], socket: server.socket,
            input: pipe.fileHandleForReading.fileDescriptor)
        #expect(run.status == 64 && run.errors.contains("cannot be counted"), "\(run.errors)")
        #expect(!server.folder.contents.contains { $0.hasPrefix("x.") })
    }

    @Test("A video keeps its times in a sequence")
    func video() throws {
        let clip = Clips.fixture("bframes.mp4").path
        try encode(["--quality", "0.5"], [clip], "out.heics")
        func times(_ file: String) throws -> [Substring] {
            try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "v:0", "-show_entries",
                    "frame=pkt_duration_time,duration_time", "-of", "csv=p=0", file,
                ]
            ).text.split(separator: "\n")
        }
        #expect(try times(path("out.heics")) == times(clip))
        try Programs.tool(
            "ffmpeg", ["-v", "error", "-i", clip, "-vf", "select=eq(n\\,7)", "-frames:v", "1", path("seventh.png")])
        try hwctl("decode", "--frame", "8", path("out.heics"), path("ours.png"))
        #expect(try quality(path("ours.png"), path("seventh.png")) > 32)
    }

    @Test("A sequence of odd size is cropped")
    func oddSequence() throws {
        let inputs = try series(2, size: "101x67")
        try encode([], inputs, "out.heics")
        for option in [["--frame", "2"], []] {
            let arguments =
                ["decode"] + option + [path("out.heics"), path(option.isEmpty ? "ours.y4m" : "ours.png")]
            let run = try Programs.hwctl(arguments, socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
        }
        #expect(try Probe(path("ours.png")).size == (101, 67))
        #expect(try Probe(path("ours.y4m")).size == (101, 67))
    }

    @Test("Several pictures that do not fit are refused, and nothing is left")
    func severalUsage() throws {
        let inputs = try series(2, size: "64x64")
        let other = try picture("other.png", size: "96x64")
        try hwctl("encode", inputs[0], inputs[1], path("x.heic"), status: 64)
        try hwctl("encode", "--burst", inputs[0], path("x.heic"), status: 64)
        try hwctl("encode", "--burst", "--cover", "3", inputs[0], inputs[1], path("x.heic"), status: 64)
        try hwctl("encode", "--burst", inputs[0], inputs[1], path("x.heics"), status: 64)
        try hwctl("encode", "--thumbnail", "64", inputs[0], path("x.heics"), status: 64)
        try hwctl("encode", "--cover", "9", inputs[0], path("x.heics"), status: 64)
        try hwctl("encode", "--frame-rate", "10", inputs[0], path("x.heic"), status: 64)
        try hwctl("encode", inputs[0], other, path("x.heics"), status: 65)
        try hwctl("encode", "--alpha", "straight", inputs[0], path("x.heics"), status: 65)
        try hwctl("encode", "--burst", inputs[0], path("missing.png"), path("x.heic"), status: 66)
        try hwctl("decode", "--frame", "1", inputs[0], path("x.png"), status: 64)
        try hwctl("decode", "--frame", "1", Clips.fixture("still.heic").path, path("x.png"), status: 65)
        #expect(!server.folder.contents.contains { $0.hasPrefix("x.") })
    }

    /// A driver that codes in software behind stock libva: its tiles pass the path of hardware.
    ///
    /// - Returns: the picture of out.heic, and what the command reports.
    private func encodeGrid(_ hardware: TestDaemon) throws -> (source: String, document: [String: Any]) {
        let source = try picture("in.png", size: "1100x600")
        let run = try Programs.hwctl(
            ["encode", "--json", "--hardware", "require", "--qp", "20", source, path("out.heic")],
            socket: hardware.socket)
        try #require(run.status == 0, "\(run.errors)")
        return (source, try #require(JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any]))
    }

    @Test("The checker accepts a grid that hardware coded", .needsHEICChecker)
    func strictHardware() throws {
        let state = try Scratch()
        _ = try encodeGrid(SimulatedDriver.verifiedDaemon(state: state))
        try check(path("out.heic"), ["--expect-grid", "2x3", "--expect-tile", "512", "--expect-thumb"])
    }

    @Test("A grid is coded in hardware, whose parameter sets are those of every tile")
    func hardware() throws {
        let state = try Scratch()
        let hardware = try SimulatedDriver.verifiedDaemon(state: state)
        let (source, document) = try encodeGrid(hardware)
        #expect(document["UsingHardwareAcceleratedVideoEncoder"] as? Bool == true)
        #expect(document["tiles"] as? Int == 6)
        try Programs.tool("heif-convert", [path("out.heic"), path("theirs.png")])
        #expect(try quality(path("theirs.png"), source) > 28)
        let answer = try hardware.daemon.isStillEncodeSupported(StillQuestion(width: 1100, height: 600))
        #expect(answer.supported && answer.hardware && answer.encoderID == document["EncoderID"] as? String)
        let text = try Programs.hwctl(["probe", "--heic", "1100x600"], socket: hardware.socket).text
        #expect(text.contains("HEIC of 1100x600: written in hardware"), "\(text)")
    }

    @Test("What can be written is answered beforehand")
    func support() throws {
        let answer = try server.daemon.isStillEncodeSupported(StillQuestion(width: 4032, height: 3024))
        #expect(answer.supported && !answer.hardware && answer.reason != nil)
        #expect(answer.columns == 8 && answer.rows == 6 && answer.tileWidth == 512)
        let large = try server.daemon.isStillEncodeSupported(StillQuestion(width: 200_000, height: 200_000))
        #expect(!large.supported && large.reason?.contains("tiles") == true)
        for question in [StillQuestion(width: 5), StillQuestion(tile: 65), StillQuestion(width: 0, height: 1)] {
            #expect(throws: ClientError.self) { try server.daemon.isStillEncodeSupported(question) }
        }
        let probe = try document("probe", "--json")
        #expect((probe["heic"] as? [String: Any])?["supported"] as? Bool == true)
        let text = try hwctl("probe", "--heic", "9000x9000:single").text
        #expect(text.contains("HEIC of 9000x9000: cannot be written"), "\(text)")
        try hwctl("probe", "--heic", "0x5", status: 64)
    }
}
