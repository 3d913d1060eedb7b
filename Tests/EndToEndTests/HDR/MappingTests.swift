// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDColor
import HWDHEVC
import HWDModel
import HWDWire
import Testing

extension EndToEnd {
    /// Pictures that become RGB through the mapping of their Dolby Vision RPUs.
    @Suite struct Mappings {
        static let iPhone = Clips.fixture("dolby_vision_84.mov").path
        static let applied: [PropertyKey: PropertyValue] = [
            .appliesHDRMetadata: .bool(true), .destinationColorPrimaries: .int(9),
            .pixelTransferDevicePreference: .string("cpu"),
        ]

        /// The pictures of a session.
        private func decode(
            _ server: TestDaemon, _ stream: CodedStream, _ format: PixelFormat? = .rgba16f,
            _ properties: [PropertyKey: PropertyValue] = [:]
        ) throws -> Decoder {
            let decoder = try Decoder(
                server.daemon, stream, pixelFormat: format,
                specification: [.enableHardwareDecoder: .bool(false)], properties: properties)
            try decoder.decode(stream)
            return decoder
        }

        /// A stream whose packets have another NAL unit instead of their RPU; nil leaves it out.
        private func changing(_ stream: CodedStream, _ change: ([UInt8]) throws -> [UInt8]?) throws -> CodedStream {
            var changed = stream
            for index in stream.units.indices {
                var units = try LengthPrefixedNALUnits(stream.units[index].bytes[...])
                var bytes: [UInt8] = []
                while let nal = try units.next() {
                    guard let kept = nal.first == 0x7C ? try change(Array(nal)) : Array(nal) else { continue }
                    bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: kept.count >> $0) } + kept
                }
                changed.units[index].bytes = bytes
            }
            return changed
        }

        /// A decoded picture as the reference converter reads it.
        private func picture(_ frame: DecodedSamples) -> Picture {
            let (width, height) = (Int(frame.description.width), Int(frame.description.height))
            var picture = Picture(frame.description.format, width: width, height: height)
            var start = 0
            for plane in picture.planes.indices {
                let count = picture.planes[plane].count
                picture.planes[plane] = Array(frame.samples[start..<start + count])
                start += count
            }
            return picture
        }

        @Test("An iPhone's pictures are mapped as the reference maps them, in HLG without the property")
        func mapsPictures() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(Self.iPhone)
            let (mapped, coded) = (
                try decode(server, stream, .rgba16f, Self.applied), try decode(server, stream, .i010)
            )
            #expect(mapped.frames.count == 5 && coded.frames.count == 5 && mapped.reports.isEmpty)
            for (result, source) in zip(mapped.frames, coded.frames) {
                #expect(result.description.flags.contains(.metadataApplied))
                #expect(!source.description.flags.contains(.metadataApplied))
                #expect(
                    result.description.color
                        == ColorDescription(primaries: 9, transfer: 8, matrix: 0, isFullRange: true))
                let rpu = try #require(source.description.sideData.first { $0.kind == .dolbyVisionRPU })
                var history = MappingHistory()
                let image = { (format: PixelFormat, transfer: TransferFunction) in
                    ImageDescription(
                        format: format, width: 1280, height: 720,
                        signal: SignalDescription(primaries: .bt2020, transfer: transfer, matrix: .bt2020))
                }
                let reference = try ReferenceConverter(
                    Conversion(
                        source: image(.i010, .pq), target: image(.rgba16f, .linear),
                        options: ConversionOptions(mapping: try history.mapping(rpu: rpu.bytes))))
                let (read, written) = (picture(source), picture(result))
                var worst = 0.0
                for index in stride(from: 0, to: 1280 * 720, by: 613) {
                    let (x, y) = (index % 1280, index / 1280)
                    let wanted = reference.plan.convert(reference.components(read, x, y).codes, alpha: 1).codes
                    for component in 0..<3 {
                        let codes = [wanted[component], Half.value(UInt16(written[component, x, y]))].map {
                            TransferFunction.pq.encode(max($0 * 203, 0.005) / 10000) * 1023
                        }
                        worst = max(worst, abs(codes[0] - codes[1]))
                    }
                }
                #expect(worst <= 0.1, "\(worst) codes of PQ")
            }
            let plain = try decode(server, stream)
            #expect(plain.frames.allSatisfy { !$0.description.flags.contains(.metadataApplied) })
            #expect(zip(plain.frames, mapped.frames).allSatisfy { $0 != $1 })
        }

        @Test(
            "Pictures without an RPU, and those whose RPU cannot be applied, are converted as without the property")
        func withoutAMapping() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(Self.iPhone)
            let plain = try decode(server, stream, .rgba16f, [.destinationColorPrimaries: .int(9)]).frames
            let bare = try decode(server, try changing(stream) { _ in nil }, .rgba16f, Self.applied)
            #expect(bare.frames == plain && bare.reports.isEmpty)
            #expect(bare.frames.allSatisfy { !$0.description.flags.contains(.metadataApplied) })
            let refused: [(reason: String, change: ([UInt8]) throws -> [UInt8])] = [
                ("damaged", { Array($0.prefix(40)) }),
                ("damaged", { _ in [0x7C, 0x01] }),
                ("damaged", { nal in nal.indices.map { $0 == 60 ? nal[$0] ^ 0x40 : nal[$0] } }),
                (
                    "enhancement layer",
                    { nal in
                        var rpu = try DolbyVisionRPU(nal: nal)
                        rpu.header.sequenceInfo?.depths?.elSpatialResamplingFilterFlag = true
                        rpu.header.sequenceInfo?.depths?.disableResidualFlag = false
                        if case .coded(var mapping) = rpu.mapping {
                            mapping.residual = RPUResidual()
                            rpu.mapping = .coded(mapping)
                        }
                        return try rpu.nalUnit()
                    }
                ),
                (
                    "8 bits",
                    { nal in
                        var rpu = try DolbyVisionRPU(nal: nal)
                        rpu.header.sequenceInfo?.depths?.blBitDepthMinus8 = 0
                        if case .coded(var mapping) = rpu.mapping {
                            mapping.curves = RPUMapping.identity.curves
                            for index in 0..<3 { mapping.curves[index].pivots = [0, 255] }
                            rpu.mapping = .coded(mapping)
                        }
                        return try rpu.nalUnit()
                    }
                ),
            ]
            for (reason, change) in refused {
                let decoder = try decode(server, try changing(stream, change), .rgba16f, Self.applied)
                #expect(decoder.frames == plain, "\(reason)")
                #expect(decoder.frames.allSatisfy { !$0.description.flags.contains(.metadataApplied) })
                #expect(decoder.reports.count == 5, "\(reason)")
                for report in decoder.reports {
                    #expect(report.flags == .metadataNotApplied && report.status == .pixelTransferNotSupported)
                    #expect(report.reason.contains(reason), "\(report.reason)")
                }
            }
        }

        @Test("The property applies to the packets that follow it, and Y'CbCr is never mapped")
        func changesInAnOpenSession() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(Self.iPhone)
            let decoder = try Decoder(
                server.daemon, stream, pixelFormat: .rgba16f, specification: [.enableHardwareDecoder: .bool(false)])
            for (index, unit) in stream.units.enumerated() {
                if index == 3 { try decoder.session.setProperties([.appliesHDRMetadata: .bool(true)]) }
                try decoder.decode(unit, isAsynchronous: false)
            }
            try decoder.finish()
            #expect(decoder.frames.count { $0.description.flags.contains(.metadataApplied) } == 2)
            let coded = try decode(server, stream, .i010, [.appliesHDRMetadata: .bool(true)])
            #expect(try coded.frames == decode(server, stream, .i010).frames && coded.reports.isEmpty)
        }

        /// HLG codes and their light of BT.2020 in cd/m², by NumPy (`scripts/check-mapping`).
        static let patches: [(codes: FlatClip.Codes, light: Triple)] = [
            ([502, 512, 512], [52.0573539593, 51.3235495531, 56.5987115945]),
            ([721, 512, 512], [206.014021944, 207.39412854, 234.097253184]),
            ([874, 512, 512], [612.534900138, 623.347491867, 666.488434787]),
            ([600, 450, 600], [184.686770365, 74.4910036027, 55.4907406728]),
        ]

        /// From light of BT.2020 to pictures for viewers: BT.2390 from the RPU's peak, 1000 cd/m², to 203.
        static func viewerPlan() throws -> ConversionPlan {
            func image(_ format: PixelFormat, _ signal: SignalDescription) -> ImageDescription {
                ImageDescription(
                    format: format, width: FlatClip.side * patches.count, height: FlatClip.side, signal: signal)
            }
            return try ConversionPlan(
                Conversion(
                    source: image(.rgba16f, SignalDescription(primaries: .bt2020, transfer: .linear)),
                    target: image(.rgba8, SignalDescription(transfer: .sRGB)),
                    options: ConversionOptions(targetHeadroom: 1, masteringPeak: 1000)))
        }

        @Test("hwctl decode --apply-rpu gives an iPhone's light, and tone-mapped pictures of it")
        func commandLine() throws {
            let server = try TestDaemon()
            let folder = server.folder
            func hwctl(_ arguments: String...) throws -> [String: Any] {
                let run = try Programs.hwctl(arguments, socket: server.socket)
                try #require(run.status == 0, "\(arguments): \(run.errors)")
                return try #require(try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            }
            try FlatClip.write(Self.patches.map(\.codes), .hlg, to: folder.path("hlg.mov"), in: folder)
            _ = try hwctl(
                "encode", "--json", "--hdr", "regenerate", "--preset", "ultrafast", "--qp", "1",
                folder.path("hlg.mov"),
                folder.path("dv.mov"))
            let light = try hwctl(
                "decode", "--json", "--apply-rpu", "--format", "rgba16f", "--primaries", "2020",
                folder.path("dv.mov"),
                folder.path("o.raw"))
            let viewer = try hwctl(
                "decode", "--json", "--apply-rpu", folder.path("dv.mov"), folder.path("o-%d.png"))
            for document in [light, viewer] {
                #expect(document["rpu_applied_frames"] as? Int == 3 && document["rpu_refused_frames"] as? Int == 0)
            }
            let without = try hwctl("decode", "--json", "--apply-rpu", folder.path("hlg.mov"), folder.path("n.png"))
            #expect(without["rpu_applied_frames"] as? Int == 0)

            let halves = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path("o.raw"))))
            let pixels = try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", folder.path("o-1.png"), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
            ).output
            let plan = try Self.viewerPlan()
            let width = FlatClip.side * Self.patches.count
            for (index, patch) in Self.patches.enumerated() {
                let pixel = FlatClip.side / 2 * width + FlatClip.side * index + FlatClip.side / 2
                let codes = plan.convert(patch.light / 203, alpha: 1).codes
                for component in 0..<3 {
                    let at = pixel * 8 + component * 2
                    let half = Half.value(UInt16(halves[at]) | UInt16(halves[at + 1]) << 8)
                    let pq = [half * 203, patch.light[component]].map {
                        TransferFunction.pq.encode($0 / 10000) * 1023
                    }
                    #expect(abs(pq[0] - pq[1]) <= 1, "\(patch): \(pq)")
                    let shown = Double(pixels[pixel * 3 + component])
                    #expect(abs(shown - min(max(codes[component], 0), 255)) <= 1.5, "\(patch): \(shown), \(codes)")
                }
            }
        }

        @Test("What --apply-rpu cannot do is refused")
        func refusals() throws {
            let server = try TestDaemon()
            func status(_ arguments: String...) throws -> Int32? {
                try Programs.hwctl(["decode", "--apply-rpu"] + arguments, socket: server.socket).status
            }
            #expect(try status(Self.iPhone, server.folder.path("a.y4m")) == 64)
            #expect(try status("--raw-color", Self.iPhone, server.folder.path("a.png")) == 64)
            #expect(try status("--format", "nv12", Self.iPhone, server.folder.path("a.yuv")) == 64)
            let other = Clips.fixture("vp8_vorbis.webm").path
            #expect(try status("--format", "rgba16f", other, server.folder.path("a.raw")) == 69)
            #expect(!FileManager.default.fileExists(atPath: server.folder.path("a.raw")))
        }
    }
}
