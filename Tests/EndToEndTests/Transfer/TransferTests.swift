// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDColor
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// Pixel-transfer sessions, and the conversion of what is decoded and encoded.
    @Suite struct Transfers {
        static let halves = CreateTransferSession.Image(pixelFormat: PixelFormat.rgba16f.rawValue, primaries: "p3")
        static let pq = CreateTransferSession.Image(
            pixelFormat: PixelFormat.p010.rawValue, primaries: "2020", transfer: "pq", matrix: "2020",
            siting: "topleft")

        /// A frame that ffmpeg decoded to P010, and the clip's color description.
        static func decoded(_ clip: URL) throws -> (picture: Picture, signal: SignalDescription) {
            let (width, height) = try Probe(clip.path).size
            let bytes = try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-i", clip.path, "-frames:v", "1", "-pix_fmt", "p010le", "-f", "rawvideo", "-"]
            ).output
            var picture = Picture(.p010, width: width, height: height)
            try #require(bytes.count == width * height * 3)
            picture.planes = [Array(bytes[..<(width * height * 2)]), Array(bytes[(width * height * 2)...])]
            let isHLG = try Probe(clip.path).field("color_transfer") == "arib-std-b67"
            let isPQ = try Probe(clip.path).field("color_transfer") == "smpte2084"
            let isTopLeft = try Probe(clip.path).field("chroma_location") == "topleft"
            let isHDR = isHLG || isPQ
            return (
                picture,
                SignalDescription(
                    primaries: isHDR ? .bt2020 : .bt709, transfer: isHLG ? .hlg : isPQ ? .pq : .bt1886,
                    matrix: isHDR ? .bt2020 : .bt709, siting: isTopLeft ? .topLeft : .left)
            )
        }

        /// The largest error of half floats against the reference, in units of the last place, at one pixel in 97.
        static func error(
            _ halves: UnsafeRawBufferPointer, _ picture: Picture, _ signal: SignalDescription
        ) throws -> (units: Double, brightest: Double) {
            let (width, height) = (picture.width, picture.height)
            let reference = try ReferenceConverter(
                Conversion(
                    source: ImageDescription(format: .p010, width: width, height: height, signal: signal),
                    target: ImageDescription(
                        format: .rgba16f, width: width, height: height,
                        signal: SignalDescription(primaries: .displayP3, transfer: .linear))))
            var (worst, brightest) = (0.0, 0.0)
            for index in stride(from: 0, to: width * height, by: 97) {
                let (x, y) = (index % width, index / width)
                let (codes, alpha) = reference.components(picture, x, y)
                let wanted = reference.plan.convert(codes, alpha: alpha).codes
                let largest = max(abs(wanted.x), abs(wanted.y), abs(wanted.z))
                for component in 0..<3 {
                    let bits = halves.loadUnaligned(fromByteOffset: index * 8 + component * 2, as: UInt16.self)
                    let value = Half.value(bits)
                    brightest = max(brightest, value)
                    // The unit of the component, or an eighth of the largest one's: a test of the former alone fails
                    // near zero after a matrix.
                    func unit(_ value: Double) -> Double {
                        Double(
                            sign: .plus, exponent: max(value == 0 ? -14 : Int(value.exponent), -14) - 10,
                            significand: 1)
                    }
                    let off = abs(value - wanted[component])
                    worst = max(worst, min(off / unit(abs(wanted[component])), off / unit(largest) * 8))
                }
            }
            return (worst, brightest)
        }

        @Test(
            "Decoded to half floats, highlights exceed 1 and every value matches the reference",
            arguments: ["pq.mov", "hlg.mov"])
        func decoding(_ name: String) throws {
            let clip = Clips.fixture(name)
            let folder = try Scratch()
            let output = folder.path("out.raw")
            // Four frames keep the test short.
            let short = folder.path("short.mov")
            try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", clip.path, "-map", "0:v:0", "-c", "copy", "-frames:v", "4", short])
            let done = try Programs.hwctl([
                "decode", "--format", "rgba16f", "--primaries", "p3", "--device", "cpu", "--json", short, output,
            ])
            try #require(done.status == 0, "\(done.errors)")
            #expect(done.text.contains("\"PixelTransferDevice\" : \"CPU"))
            let (picture, signal) = try Self.decoded(URL(fileURLWithPath: short))
            let bytes = try Data(contentsOf: URL(fileURLWithPath: output))
            let frame = picture.width * picture.height * 8
            #expect(bytes.count % frame == 0 && bytes.count > 0)
            let result = try bytes.withUnsafeBytes { try Self.error($0, picture, signal) }
            #expect(result.units <= 1, "\(result.units) units")
            #expect(signal.transfer.isHDR && result.brightest > 1.5)
        }

        @Test("Half floats survive P010 in HLG within the precision of its codes")
        func roundTrip() throws {
            let folder = try Scratch()
            let (width, height) = (64, 32)
            var samples: [UInt16] = []
            for pixel in 0..<width * height {
                // One grey for each 2x2 block, so that no chroma is averaged across colors.
                let light = Float(pixel % width / 2 * (pixel / width / 2)) / 120
                samples += [light, light, light, 1].map { Float16($0).bitPattern }
            }
            let input = folder.path("in.f16")
            try Data(samples.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }).write(
                to: URL(fileURLWithPath: input))
            let (middle, output) = (folder.path("middle.p010"), folder.path("out.f16"))
            let common = [
                "--size", "\(width)x\(height)", "--transfer", "hlg", "--matrix", "2020", "--device", "cpu",
            ]
            for arguments in [
                [
                    input, middle, "--from", "rgba16f", "--to", "p010", "--from-primaries", "p3", "--to-primaries",
                    "2020",
                ],
                [
                    middle, output, "--from", "p010", "--to", "rgba16f", "--from-primaries", "2020",
                    "--to-primaries", "p3",
                ],
            ] {
                let done = try Programs.hwctl(["convert"] + arguments + common)
                try #require(done.status == 0, "\(done.errors)")
            }
            let back = try Data(contentsOf: URL(fileURLWithPath: output))
            try #require(back.count == samples.count * 2)
            for pixel in 0..<width * height {
                let bits = UInt16(back[pixel * 8]) | UInt16(back[pixel * 8 + 1]) << 8
                let (was, now) = (Half.value(samples[pixel * 4]), Half.value(bits))
                // A code of 10-bit HLG is at most 1.3 % of light above black, and 4.926 its end.
                #expect(abs(now - min(was, 4.926)) <= 0.013 * was + 0.004, "\(was) became \(now)")
            }
        }

        @Test("Frames carry their own color description; one that cannot be converted fails alone")
        func colors() throws {
            let server = try TestDaemon()
            let transfer = try Transferer(server.daemon, Self.pq, Self.halves, width: 32, height: 16)
            try transfer.fill { _ in 0x8000 }
            let first = try transfer.convert()
            let hlg = try transfer.convert(
                ColorDescription(primaries: 9, transfer: 18, matrix: 9, chromaLocation: 2))
            #expect(first.status == .ok && hlg.status == .ok)
            #expect(transfer.results.count == 2 && transfer.results[0] != transfer.results[1])
            for (color, name) in [
                (ColorDescription(primaries: 9, transfer: 16, matrix: 14), "ICtCp"),
                (ColorDescription(primaries: 9, transfer: 16, matrix: 10), "constant luminance"),
                (ColorDescription(primaries: 11, transfer: 16, matrix: 9), "DCI-P3"),
                (ColorDescription(primaries: 9, transfer: 200, matrix: 9), "200"),
            ] {
                let answer = try transfer.convert(color)
                #expect(answer.status == .pixelTransferNotSupported)
                #expect(answer.reason.contains(name), "\(answer.reason)")
            }
            let again = try transfer.convert()
            #expect(again.status == .ok && transfer.results.last == transfer.results.first)
            let session = try #require(try server.sessions().first)
            #expect(
                session.kind == .transfer && session.framesIn == 7
                    && session.codecID == "org.hwdaemon.transfer.cpu")
            #expect(session.width == 32 && session.height == 16)
            transfer.session.invalidate()
            #expect(try server.result(transfer.session.created.session).code == 0)
            #expect(server.hasNoWorkers())
        }

        @Test("The alpha of RGB survives an alpha layer")
        func alpha() throws {
            let server = try TestDaemon()
            let (width, height) = (128, 64)
            let encoder = try Encoder(
                server.daemon, .bgra8, width: width, height: height, codec: "hevc-with-alpha",
                properties: [
                    .x265Preset: .string("ultrafast"), .quality: .double(1), .targetQualityForAlpha: .double(1),
                    .alphaChannelMode: .string("straight"), .transferFunction: .string("sRGB"),
                    .pixelTransferDevicePreference: .string("cpu"),
                ])
            // The left half is a translucent orange, the right an opaque grey.
            var frame: [UInt8] = []
            for pixel in 0..<width * height {
                frame += pixel % width < 64 ? [40, 120, 220, 96] : [128, 128, 128, 255]
            }
            for _ in 0..<3 { try encoder.encode(frame) }
            try encoder.finish()
            let file = server.folder.path("alpha.mov")
            try encoder.write(to: file)
            let stream = try CodedStream(file)
            let decoder = try Decoder(
                server.daemon, stream, pixelFormat: .bgra8,
                properties: [
                    .destinationTransferFunction: .string("sRGB"), .pixelTransferDevicePreference: .string("cpu"),
                ])
            try decoder.decode(stream)
            let samples = try #require(decoder.frames.first).samples
            for (x, wanted) in [(20, [40, 120, 220, 96]), (100, [128, 128, 128, 255])] {
                let at = (height / 2 * width + x) * 4
                for component in 0..<4 {
                    #expect(abs(Int(samples[at + component]) - wanted[component]) <= 4, "\(samples[at..<at + 4])")
                }
            }
        }

        @Test("A converter that dies or hangs is replaced three times; then its session ends with the reason")
        func deaths() throws {
            let server = try TestDaemon()
            let undisturbed = try Transferer(server.daemon, Self.pq, Self.halves, width: 32, height: 16)
            try undisturbed.fill { UInt16(truncatingIfNeeded: $0 &* 2654435761) & 0xffc0 }
            #expect(try undisturbed.convert().status == .ok)
            undisturbed.session.invalidate()
            try #require(server.hasNoWorkers())
            for signal in [SIGKILL, SIGSEGV] {
                let transfer = try Transferer(server.daemon, Self.pq, Self.halves, width: 32, height: 16)
                try transfer.fill { UInt16(truncatingIfNeeded: $0 &* 2654435761) & 0xffc0 }
                for restart in 1...3 {
                    kill(try #require(server.workers.first).pid, signal)
                    #expect(try transfer.convert().status == .ok)
                    #expect(transfer.session.restartCount == restart)
                    #expect(transfer.results.last == undisturbed.results.first)
                }
                kill(try #require(server.workers.first).pid, signal)
                let error = sessionError { _ = try transfer.convert() }
                #expect(error?.status == .invalidSession)
                #expect(error?.reason.contains(signal == SIGKILL ? "SIGKILL" : "SIGSEGV") ?? false)
                #expect(server.hasNoWorkers())
            }
            // Stopped in the middle of a picture, which takes a large part of a second without optimisation.
            let strict = try TestDaemon("--set", "StallTimeout=20")
            let transfer = try Transferer(strict.daemon, Self.pq, Self.halves, width: 4096, height: 2160)
            let converter = try strict.session(transfer.session.created.session)
            let stopper = try Thread.spawn(name: "stop") {
                do { #expect(try strict.stop(converter)) } catch { Issue.record(error) }
            }
            for _ in 0..<2000 where transfer.session.restartCount == 0 { _ = try transfer.convert() }
            stopper.join()
            #expect(transfer.session.restartCount == 1)
            #expect(TestDaemon.namesStop(strict.log), "\(strict.log)")
        }

        /// A frame in a pool's slot, its planes after each other.
        private func place(
            _ pool: FramePool, _ poolID: UInt32, slot: Int, strides: [Int], rows: Int
        ) -> TransferFrame.Place {
            let planes = strides.enumerated().map { plane, stride in
                FrameLayout.Plane(
                    offset: UInt64(slot * pool.slotSize + plane * rows * stride), stride: UInt32(stride))
            }
            return TransferFrame.Place(poolID: poolID, layout: FrameLayout(planes: planes))
        }

        @Test("Frames in flight are converted again, each once and in order")
        func replay() throws {
            let server = try TestDaemon()
            let (width, height, count) = (64, 48, 12)
            let raw = try RawFrames(.nv12, width: width, height: height, count: count, in: server.folder)
            let (source, target) = (
                try FramePool(slotSize: raw.frames[0].count, slotCount: count),
                try FramePool(slotSize: width * height * 4, slotCount: count)
            )
            for (index, frame) in raw.frames.enumerated() {
                source.memory.mutableBytes?[(index * source.slotSize)...].copyBytes(from: frame)
            }
            func run(killingAt victim: Int?) throws -> [UInt8] {
                let session = try TransferSession(
                    server.daemon,
                    CreateTransferSession.Parameters(
                        width: width, height: height, source: .init(pixelFormat: "NV12"),
                        target: .init(pixelFormat: "AB24"), device: "cpu"))
                try session.addPool(source, id: 1)
                try session.addPool(target, id: 2)
                for index in 0..<count {
                    if index == victim { kill(try server.session(session.created.session).pid, SIGKILL) }
                    try session.transfer(
                        TransferFrame(
                            frameID: UInt64(index),
                            source: place(source, 1, slot: index, strides: [width, width], rows: height),
                            target: place(target, 2, slot: index, strides: [width * 4], rows: height)))
                }
                try session.finishFrames()
                var answers: [UInt64] = []
                while case .frame(let answer)? = try session.nextEvent(timeout: hangLimit) {
                    #expect(answer.status == .ok)
                    answers.append(answer.frameID)
                }
                #expect(answers == (0..<UInt64(count)).map { $0 })
                #expect(session.restartCount == (victim == nil ? 0 : 1))
                session.invalidate()
                return Array(target.memory.bytes)
            }
            let wanted = try run(killingAt: nil)
            for victim in [0, 1, 5, 11] {
                target.memory.mutableBytes?.initializeMemory(as: UInt8.self, repeating: 0)
                #expect(try run(killingAt: victim) == wanted)
            }
        }

        static let refused: [([String], Int32, String)] = [
            (["--size", "64x31"], 65, "no whole number of frames"),
            (["--size", "64"], 64, "--size"),
            (["--size", "0x32"], 64, "--size"),
            (["--transfer", "gamma3"], 64, "gamma3"),
            (["--matrix", "2020cl"], 64, "2020cl"),
            (["--from-primaries", "dci"], 64, "dci"),
            (["--range", "wide"], 64, "wide"),
            (["--siting", "right"], 64, "right"),
            (["--reference-white", "0"], 64, "reference white"),
            (["--to", "yuv444"], 64, "yuv444"),
            (["--to-transfer", "pq"], 69, "half floats"),
        ]

        @Test("hwctl convert refuses in one line", arguments: refused.indices)
        func refusals(_ index: Int) throws {
            let (arguments, status, words) = Self.refused[index]
            let folder = try Scratch()
            let input = folder.path("in.p010")
            try Data(count: 64 * 32 * 3).write(to: URL(fileURLWithPath: input))
            var all = ["convert", input, folder.path("out"), "--from", "p010"]
            for (option, value) in [("--size", "64x32"), ("--to", "rgba16f")] where !arguments.contains(option) {
                all += [option, value]
            }
            let done = try Programs.hwctl(all + arguments)
            #expect(done.status == status, "\(done.errors)")
            #expect(done.errors.contains(words), "\(done.errors)")
            // The argument parser adds its usage.
            if !["--size", "--to"].contains(arguments[0]) || status != 64 {
                #expect(done.complaints.count == 1, "\(done.errors)")
            }
            #expect(folder.contents == ["in.p010"])
        }

        @Test("Pipes go in and out")
        func pipes() throws {
            let folder = try Scratch()
            let input = folder.path("in.raw")
            try Data(repeating: 0x7F, count: 2 * 16 * 16 * 3 / 2).write(to: URL(fileURLWithPath: input))
            let arguments = ["convert", "-", "-", "--size", "16x16", "--from", "nv12", "--to", "bgra8"]
            let file = open(input, O_RDONLY)
            defer { close(file) }
            let done = try Programs.hwctl(arguments, input: file)
            #expect(done.status == 0, "\(done.errors)")
            #expect(done.output.count == 2 * 16 * 16 * 4)
            let short = open(input, O_RDONLY)
            defer { close(short) }
            lseek(short, 5, SEEK_SET)
            let cut = try Programs.hwctl(arguments, input: short)
            #expect(cut.status == 65 && cut.errors.contains("379 bytes"), "\(cut.errors)")
        }

        @Test("Half floats are encoded in the HLG of the session's properties")
        func encoding() throws {
            let server = try TestDaemon()
            let (width, height) = (128, 64)
            let encoder = try Encoder(
                server.daemon, .rgba16f, width: width, height: height,
                properties: [
                    .x265Preset: .string("ultrafast"), .quality: .double(1),
                    .colorPrimaries: .string("ITU_R_2020"), .transferFunction: .string("ITU_R_2100_HLG"),
                    .yCbCrMatrix: .string("ITU_R_2020"), .pixelTransferDevicePreference: .string("cpu"),
                ])
            // Grey of reference white: 75 % of HLG.
            let white = Float16(1).bitPattern
            var frame: [UInt8] = []
            for _ in 0..<width * height * 4 { frame += [UInt8(truncatingIfNeeded: white), UInt8(white >> 8)] }
            for _ in 0..<3 { try encoder.encode(frame) }
            try encoder.finish()
            let properties = try encoder.session.copyProperties([.pixelTransferDevice])
            #expect(properties[.pixelTransferDevice]?.description.hasPrefix("CPU") ?? false)
            let file = server.folder.path("out.hevc")
            try encoder.write(to: file)
            let probe = Probe(file)
            #expect(try probe.field("color_transfer") == "arib-std-b67")
            #expect(try probe.field("pix_fmt") == "yuv420p10le")
            let samples = try probe.samples("yuv420p10le")
            let luma = Int(samples[0]) | Int(samples[1]) << 8
            #expect(abs(luma - 721) <= 2, "\(luma)")
        }
    }
}
