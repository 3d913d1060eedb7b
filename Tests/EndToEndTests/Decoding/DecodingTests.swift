// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDEncoderTesting
import HWDModel
import HWDWire
import Testing

extension EndToEnd {
    /// `hwctl decode` of whole clips, checked by ffmpeg.
    @Suite struct Decoding {
        /// The MD5 of each video frame that ffmpeg decodes.
        static func digests(_ input: [String], _ pixelFormat: String) throws -> [String] {
            // hwctl does not rotate pictures.
            let arguments =
                ["-v", "quiet", "-noautorotate"] + input + [
                    "-map", "0:v:0", "-fps_mode", "passthrough", "-pix_fmt", pixelFormat, "-f", "framemd5", "-",
                ]
            return try Programs.tool("ffmpeg", arguments).text.split(separator: "\n").filter { !$0.hasPrefix("#") }
                .compactMap { $0.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) } }
        }

        /// The HEVC clips among `videos`.
        static func hevc(_ videos: [URL]) -> [URL] {
            videos.filter { (try? Probe($0.path).field("codec_name")) == "hevc" }
        }

        @Test(
            "An HEVC clip decodes to the samples that ffmpeg decodes",
            arguments: sampled(hevc(Clips.videos), oneIn: 3))
        func clip(_ url: URL) throws { try Self.check(url) }

        /// Decodes a clip and compares every sample with ffmpeg's.
        static func check(_ url: URL) throws {
            let source = Probe(url.path)
            let server = try TestDaemon()
            let output = server.folder.path("out.y4m")
            let run = try Programs.hwctl(["decode", url.path, output], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            let pixelFormat = try source.isDeep ? "yuv420p10le" : "yuv420p"
            let ours = try digests(["-strict", "-1", "-i", output], pixelFormat)
            // Compares samples alone: full range has two names, yuvj420p and yuv420p.
            let theirs = try digests(["-i", url.path], source.field("pix_fmt"))
            #expect(!ours.isEmpty)
            #expect(ours == theirs)
            // Some clips have gaps between their frames, of which decode warns.
            #expect(
                run.complaints.allSatisfy { !$0.contains("warning") || $0.contains("timing is lost") },
                "\(run.errors)")
            #expect(server.folder.contents == ["out.y4m", "socket"])
            #expect(server.hasNoWorkers())
        }

        @Test("A damaged file ends with an exit code or a report of the damage, and leaves no partial output")
        func damaged() throws { try Self.checkDamaged(Clips.damaged) }

        static func checkDamaged(_ files: [URL]) throws {
            let server = try TestDaemon()
            #expect(!files.isEmpty)
            for url in files {
                let output = server.folder.path("out.y4m")
                let run = try Programs.hwctl(["decode", url.path, output], socket: server.socket)
                #expect(run.status == 0 || run.status == 65, "\(url.lastPathComponent): \(run.errors)")
                #expect(!run.errors.isEmpty, "\(url.lastPathComponent)")
                if run.status != 0 {
                    #expect(server.folder.contents == ["socket"], "\(url.lastPathComponent)")
                    #expect(run.complaints.count >= 1)
                }
                try? FileManager.default.removeItem(atPath: output)
            }
            #expect(server.hasNoWorkers())
            #expect(try server.sessions().isEmpty)
        }

        @Test("Samples have the requested layout")
        func formats() throws {
            let server = try TestDaemon()
            for (source, target) in [
                (PixelFormat.yu12, PixelFormat.nv12), (.i010, .p010), (.i010, .yu12), (.yu12, .p010),
            ] {
                let stream = try CodedStream(source, width: 130, height: 98, frames: 6, in: server.folder)
                let native = try Decoder(server.daemon, stream)
                try native.decode(stream)
                let asked = try Decoder(server.daemon, stream, pixelFormat: target)
                try asked.decode(stream)
                #expect(asked.session.created.pixelFormat == target.rawValue)
                #expect(asked.frames.count == 6)
                for (a, b) in zip(native.frames, asked.frames) {
                    #expect(b.description.format == target)
                    #expect(b.description.codedBitDepth == (source == .i010 ? 10 : 8))
                    let isSame = b.samples == Self.convert(a.samples, source, target, 130, 98)
                    #expect(isSame)
                }
            }
        }

        /// The expected samples, derived from the definition of the layouts.
        static func convert(
            _ bytes: [UInt8], _ source: PixelFormat, _ target: PixelFormat, _ width: Int, _ height: Int
        ) -> [UInt8] {
            var values: [Int] = []
            if source == .i010 {
                values = stride(from: 0, to: bytes.count, by: 2).map { Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8 }
            } else {
                values = bytes.map(Int.init)
            }
            if source.bitDepth == 10, target.bitDepth == 8 { values = values.map { min(255, ($0 + 2) / 4) } }
            if source.bitDepth == 8, target.bitDepth == 10 { values = values.map { $0 * 4 } }
            let luma = width * height
            let chroma = (width + 1) / 2 * ((height + 1) / 2)
            if target.isSemiPlanar {
                let (cb, cr) = (values[luma..<luma + chroma], values[(luma + chroma)...])
                values = values[..<luma] + zip(cb, cr).flatMap { [$0, $1] }
            }
            if target == .p010 { values = values.map { $0 << 6 } }
            return target.bitDepth == 8
                ? values.map(UInt8.init) : values.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
        }

        @Test("Pictures arrive in presentation order with their times and their packets' numbers")
        func order() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 30, in: server.folder)
            let decoder = try Decoder(server.daemon, stream)
            try decoder.decode(stream)
            let times = decoder.frames.map(\.description.pts)
            #expect(times == stream.units.compactMap(\.pts).sorted())
            #expect(times != stream.units.compactMap(\.pts), "the stream reorders nothing")
            for frame in decoder.frames {
                let unit = stream.units[Int(frame.description.frameID) - 1]
                #expect(unit.pts == frame.description.pts)
                #expect(unit.isSync == frame.description.flags.contains(.sync))
                #expect(frame.description.duration == unit.duration)
            }
            #expect(decoder.reports.isEmpty)
        }

        @Test("Packets marked as not for output are decoded, so that later pictures are right")
        func doNotOutput() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 20, in: server.folder)
            let whole = try Decoder(server.daemon, stream)
            try whole.decode(stream)
            let part = try Decoder(server.daemon, stream)
            for (index, unit) in stream.units.enumerated() {
                try part.decode(unit, isOutput: index >= 10, isAsynchronous: index % 2 == 0)
            }
            try part.finish()
            let isSame = part.frames == whole.frames.filter { $0.description.frameID > 10 }
            #expect(isSame)
            #expect(part.frames.count == 10)
        }

        @Test("Pictures carry HDR metadata unless the client turns it off")
        func metadata() throws {
            let server = try TestDaemon()
            let hdr =
                ":hdr10=1:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:max-cll=1000,400:"
                + "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)"
            let stream = try CodedStream(.i010, frames: 4, options: hdr, in: server.folder)
            let decoder = try Decoder(server.daemon, stream)
            try decoder.decode(stream)
            let frame = try #require(decoder.frames.first).description
            #expect(frame.color == ColorDescription(primaries: 9, transfer: 16, matrix: 9, chromaLocation: 0))
            let display: [UInt8] = [
                0x33, 0xC2, 0x86, 0xC4, 0x1D, 0x4C, 0x0B, 0xB8, 0x84, 0xD0, 0x3E, 0x80, 0x3D, 0x13, 0x40, 0x42,
                0x00, 0x98, 0x96, 0x80, 0x00, 0x00, 0x00, 0x32,
            ]
            #expect(frame.sideData.first { $0.kind == .masteringDisplay }?.bytes == display)
            #expect(frame.sideData.first { $0.kind == .contentLight }?.bytes == [0x03, 0xE8, 0x01, 0x90])
            let plain = try Decoder(
                server.daemon, stream, properties: [.propagateHDRMetadata: .bool(false)])
            try plain.decode(stream)
            #expect(plain.frames.allSatisfy { $0.description.sideData.isEmpty })
        }

        @Test("Any number of threads in the range decodes the same pictures, with alpha too; others are refused")
        func threads() throws {
            let server = try TestDaemon()
            let streams: [(CodedStream, PixelFormat?)] = [
                (try CodedStream(frames: 40, in: server.folder), nil),
                (try CodedStream(Clips.fixture("bbb_alpha.mov").path), .yuva),
            ]
            for (stream, format) in streams {
                func open(_ count: Int64) throws -> Decoder {
                    try Decoder(
                        server.daemon, stream, pixelFormat: format, properties: [.threadCount: .int(count)])
                }
                var expected: [DecodedSamples]?
                for count: Int64 in [1, 16, 32, 64, 0] {
                    let decoder = try open(count)
                    try decoder.decode(stream)
                    #expect(decoder.frames.count == stream.units.count, "\(count) threads")
                    #expect(decoder.frames == expected ?? decoder.frames, "\(count) threads")
                    expected = decoder.frames
                }
                let error = #expect(throws: ClientError.self) { _ = try open(65) }
                #expect(error?.code == .session(.parameter) && error?.reason.contains("from 0 to 64") == true)
            }
        }

        @Test("Pictures carry their Dolby Vision RPUs byte for byte")
        func dolbyVision() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(Clips.fixture("dolby_vision_81.hevc").path)
            let decoder = try Decoder(server.daemon, stream)
            try decoder.decode(stream)
            let units = decoder.frames.map { $0.description.sideData.filter { $0.kind == .dolbyVisionRPU } }
            #expect(units.count == 259)
            let odd = units.indices.filter {
                units[$0].count != 1 || !units[$0][0].bytes.starts(with: [0x7C, 0x01, 0x19])
            }
            // After an end of sequence NAL unit, libavformat returns an RPU with the next picture.
            #expect(odd.count <= 3, "\(odd.prefix(8)) of \(units.prefix(3).map(\.count))")
        }

        @Test("Size and depth may change in the middle of a stream")
        func formatChange() throws {
            let server = try TestDaemon()
            let first = try CodedStream(frames: 8, in: server.folder)
            let second = try CodedStream(.i010, width: 192, height: 144, frames: 8, in: server.folder)
            let third = try CodedStream(width: 64, height: 64, frames: 8, in: server.folder)
            let alone = try [first, second, third].map { stream in
                let decoder = try Decoder(server.daemon, stream)
                try decoder.decode(stream)
                return decoder.frames
            }
            let decoder = try Decoder(server.daemon, first)
            for stream in [first, second, third] {
                #expect(try decoder.session.canAcceptFormatDescription(stream.description))
                try decoder.session.changeFormat(stream.description)
                for unit in stream.units { try decoder.decode(unit) }
            }
            try decoder.finish()
            let isSame = decoder.frames == alone.flatMap { $0 }
            #expect(isSame)
            #expect(decoder.frames.map(\.description.format).filter { $0 == .i010 }.count == 8)
            #expect(decoder.reports.isEmpty)
            let annexB = try CodedStream(frames: 4, ending: "hevc", in: server.folder)
            #expect(try !decoder.session.canAcceptFormatDescription(annexB.description))
        }

        @Test("A byte stream decodes to the same samples as length-prefixed packets")
        func byteStream() throws {
            let server = try TestDaemon()
            let prefixed = try CodedStream(frames: 12, in: server.folder)
            let bytes = try CodedStream(frames: 12, ending: "hevc", in: server.folder)
            let (a, b) = (try Decoder(server.daemon, prefixed), try Decoder(server.daemon, bytes))
            try a.decode(prefixed)
            try b.decode(bytes)
            let isSame = a.frames == b.frames
            #expect(isSame)
            #expect(a.frames.count == 12)
        }

        @Test("Output goes to PNG, to raw samples and through a pipe")
        func outputs() throws {
            let folder = try Scratch()
            let clip = folder.path("clip.mp4")
            try Programs.tool(
                "ffmpeg",
                [
                    "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=30", "-frames:v", "3",
                    "-pix_fmt", "yuv420p", "-c:v", "libx265", "-x265-params", "log-level=none", clip,
                ])
            let series = folder.path("p-%03d.png")
            try #require(try Programs.hwctl(["decode", clip, series]).status == 0)
            #expect(folder.contents == ["clip.mp4", "p-001.png", "p-002.png", "p-003.png"])
            let same = try psnr(
                ["-i", folder.path("p-%03d.png")], ["-i", clip], as: "yuv420p")
            #expect(same > 35)
            try #require(try Programs.hwctl(["decode", clip, folder.path("one.png")]).status == 0)
            #expect(
                try Data(contentsOf: URL(fileURLWithPath: folder.path("one.png")))
                    == Data(contentsOf: URL(fileURLWithPath: folder.path("p-001.png"))))
            try #require(try Programs.hwctl(["decode", clip, folder.path("a.yuv")]).status == 0)
            let raw = try [UInt8](Data(contentsOf: URL(fileURLWithPath: folder.path("a.yuv"))))
            #expect(try raw == Probe(clip).samples("yuv420p"))
            let piped = try Programs.hwctl(["decode", clip, "-"])
            try #require(piped.status == 0, "\(piped.errors)")
            #expect(piped.output.starts(with: Array("YUV4MPEG2 W128 H96 F30:1 Ip ".utf8)))
            let json = try Programs.hwctl(["decode", "--json", clip, folder.path("b.y4m")])
            #expect(json.text.contains("\"frames\" : 3"))
            #expect(try Programs.hwctl(["decode", clip, folder.path("b.mov")]).status == 64)
            #expect(try Programs.hwctl(["decode", clip, folder.path("none/b.y4m")]).status == 73)
            #expect(try Programs.hwctl(["decode", folder.path("none.mp4"), folder.path("c.y4m")]).status == 66)
            let hard = ["decode", "--hardware", "require", clip, folder.path("c.y4m")]
            #expect(try Programs.hwctl(hard).status == 69)
            #expect(!folder.contents.contains("c.y4m"))
        }

        @Test("hwctl info decodes three seconds and reports whether the file plays in real time")
        func playback() throws {
            let folder = try Scratch()
            let clip = folder.path("clip.mp4")
            try Programs.tool(
                "ffmpeg",
                [
                    "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25", "-frames:v", "200",
                    "-pix_fmt", "yuv420p", "-c:v", "libx265", "-x265-params", "log-level=none", clip,
                ])
            struct Document: Decodable {
                struct Mode: Decodable {
                    var answer: String
                    var needed_frames_per_second: Double
                    var decodes_per_frame: Double
                }
                struct Playability: Decodable {
                    var decoded_frames_per_second: Double
                    var group_length: Int
                    var whole_file_searched: Bool
                    var forward: Mode
                    var forward_2x: Mode
                }
                struct Playback: Decodable {
                    var playability: Playability?
                    var decodable_in_hardware: Bool
                    var decodable_in_software: Bool
                    var playable_in_real_time: Bool
                    var speed: Double
                    var measured_frames: Int
                }
                var playback: Playback?
            }
            func ask(_ options: String...) throws -> Document {
                let run = try Programs.hwctl(["info", "--json"] + options + [clip])
                #expect(run.status == 0, "\(run.errors)")
                return try JSONDecoder().decode(Document.self, from: Data(run.output))
            }
            let playback = try #require(try ask().playback)
            #expect(playback.decodable_in_software && !playback.decodable_in_hardware)
            // Three seconds of 25 frames, and not the whole file.
            #expect(playback.measured_frames == 75)
            #expect(playback.playable_in_real_time == (playback.speed >= 1))
            #expect(try ask("--no-measure").playback == nil)
            // A key frame, and 199 pictures up to the end.
            let found = try #require(playback.playability)
            #expect(found.group_length == 200 && found.whole_file_searched)
            #expect(found.forward.needed_frames_per_second == 25 && found.forward.decodes_per_frame == 1)
            #expect(found.forward_2x.needed_frames_per_second == 50)
            #expect((found.forward.answer == "every_frame") == (found.decoded_frames_per_second >= 25))
        }

        @Test("An odd size survives encoding and decoding")
        func cleanAperture() throws {
            let folder = try Scratch()
            let raw = try RawFrames(.yu12, width: 101, height: 75, count: 4, in: folder)
            let (y4m, mov, back) = (folder.path("in.y4m"), folder.path("coded.mov"), folder.path("back.y4m"))
            try Programs.tool("ffmpeg", ["-v", "error"] + raw.ffmpegInput + ["-strict", "-1", y4m])
            try #require(try Programs.hwctl(["encode", "--qp", "10", y4m, mov]).status == 0)
            try #require(try Programs.hwctl(["decode", mov, back]).status == 0)
            #expect(try Probe(back).size == (101, 75))
            #expect(try psnr(["-i", back], ["-i", y4m], as: "yuv420p") > 40)
        }

        /// The large set of clips.
        @Suite(.enabled(if: Clips.hasShared, Clips.needsShared)) struct Long {
            @Test(
                "A shared HEVC clip decodes to the samples that ffmpeg decodes", arguments: hevc(Clips.sharedVideos)
            )
            func clip(_ url: URL) throws { try check(url) }

            @Test("A shared damaged file ends with an exit code or a report of the damage")
            func damaged() throws { try checkDamaged(Clips.sharedDamaged) }
        }
    }
}
