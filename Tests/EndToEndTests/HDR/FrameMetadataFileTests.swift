// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDHEVC
import HWDModel
import Testing

extension EndToEndFaults {
    /// Captions, windows and active areas: metadata of frames that an encode keeps, adapts or names.
    @Suite struct FrameMetadataFiles {
        private let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func path(_ name: String) -> String { server.folder.path(name) }

        private func hwctl(_ arguments: String...) throws -> Finished {
            try Programs.hwctl(arguments, socket: server.socket)
        }

        /// Makes a file of frames with metadata.
        private func write(
            _ name: String, width: Int = 128, height: Int = 96, _ properties: [PropertyKey: PropertyValue],
            _ sideData: [[FrameSideData]]
        ) throws {
            let raw = try RawFrames(.i010, width: width, height: height, count: sideData.count, in: server.folder)
            let all = properties.merging(
                [.x265Preset: .string("ultrafast"), .preserveDynamicHDRMetadata: .bool(true)]
            ) { $1 }
            let encoder = try Encoder(server.daemon, .i010, width: width, height: height, properties: all)
            for (frame, entries) in zip(raw.frames, sideData) {
                try encoder.encode(frame, metadata: FrameMetadata(sideData: entries))
            }
            try encoder.finish()
            try encoder.write(to: path(name))
        }

        private static func captions(_ number: Int) -> ClosedCaptions {
            // Characters of CEA-608 with odd parity, and padding.
            let codes: [[UInt8]] = [[0x94, 0x20], [0xC1, 0xC2], [0x43, 0xC4], [0x94, 0x2F], [0x80, 0x80]]
            return ClosedCaptions(
                constructs: [
                    .init(type: 0, bytes: codes[number % codes.count]),
                    .init(type: 1, bytes: [0x80, UInt8(number)]),
                ])
        }

        /// The constructs of a file's pictures, in the order of presentation.
        private func constructs(_ name: String) throws -> [[ClosedCaptions.Construct]] {
            try CodedMetadata(path(name)).hdr10Plus.sorted { $0.key < $1.key }
                .map { try ClosedCaptions(payload: $0.value).constructs }
        }

        /// Frames that ffprobe reports to have captions.
        private func captionedFrames(_ name: String) throws -> Int {
            let frames = try Programs.tool(
                "ffprobe", ["-v", "error", "-select_streams", "v:0", "-show_frames", "-of", "json", path(name)])
            return frames.text.components(separatedBy: "ATSC A53 Part 4 Closed Captions").count - 1
        }

        @Test("An encode keeps the closed captions of HEVC and H.264, in every mode of HDR metadata")
        func captionsAreKept() throws {
            let sent = (0..<10).map { Self.captions($0) }
            let payloads = try sent.map { try SEIMessage(.closedCaptions($0)).payload }
            try write("in.mov", [:], payloads.map { [FrameSideData(.closedCaptions, $0)] })
            #expect(try captionedFrames("in.mov") == 10 && constructs("in.mov") == sent.map(\.constructs))
            for options in [
                [], ["--hdr", "drop"], ["--property", "TransferFunction=SMPTE_ST_2084_PQ", "--retag"],
            ] {
                let run = try Programs.hwctl(
                    ["encode", "--preset", "ultrafast"] + options + [path("in.mov"), path("out.mov")],
                    socket: server.socket)
                try #require(run.status == 0, "\(run.errors)")
                #expect(try constructs("out.mov") == sent.map(\.constructs), "\(options)")
                #expect(try captionedFrames("out.mov") == 10 && !run.errors.contains("captions"))
            }
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-i", path("in.mov"), "-c:v", "libx264", "-a53cc", "1", "-pix_fmt", "yuv420p"]
                    + [path("h264.mp4")])
            let run = try hwctl("encode", "--preset", "ultrafast", path("h264.mp4"), path("h264.mov"))
            try #require(run.status == 0, "\(run.errors)")
            #expect(try constructs("h264.mov") == sent.map(\.constructs) && captionedFrames("h264.mov") == 10)
        }

