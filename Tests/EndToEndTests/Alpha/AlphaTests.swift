// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// `hwctl encode --alpha`, and sessions of hevc-with-alpha.
    @Suite struct Alpha {
        /// A file that ffmpeg makes: a soft mask over moving color.
        static func clip(
            _ folder: Scratch, _ name: String, _ codec: [String], size: String = "192x108", rate: Int = 25,
            frames: Int = 8
        ) throws -> String {
            let path = folder.path(name)
            let mask = "geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='clip(255-6*(hypot(X-W/3-N*3,Y-H/2)-30),0,255)'"
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=\(rate),format=rgba,\(mask)",
                    "-frames:v", "\(frames)",
                ] + codec + [path])
            return path
        }

        static let sources: [(String, [String])] = [
            ("mask.mov", ["-c:v", "qtrle", "-pix_fmt", "argb"]),
            ("mask-12.mov", ["-c:v", "prores_ks", "-profile:v", "4444", "-pix_fmt", "yuva444p10le"]),
            ("mask.webm", ["-c:v", "libvpx-vp9", "-pix_fmt", "yuva420p", "-crf", "10", "-b:v", "0"]),
            ("mask-%02d.png", ["-pix_fmt", "rgba64be"]),
        ]

        /// A file's hvcC record and each sample's NAL units.
        struct Layers {
            var record: DecoderConfigurationRecord
            var samples: [[[UInt8]]]

            init(_ path: String) throws {
                let file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
                let place = try #require(Self.find("hvcC", in: file))
                let size = file[(place - 4)..<place].reduce(0) { $0 << 8 | Int($1) }
                record = try DecoderConfigurationRecord(bytes: Array(file[(place + 4)..<(place - 4 + size)]))
                let packets = try Programs.tool(
                    "ffprobe",
                    [
                        "-v", "error", "-select_streams", "v", "-show_entries", "packet=pos,size", "-of", "csv=p=0",
                        path,
                    ])
                samples = try packets.text.split(separator: "\n").map { line in
                    let numbers = line.split(separator: ",").compactMap { Int($0) }
                    var units = try LengthPrefixedNALUnits(file[numbers[1]..<(numbers[1] + numbers[0])])
                    var found: [[UInt8]] = []
                    while let unit = try units.next() { found.append(Array(unit)) }
                    return found
                }
            }

            /// The record and packets of a session.
            init(record bytes: [UInt8], packets: [[UInt8]]) throws {
                record = try DecoderConfigurationRecord(bytes: bytes)
                samples = try packets.map { packet in
                    var units = try LengthPrefixedNALUnits(packet[...])
                    var found: [[UInt8]] = []
                    while let unit = try units.next() { found.append(Array(unit)) }
                    return found
                }
            }

            private static func find(_ name: String, in file: [UInt8]) -> Int? {
                let word = Array(name.utf8)
                return file.indices.dropLast(4).first { file[$0] == word[0] && Array(file[$0..<($0 + 4)]) == word }
            }

            /// One layer as a stream of layer 0.
            func stream(_ layer: Int) throws -> [UInt8] {
                var stream: [UInt8] = []
                for unit in record.nalUnits + samples.flatMap({ $0 }) {
                    let header = try NALUnitHeader(nal: unit)
                    var unit = unit
                    if header.nalUnitType == .vps {
                        var vps = try VideoParameterSet(nal: unit)
                        (vps.vpsMaxLayersMinus1, vps.vpsMaxLayerId, vps.layerIdIncludedFlag) = (0, 0, [])
                        vps.vpsExtension = nil
                        unit = try vps.nalUnit()
                    } else if header.nuhLayerId != layer {
                        continue
                    }
                    unit[1] &= 7
                    AnnexB.append(unit, to: &stream)
                }
                return stream
            }
        }

        private func decode(_ stream: [UInt8], _ format: String, in folder: Scratch) throws -> [UInt8] {
            let path = folder.path("layer.hevc")
            try Data(stream).write(to: URL(fileURLWithPath: path))
            return try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", format, "-"]
            ).output
        }

        private func psnr(_ first: some Collection<UInt8>, _ second: some Collection<UInt8>) -> Double {
            let error = zip(first, second).reduce(0.0) { sum, pair in
                sum + Double((Int(pair.0) - Int(pair.1)) * (Int(pair.0) - Int(pair.1)))
            }
            return error == 0 ? .infinity : 10 * log10(255 * 255 * Double(first.count) / error)
        }

        @Test("Files with alpha keep it", arguments: sampled(sources, oneIn: 2))
        func files(name: String, codec: [String]) throws {
            let folder = try Scratch()
            let input = try Self.clip(folder, name, codec)
            let output = folder.path("out.mov")
            let run = try Programs.hwctl([
                "encode", input, output, "--alpha", "straight", "--preset", "superfast", "--quality", "0.9",
            ])
            try #require(run.status == 0, "\(run.errors)")
            let layers = try Layers(output)
            #expect(layers.samples.count == 8)
            #expect(layers.record.arrays.map(\.nalUnits.count)[..<3] == [1, 2, 2])
            for sample in layers.samples {
                let ids = try sample.map { try NALUnitHeader(nal: $0).nuhLayerId }
                #expect(ids == ids.sorted() && Set(ids) == [0, 1])
            }
            let decoder = name.hasSuffix("webm") ? ["-c:v", "libvpx-vp9"] : []
            let reference = try Programs.tool(
                "ffmpeg",
                ["-v", "error"] + decoder + [
                    "-i", input, "-vf", "alphaextract", "-f", "rawvideo", "-pix_fmt", "gray", "-",
                ])
            let planes = try decode(try layers.stream(1), "yuvj420p", in: folder)
            let (luma, frame) = (192 * 108, 192 * 108 * 3 / 2)
            try #require(planes.count == 8 * frame && reference.output.count == 8 * luma)
            for index in 0..<8 {
                let alpha = planes[(index * frame)..<(index * frame + luma)]
                let quality = psnr(alpha, reference.output[(index * luma)..<((index + 1) * luma)])
                #expect(quality >= 50, "picture \(index): \(quality) dB")
            }
            // A demuxer that ignores the alpha layer sees the complete base layer.
            let seen = try Programs.tool(
                "ffmpeg", ["-v", "warning", "-i", output, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"])
            #expect(seen.errors.isEmpty, "\(seen.errors)")
            #expect(try decode(try layers.stream(0), "yuv420p", in: folder) == seen.output)
            let colour = try Programs.tool(
                "ffmpeg",
                ["-v", "error"] + decoder + [
                    "-i", input, "-vf", "scale=out_color_matrix=bt601:out_range=tv", "-f", "rawvideo", "-pix_fmt",
                    "yuv420p", "-",
                ])
            #expect(psnr(seen.output, colour.output) > 35)
        }

        @Test("Straight color is premultiplied before chroma is subsampled")
        func premultiplied() throws {
            let folder = try Scratch()
            let input = try Self.clip(folder, "mask.mov", ["-c:v", "qtrle", "-pix_fmt", "argb"])
            let output = folder.path("out.mp4")
            let run = try Programs.hwctl([
                "encode", input, output, "--alpha", "premultiplied", "--preset", "superfast", "--quality", "1",
            ])
            try #require(run.status == 0, "\(run.errors)")
            #expect(run.errors.contains("premultiplied"))
            let seen = try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", output, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"])
            // The expected picture, by ffmpeg in RGB: premultiplied color equals a composite over black.
            let graph =
                "color=black:size=192x108:rate=25,format=gbrp[b];[0:v]format=gbrap[f];[b][f]overlay=format=gbrp:shortest=1,"
                + "scale=out_color_matrix=bt601:out_range=tv:flags=accurate_rnd+full_chroma_int+bicubic"
            let expected = try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", input, "-filter_complex", graph, "-frames:v", "8", "-f", "rawvideo",
                    "-pix_fmt", "yuv420p", "-",
                ])
            try #require(seen.output.count == expected.output.count)
            let quality = psnr(seen.output, expected.output)
            #expect(quality > 38, "\(quality) dB")
        }

        /// A session of the best quality whose frames have this alpha mode and become premultiplied, converted by the CPU.
        private static func encoder(
            _ server: TestDaemon, _ format: PixelFormat, _ width: Int, _ height: Int, from mode: String
        ) throws -> Encoder {
            try Encoder(
                server.daemon, format, width: width, height: height, codec: "hevc-with-alpha",
                properties: [
                    .quality: .double(1), .targetQualityForAlpha: .double(1),
                    .alphaChannelMode: .string("premultiplied"), .sourceAlphaMode: .string(mode),
                    .sourceTransferFunction: .string("ITU_R_709_2"), .pixelTransferDevicePreference: .string("cpu"),
                ])
        }

        @Test(
            "RGB frames are split into alpha, unchanged, and color multiplied by it",
            arguments: [PixelFormat.bgra8, .rgba8, .rgba16f])
        func rgb(format: PixelFormat) throws {
            let (width, height) = (64, 48)
            let server = try TestDaemon()
            let encoder = try Self.encoder(server, format, width, height, from: "straight")
            // Straight white-ish orange, from transparent on the left to opaque on the right.
            let rgb: [UInt8] = [240, 180, 90]
            let alphas = (0..<width).map { UInt8($0 * 255 / (width - 1)) }
            var row: [UInt8] = []
            for alpha in alphas {
                switch format {
                case .bgra8: row += [rgb[2], rgb[1], rgb[0], alpha]
                case .rgba8: row += rgb + [alpha]
                default:
                    let values = rgb.map { Float16($0) / 255 } + [Float16(alpha) / 255]
                    row += values.flatMap { [UInt8($0.bitPattern & 255), UInt8($0.bitPattern >> 8)] }
                }
            }
            let frame = [UInt8]((0..<height).map { _ in row }.joined())
            for _ in 0..<3 { try encoder.encode(frame) }
            try encoder.finish()
            let folder = try Scratch()
            let layers = try Layers(record: encoder.record, packets: encoder.coded.map(\.bytes))
            #expect(layers.samples.count == 3)
            let alpha = try decode(try layers.stream(1), "yuvj420p", in: folder)
            let base = try decode(try layers.stream(0), "yuv420p", in: folder)
            for x in 0..<width {
                #expect(abs(Int(alpha[10 * width + x]) - Int(alphas[x])) <= 3, "alpha \(x)")
                // BT.709 applied to the coded values; linear half floats have another curve that meets it only at the ends.
                guard format != .rgba16f || x == 0 else { continue }
                let luma = zip(rgb, [0.2126, 0.7152, 0.0722]).reduce(0) { $0 + Double($1.0) * $1.1 }
                let expected = 16 + 219 * luma / 255 * Double(alphas[x]) / 255
                #expect(abs(Double(base[10 * width + x]) - expected) <= 3, "luma \(x): \(base[10 * width + x])")
            }
        }

        @Test(
            "Frames with an alpha mode of their own are converted from it", arguments: [PixelFormat.yuva, .rgba8])
        func frameModes(format: PixelFormat) throws {
            let (width, height) = (64, 48)
            let server = try TestDaemon()
            let encoder = try Self.encoder(server, format, width, height, from: "premultiplied")
            let alphas = (0..<width).map { UInt8($0 * 255 / (width - 1)) }
            // A gray of 200 of 255, or multiplied by alpha; luma is 16 + 219 · gray / 255.
            func frame(_ mode: AlphaChannelMode) -> [UInt8] {
                let grays = alphas.map { mode == .straight ? 200 : 200 * Double($0) / 255 }
                if format == .rgba8 {
                    let row = zip(grays, alphas).flatMap { gray, alpha in
                        [UInt8](repeating: UInt8(gray.rounded()), count: 3) + [alpha]
                    }
                    return (0..<height).flatMap { _ in row }
                }
                let luma = grays.map { UInt8((16 + 219 * $0 / 255).rounded()) }
                let chroma = [UInt8](repeating: 128, count: width * height / 2)
                return (0..<height).flatMap { _ in luma } + chroma + (0..<height).flatMap { _ in alphas }
            }
            try encoder.encode(frame(.premultiplied))
            try encoder.encode(frame(.straight), flags: .straightSource)
            try encoder.encode(frame(.premultiplied), flags: .premultipliedSource)
            try encoder.encode(frame(.straight), flags: .straightSource)
            try encoder.finish()
            let layers = try Layers(record: encoder.record, packets: encoder.coded.map(\.bytes))
            #expect(layers.samples.count == 4)
            let base = try decode(try layers.stream(0), "yuv420p", in: try Scratch())
            for picture in 0..<4 {
                let start = picture * width * height * 3 / 2 + 10 * width
                for x in 0..<width {
                    let expected = 16 + 219 * (200 * Double(alphas[x]) / 255) / 255
                    #expect(
                        abs(Double(base[start + x]) - expected) <= 3,
                        "picture \(picture), luma \(x): \(base[start + x])")
                }
            }
        }

        @Test("Y4M with alpha is encoded as it is; impossible requests are refused")
        func refusals() throws {
            let folder = try Scratch()
            var y4m = Array("YUV4MPEG2 W64 H64 F25:1 Ip A1:1 C420alpha\n".utf8)
            for index in 0..<3 {
                y4m += Array("FRAME\n".utf8) + (0..<4096).map { UInt8(16 + ($0 + index) % 200) }
                y4m += [UInt8](repeating: 100, count: 2048) + (0..<4096).map { UInt8($0 % 64 * 4) }
            }
            let input = folder.path("in.y4m")
            try Data(y4m).write(to: URL(fileURLWithPath: input))
            let run = try Programs.hwctl(["encode", input, folder.path("out.mov"), "--alpha", "straight", "--json"])
            try #require(run.status == 0, "\(run.errors)")
            #expect(run.text.contains("\"SourceAlphaMode\"") && run.text.contains("YUVA"))
            let layers = try Layers(folder.path("out.mov"))
            #expect(layers.samples.count == 3 && layers.samples.allSatisfy { $0.count == 2 })

            let raw = try Programs.hwctl(["encode", input, folder.path("out.hevc"), "--alpha", "straight"])
            #expect(raw.status == 0 && raw.errors.contains("players"))
            for (arguments, status, words) in [
                (
                    [input, folder.path("x.mov"), "--alpha", "straight", "--profile", "main10"], Int32(64),
                    "ProfileLevel"
                ),
                ([input, folder.path("x.mov"), "--alpha-quality", "0.5"], 64, "--alpha-quality"),
                (
                    [input, folder.path("x.mov"), "--alpha", "straight", "--alpha-quality", "1.5"], 64,
                    "--alpha-quality"
                ),
            ] {
                let refused = try Programs.hwctl(["encode"] + arguments)
                #expect(
                    refused.status == status && refused.errors.contains(words), "\(arguments): \(refused.errors)")
            }
            // Without --alpha it is left out, as with other inputs.
            let dropped = try Programs.hwctl(["decode", input, folder.path("colour.yuv")])
            #expect(dropped.status == 0 && dropped.errors.contains("C420alpha"))
            let colour = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path("colour.yuv"))))
            let frame = 6 + 4096 + 2048 + 4096
            let expected = (0..<3).flatMap { y4m[(y4m.count - (3 - $0) * frame + 6)...].prefix(6144) }
            #expect(colour == expected)
            let cut = folder.path("cut.y4m")
            try Data(y4m.dropLast(9)).write(to: URL(fileURLWithPath: cut))
            let torn = try Programs.hwctl(["encode", cut, folder.path("x.mov")])
            #expect(torn.status == 65 && torn.errors.contains("frame 2"), "\(torn.errors)")
            let opaque = try Self.clip(folder, "opaque.mp4", ["-c:v", "libx264", "-pix_fmt", "yuv420p"])
            let refused = try Programs.hwctl(["encode", opaque, folder.path("x.mov"), "--alpha", "premultiplied"])
            #expect(refused.status == 65 && refused.errors.contains("no alpha channel"), "\(refused.errors)")
            #expect(!FileManager.default.fileExists(atPath: folder.path("x.mov")))
        }

        @Test(
            "Hardware serves where the driver takes packed headers, else software with the reason",
            arguments: [("intel-lp", true), ("mesa22", false)])
        func hardware(personality: String, isHardware: Bool) throws {
            let server = try Hardware.daemon(personality)
            let folder = try Scratch()
            let input = try Self.clip(folder, "mask.mov", ["-c:v", "qtrle", "-pix_fmt", "argb"])
            let output = folder.path("out.mov")
            let run = try Programs.hwctl(
                ["encode", input, output, "--alpha", "straight", "--json"], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            let summary = try JSON.decode(Hardware.Summary.self, from: run.output)
            #expect(summary.usingHardware == isHardware && summary.frames == 8)
            #expect(
                isHardware || summary.fallbackReason?.contains("slice headers") == true, "\(summary)")
            let layers = try Layers(output)
            #expect(try decode(try layers.stream(1), "yuvj420p", in: folder).count == 8 * 192 * 108 * 3 / 2)
            let required = try Programs.hwctl(
                ["encode", input, folder.path("b.mov"), "--alpha", "straight", "--hardware", "require"],
                socket: server.socket)
            #expect(required.status == (isHardware ? 0 : 69), "\(required.errors)")
        }
    }
}
