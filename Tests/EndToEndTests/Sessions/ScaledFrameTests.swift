// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDEncoderTesting
import HWDModel
import HWDWire
import Testing

extension EndToEnd {
    /// Compression sessions that scale their frames themselves.
    @Suite struct ScaledFrames {
        private static let (width, height, count) = (80, 45, 12)
        private static let from = (width: 192, height: 108)

        /// A conversion, as a source of frames and as a transfer session does it.
        struct Case: CustomTestStringConvertible {
            var format: PixelFormat
            var coded: PixelFormat
            var source = CreateCompressionSession.Source(width: from.width, height: from.height)
            var properties: [PropertyKey: PropertyValue] = [:]
            var alpha = "premultiplied"

            var testDescription: String {
                "\(format.rawValue) \(source.scalingMode ?? "") \(source.scalingLight ?? "") \(alpha)"
            }

            /// The colors of the RGB frames are the stream's, in sRGB.
            var images: (CreateTransferSession.Image, CreateTransferSession.Image) {
                typealias Image = CreateTransferSession.Image
                let from = Image(pixelFormat: format.rawValue, alpha: format.hasAlpha ? alpha : nil)
                // Streams of RGB are BT.709's, whatever their size; those of Y'CbCr have the frames' color.
                let small = !format.isRGB
                return (
                    from,
                    Image(
                        pixelFormat: coded.rawValue, primaries: small ? nil : "709", matrix: small ? nil : "709",
                        alpha: coded.hasAlpha ? alpha : nil)
                )
            }

            var options: CreateTransferSession.Options {
                var options = CreateTransferSession.Options()
                options.scalingFilter = source.scalingFilter
                options.scalingLight = source.scalingLight
                options.scalingMode = source.scalingMode
                options.cleanAperture = source.cleanAperture
                return options
            }
        }

        static var cases: [Case] {
            typealias Source = CreateCompressionSession.Source
            let (w, h) = (from.width, from.height)
            let straight: [PropertyKey: PropertyValue] = [.alphaChannelMode: .string("straight")]
            return [
                Case(format: .nv12, coded: .nv12), Case(format: .i010, coded: .i010),
                Case(format: .p010, coded: .p010, source: Source(width: w, height: h, scalingFilter: "bilinear")),
                Case(format: .yu12, coded: .yu12, source: Source(width: w, height: h, scalingLight: "linear")),
                Case(
                    format: .nv12, coded: .nv12,
                    source: Source(width: w, height: h, cleanAperture: "100x80+10+8", scalingMode: "Letterbox")),
                Case(
                    format: .yu12, coded: .yu12,
                    source: Source(
                        width: w, height: h, cleanAperture: "80x45+16+20", scalingMode: "CropSourceToCleanAperture")
                ),
                Case(format: .i010, coded: .i010, source: Source(width: w, height: h, scalingMode: "Trim")),
                Case(format: .yuva, coded: .yuva),
                Case(format: .yuva, coded: .yuva, properties: straight, alpha: "straight"),
                Case(format: .rgba8, coded: .nv12), Case(format: .bgra8, coded: .yuva),
                Case(format: .rgba8, coded: .yuva, properties: straight, alpha: "straight"),
                Case(format: .rgba16f, coded: .p010),
            ]
        }

        private static func properties(_ more: [PropertyKey: PropertyValue] = [:]) -> [PropertyKey: PropertyValue] {
            // One thread codes the same packets each time.
            [
                .x265Preset: .string("ultrafast"), .x265Params: .string("pools=none:frame-threads=1"),
                .pixelTransferDevicePreference: .string("cpu"),
            ].merging(more) { $1 }
        }

        /// What an encoder makes of frames.
        private func packets(_ encoder: Encoder, _ frames: [[UInt8]]) throws -> [Coded] {
            for frame in frames { try encoder.encode(frame) }
            try encoder.finish()
            return encoder.coded
        }