        @Test("A track of captions is kept in .mov and named where it cannot be")
        func captionTracks() throws {
            let message = try SEIMessage(.closedCaptions(Self.captions(1)))
            let entry = FrameSideData(.closedCaptions, message.payload)
            try write("in.mov", [:], [[entry], [entry], [entry], [entry]])
            let source = "movie=\(path("in.mov"))[out0+subcc]"
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", source, "-i", path("in.mov"), "-map", "1:v", "-map", "0:s"]
                    + ["-c", "copy", path("track.mov")])
            for (ending, isKept) in [("mov", true), ("mp4", false), ("hevc", false)] {
                for options in [["--copy"], ["--preset", "ultrafast"]] {
                    let output = path("out.\(ending)")
                    let run = try Programs.hwctl(
                        ["encode"] + options + [path("track.mov"), output], socket: server.socket)
                    #expect(run.status == 0 && run.errors.contains("eia_608") == !isKept, "\(run.errors)")
                    if isKept {
                        #expect(
                            try Programs.tool("ffprobe", ["-v", "error", "-show_streams", output]).text.contains(
                                "c608"))
                    }
                }
            }
        }

        @Test("HDR10+ of AV1 and VP9 is kept, and what cannot be read is named")
        func otherCodecs() throws {
            let expected = (0..<5).map { HDRMetadata.hdr10Plus(peak: 100 + $0) }
            for clip in ["av1.ivf", "vp9.webm"] {
                let source = Clips.fixture("hdr10plus/\(clip)").path
                let run = try hwctl("encode", "--preset", "ultrafast", source, path("o.mov"))
                #expect(run.status == 0 && !run.errors.contains("warning"), "\(run.errors)")
                let found = try CodedMetadata(path("o.mov")).hdr10Plus.sorted { $0.key < $1.key }.map(\.value)
                #expect(found == expected, "\(clip)")
            }
            var bytes = try Data(contentsOf: Clips.fixture("hdr10plus/av1.ivf"))
            let second = try #require(bytes.range(of: Data(expected[1])))
            // num_windows is 0.
            bytes[second.lowerBound + 7] = 0
            try bytes.write(to: URL(fileURLWithPath: path("damaged.ivf")))
            let run = try hwctl("encode", "--preset", "ultrafast", path("damaged.ivf"), path("d.mov"))
            #expect(run.status == 0 && run.errors.contains("metadata or captions of 1 frame of"), "\(run.errors)")
            #expect(try CodedMetadata(path("d.mov")).hdr10Plus.count == 4)
        }

        @Test("--retag to SDR names the HDR10+ that it leaves out")
        func retagged() throws {
            let pq: [PropertyKey: PropertyValue] = [
                .transferFunction: .string("SMPTE_ST_2084_PQ"), .colorPrimaries: .string("ITU_R_2020"),
                .yCbCrMatrix: .string("ITU_R_2020"),
            ]
            let entries = (0..<4).map { [FrameSideData(.hdr10Plus, HDRMetadata.hdr10Plus(peak: 100 + $0))] }
            try write("in.mov", pq, entries)
            let kept = try hwctl("encode", "--preset", "ultrafast", path("in.mov"), path("kept.mov"))
            #expect(kept.status == 0 && !kept.errors.contains("dynamic HDR metadata"), "\(kept.errors)")
            #expect(try CodedMetadata(path("kept.mov")).hdr10Plus.count == 4)
            let run = try hwctl(
                "encode", "--preset", "ultrafast", "--retag", "--property", "TransferFunction=ITU_R_709_2",
                path("in.mov"), path("out.mov"))
            #expect(
                run.status == 0 && run.errors.contains("the dynamic HDR metadata of 4 frames are left out"),
                "\(run.errors)")
            #expect(try CodedMetadata(path("out.mov")).hdr10Plus.isEmpty)
        }

        @Test("RPUs and HDR10+ of scaled frames are adapted to the new size")
        func scaled() throws {
            func rpu(_ edge: Int) throws -> DolbyVisionRPU {
                let area = RPUActiveArea(left: edge, right: 2 * edge, top: 3 * edge, bottom: 4 * edge)
                return try DolbyVisionGenerator(.profile84, activeArea: area)
                    .rpu(light: RPULight(min: 0, max: 3000, average: 2000))
            }
            func plus(_ edge: Int) -> HDR10PlusMetadata {
                var (metadata, window) = (HDR10PlusMetadata(), HDR10PlusMetadata.Window())
                (window.corners, window.center) = ([edge, edge, 2 * edge, 2 * edge], [edge, edge])
                window.axes = [edge, edge, edge]
                (metadata.windows, metadata.light) = ([window], [.init(), .init()])
                metadata.tones = [.init(), .init()]
                return metadata
            }
            for (name, edge, width, height) in [("a.hevc", 8, 128, 96), ("b.hevc", 5, 64, 48)] {
                let entries = [
                    FrameSideData(.dolbyVisionRPU, try rpu(edge).nalUnit()),
                    FrameSideData(.hdr10Plus, try plus(edge).payload()),
                ]
                try write(
                    name, width: width, height: height, [.transferFunction: .string("ITU_R_2100_HLG")],
                    [entries, entries, entries])
            }
            let both = try ["a.hevc", "b.hevc"].map { try Data(contentsOf: URL(fileURLWithPath: path($0))) }
            try (both[0] + both[1]).write(to: URL(fileURLWithPath: path("both.hevc")))
            let run = try hwctl("encode", "--preset", "ultrafast", path("both.hevc"), path("out.mov"))
            try #require(run.status == 0, "\(run.errors)")
            let found = try CodedMetadata(path("out.mov"))
            // The second half is twice as wide and high as it was.
            let edges = [8, 8, 8, 10, 10, 10]
            let rpus = try found.rpus.sorted { $0.key < $1.key }.map {
                try DolbyVisionRPU(nal: [0x7C, 1] + $0.value)
            }
            #expect(try rpus == edges.map { try rpu($0) })
            let payloads = found.hdr10Plus.sorted { $0.key < $1.key }.map(\.value)
            #expect(try payloads == edges.map { try plus($0).payload() })
            #expect(!run.errors.contains("are left out"), "\(run.errors)")
        }

        @Test("A conversion of interlaced colors is warned of")
        func interlaced() throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=25:duration=0.2", "-c:v",
                    "libx264",
                ]
                    + [
                        "-pix_fmt", "yuv420p10le", "-flags", "+ildct+ilme", "-x264opts", "tff=1",
                        "-color_primaries",
                    ]
                    + ["bt2020", "-color_trc", "arib-std-b67", "-colorspace", "bt2020nc", path("in.mp4")])
            for (options, isWarned) in [([], false), (["--hdr", "sdr"], true)] {
                let run = try Programs.hwctl(
                    ["encode", "--preset", "ultrafast"] + options + [path("in.mp4"), path("o.mov")],
                    socket: server.socket)
                #expect(run.status == 0 && run.errors.contains("interlaced"), "\(run.errors)")
                #expect(run.errors.contains("as if the frames were progressive") == isWarned, "\(run.errors)")
            }
            let png = try hwctl("decode", path("in.mp4"), path("p.png"))
            #expect(png.status == 0 && png.errors.contains("as if the frames were progressive"), "\(png.errors)")
        }

        @Test("PQ to HLG keeps the ambient viewing environment alone")
        func ambient() throws {
            try write(
                "in.mov",
                [
                    .transferFunction: .string("SMPTE_ST_2084_PQ"), .colorPrimaries: .string("ITU_R_2020"),
                    .yCbCrMatrix: .string("ITU_R_2020"), .contentLightLevelInfo: .string("03e80190"),
                    .ambientViewingEnvironment: .string("002fe9a03d134042"),
                ], [[], [], []])
            let run = try hwctl("encode", "--preset", "ultrafast", "--hdr", "hlg", path("in.mov"), path("o.mov"))
            #expect(run.status == 0 && run.errors.contains("clli") && !run.errors.contains("amve"), "\(run.errors)")
            let boxes = try SampleEntryBoxes(path("o.mov"))
            #expect(boxes.bodies["amve"] == [0, 0x2F, 0xE9, 0xA0, 0x3D, 0x13, 0x40, 0x42])
            #expect(try boxes.bodies["clli"] == nil && CodedMetadata(path("o.mov")).rpus.isEmpty)
        }
    }
}