        /// A moving picture; half floats are light up to 1.25, whose codes ffmpeg does not write.
        private func frames(_ format: PixelFormat, in folder: Scratch) throws -> [[UInt8]] {
            let raw = try RawFrames(
                format == .rgba16f ? .rgba8 : format, width: Self.from.width, height: Self.from.height,
                count: Self.count, in: folder)
            guard format == .rgba16f else { return raw.frames }
            return raw.frames.map { frame in
                frame.flatMap { byte -> [UInt8] in
                    let bits = Float16(Float(byte) / 204).bitPattern
                    return [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)]
                }
            }
        }

        @Test(
            "Packets are those of a session that gets a transfer session's frames",
            arguments: sampled(cases.indices, oneIn: 3))
        func equalsTransfer(index: Int) throws {
            let server = try TestDaemon()
            let own = Self.cases[index]
            let source = try frames(own.format, in: server.folder)
            let codec = own.coded.hasAlpha ? "hevc-with-alpha" : "hevc"
            let scaling = try Encoder(
                server.daemon, own.format, width: Self.width, height: Self.height, codec: codec,
                source: own.source, properties: Self.properties(own.properties))
            let ours = try packets(scaling, source)
            let device = try scaling.session.copyProperties([.pixelTransferDevice])[.pixelTransferDevice]
            #expect("\(try #require(device))".contains("CPU"))

            let (from, to) = own.images
            let transferer = try Transferer(
                server.daemon, from, to, width: Self.from.width, height: Self.from.height,
                targetWidth: Self.width, targetHeight: Self.height, options: own.options)
            let frames = try source.map { try transferer.convertPacked($0) }
            let plain = try Encoder(
                server.daemon, own.coded, width: Self.width, height: Self.height, codec: codec,
                properties: Self.properties(own.properties))
            let theirs = try packets(plain, frames)
            #expect(ours.count == Self.count && ours == theirs)
            // RGB is signaled as BT.709; Y'CbCr as the session without a source signals it.
            if own.format.isYCbCr { #expect(scaling.record == plain.record) }
            let file = server.folder.path("scaled.mov")
            try scaling.write(to: file)
            #expect(try Probe(file).decodingMessages() == "")
            #expect(try Probe(file).frameTimes().count == Self.count)
        }

        @Test("A session with a source of its pictures' size codes its frames as they are")
        func sameSize() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.yu12, width: 64, height: 48, count: 4, in: server.folder)
            let source = CreateCompressionSession.Source(width: 64, height: 48)
            let scaling = try Encoder(
                server.daemon, .yu12, width: 64, height: 48, source: source, properties: Self.properties())
            let plain = try Encoder(server.daemon, .yu12, width: 64, height: 48, properties: Self.properties())
            #expect(try packets(scaling, raw.frames) == packets(plain, raw.frames))
        }

        @Test("lavapipe scales in the encoder's process, too")
        func vulkan() throws {
            let state = try Scratch()
            let server = try TestDaemon(
                environment: FakeVulkan.environment(manifest: FakeVulkan.lavapipe(), in: state))
            let raw = try RawFrames(.nv12, width: 192, height: 108, count: 3, in: server.folder)
            let encoder = try Encoder(
                server.daemon, .nv12, width: 96, height: 54,
                source: CreateCompressionSession.Source(width: 192, height: 108),
                properties: Self.properties([.pixelTransferDevicePreference: .string("vulkan")]))
            #expect(try packets(encoder, raw.frames).count == 3)
            let device = try encoder.session.copyProperties([.pixelTransferDevice])[.pixelTransferDevice]
            #expect("\(try #require(device))".contains("llvmpipe"))
        }

        @Test("A session whose process is killed continues with frames of the source's size")
        func replays() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.nv12, width: 192, height: 108, count: 30, in: server.folder)
            let encoder = try Encoder(
                server.daemon, .nv12, width: 96, height: 54, slots: 16,
                source: CreateCompressionSession.Source(width: 192, height: 108),
                properties: Self.properties([.averageBitRate: .int(400_000)]))
            for (index, frame) in raw.frames.enumerated() {
                try encoder.encode(frame)
                guard index == 20 else { continue }
                let sessions = try server.daemon.call(ListSessions.self, Empty()).sessions
                let own = try #require(sessions.first { $0.session == encoder.id })
                #expect((own.width, own.height) == (96, 54))
                #expect(kill(own.pid, SIGKILL) == 0)
            }
            try encoder.finish()
            #expect(encoder.session.restartCount == 1)
            #expect(encoder.coded.map(\.description.pts).sorted() == (0..<30).map { Int64($0) })
            let file = server.folder.path("scaled.mov")
            try encoder.write(to: file)
            #expect(try Probe(file).decodingMessages() == "")
            #expect(try Probe(file).size == (96, 54))
            #expect(try Probe(file).frameTimes().count == 30)
        }

        @Test("Impossible sizes, parts and names are refused at Create")
        func refuses() throws {
            typealias Source = CreateCompressionSession.Source
            let server = try TestDaemon()
            func status(_ source: Source, _ properties: [PropertyKey: PropertyValue] = [:]) -> Status? {
                sessionError {
                    _ = try Encoder(
                        server.daemon, .nv12, width: 64, height: 48, slots: 1, source: source,
                        properties: properties)
                }?.status
            }
            for (width, height) in [
                (0, 48), (48, 0), (-64, 48), (.min, .max), (513, 48), (64, 385), (7, 48), (64, 5), (16385, 48),
                (16384, 16384),
            ] {
                let error = sessionError {
                    _ = try CompressionSession(
                        server.daemon, Self.parameters(Source(width: width, height: height)))
                }
                #expect(error?.status == .parameter, "\(width)x\(height)")
            }
            #expect(status(Source(width: 512, height: 6)) == nil)
            #expect(status(Source(width: 128, height: 96, cleanAperture: "129x96+0+0")) == .parameter)
            #expect(status(Source(width: 64, height: 48, cleanAperture: "64", scalingMode: "Trim")) == .parameter)
            #expect(status(Source(width: 64, height: 48, scalingFilter: "nearest")) == .parameter)
            #expect(status(Source(width: 64, height: 48, scalingLight: "")) == .parameter)
            #expect(status(Source(width: 64, height: 48, scalingMode: "normal")) == .parameter)
            #expect(status(Source(width: 128, height: 96), [.fieldCount: .int(2)]) == .parameter)
            #expect(
                status(Source(width: 128, height: 96), [.yCbCrMatrix: .string("SMPTE_240M_1995")])
                    == .pixelTransferNotSupported)
        }

        private static func parameters(
            _ source: CreateCompressionSession.Source
        ) throws -> CreateCompressionSession.Parameters {
            var parameters = CreateCompressionSession.Parameters(
                width: 64, height: 48, pixelFormat: .nv12, timeBase: try #require(Rational(1, 30)))
            parameters.source = source
            return parameters
        }

        @Test("A frame of the pictures' size in a session of larger frames ends it")
        func refusesSmallFrames() throws {
            let server = try TestDaemon()
            let session = try CompressionSession(
                server.daemon, Self.parameters(CreateCompressionSession.Source(width: 128, height: 96)))
            let pool = try FramePool(slotSize: FrameLayout.packed(.nv12, width: 64, height: 48).size, slotCount: 1)
            try session.addPool(pool, id: 1)
            let error = sessionError {
                try session.encode(
                    EncodeFrame(
                        frameID: 1, pts: 0, duration: 1, poolID: 1,
                        layout: FrameLayout.packed(.nv12, width: 64, height: 48).layout))
                while try session.nextEvent(timeout: hangLimit) != nil {}
            }
            #expect(error?.status == .parameter)
        }

        /// What a session is granted at its start.
        private func granted(_ server: TestDaemon, _ source: CreateCompressionSession.Source?) throws -> UInt64 {
            let encoder = try Encoder(
                server.daemon, .nv12, width: 960, height: 540, slots: 1, source: source,
                properties: Self.properties())
            return try #require(try server.session(encoder.id).grantedBytes)
        }

        @Test("The converter's half floats count at Create")
        func memory() throws {
            let server = try TestDaemon()
            let picture = UInt64(FrameLayout.packed(.nv12, width: 960, height: 540).size)
            let plain = try granted(server, nil)
            typealias Source = CreateCompressionSession.Source
            #expect(try granted(server, Source(width: 1920, height: 1080)) == plain + picture)
            #expect(
                try granted(server, Source(width: 1920, height: 1080, scalingLight: "linear"))
                    == plain + picture + 8 * 1920 * 1080)
        }
    }
}
