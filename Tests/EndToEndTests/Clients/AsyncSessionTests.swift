// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// HWClient's sessions for tasks.
    @Suite struct AsyncSessions {
        static let (width, height) = (128, 96)

        static func compression(
            _ server: TestDaemon, _ format: PixelFormat = .nv12, codec: String = "hevc",
            properties: [PropertyKey: PropertyValue] = [:], timeout: Duration = hangLimit
        ) async throws -> AsyncCompressionSession {
            try await AsyncCompressionSession(
                server.daemon,
                CreateCompressionSession.Parameters(
                    codec: codec, width: width, height: height, pixelFormat: format,
                    timeBase: try #require(Rational(1, 30)),
                    properties: properties.merging([.x265Preset: .string("ultrafast")]) { $1 }),
                timeout: timeout)
        }

        static func pictures(_ count: Int, _ format: PixelFormat = .nv12, in server: TestDaemon) throws -> RawFrames
        {
            try RawFrames(format, width: width, height: height, count: count, in: server.folder)
        }

        @Test("Sixty frames of a task are packets that ffmpeg decodes to the same pictures")
        func sixtyFrames() async throws {
            let server = try TestDaemon()
            let raw = try Self.pictures(60, in: server)
            let session = try await Self.compression(server, properties: [.quality: .double(0.9)])
            let record = try await session.prepare()
            let packets = try await encode(raw.frames, to: session)
            #expect(packets.count == 60)
            #expect(packets.first?.newFormatDescription == record)
            #expect(packets.dropFirst().allSatisfy { $0.newFormatDescription == nil })
            #expect(packets.map(\.pts).sorted() == Array(0..<60))
            #expect(packets.allSatisfy { $0.dts <= $0.pts && $0.duration == 1 })
            #expect(packets.first?.isSync == true)

            let path = server.folder.path("out.hevc")
            try Data(try packets.flatMap { try $0.byteStream }).write(to: URL(fileURLWithPath: path))
            #expect(try Probe(path).frameTimes().count == 60)
            #expect(try Probe(path).decodingMessages() == "")
            #expect(try psnr(["-i", path], raw.ffmpegInput, as: "yuv420p") >= 35)
        }

        @Test("Packets decode to the pictures that ffmpeg decodes, and the buffers outlive the session")
        func decoding() async throws {
            let server = try TestDaemon()
            let raw = try Self.pictures(12, in: server)
            let packets = try await encode(raw.frames, to: try await Self.compression(server))
            let path = server.folder.path("out.hevc")
            try Data(try packets.flatMap { try $0.byteStream }).write(to: URL(fileURLWithPath: path))
            let expected = try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", path, "-pix_fmt", "nv12", "-f", "rawvideo", "-"]
            ).output

            let means = try await decode(packets, on: server.daemon)
            #expect(means.count == 12)
            let size = Self.width * Self.height
            for (number, mean) in means.enumerated() {
                let luma = expected[number * size * 3 / 2..<number * size * 3 / 2 + size]
                #expect(mean == Double(luma.reduce(0) { $0 + Int($1) }) / Double(size))
            }
            let kept = try await lastFrame(of: packets, on: server.daemon)
            #expect(server.hasNoWorkers())
            #expect(!kept.buffer.isWritable)
            #expect(kept.pts == 11)
            #expect(Self.samples(kept.buffer) == Array(expected.suffix(size * 3 / 2)))
        }

        private func lastFrame(
            of packets: [AsyncCompressionSession.Packet], on daemon: Daemon
        ) async throws -> AsyncDecompressionSession.Frame {
            let session = try await AsyncDecompressionSession(
                daemon,
                CreateDecompressionSession.Parameters(
                    formatDescription: try #require(packets.first?.newFormatDescription),
                    timeBase: try #require(Rational(1, 30)), pixelFormat: .nv12))
            async let last = session.frames.reduce(nil as AsyncDecompressionSession.Frame?) { $1 }
            for packet in packets { try await session.decode(packet.bytes, pts: packet.pts) }
            try await session.finish()
            let frame = try await last
            #expect(await session.takeReports().isEmpty)
            return try #require(frame)
        }

        /// A buffer's samples without padding.
        static func samples(_ buffer: PixelBuffer) -> [UInt8] {
            buffer.withPlanes { planes in
                planes.flatMap { plane in (0..<plane.rowCount).flatMap { Array(plane[$0]) } }
            }
        }

        @Test("A damaged packet is reported, and its pictures are marked")
        func damage() async throws {
            let server = try TestDaemon()
            let raw = try Self.pictures(8, in: server)
            let packets = try await encode(
                raw.frames,
                to: try await Self.compression(server, properties: [.allowFrameReordering: .bool(false)]))
            let session = try await AsyncDecompressionSession(
                server.daemon,
                CreateDecompressionSession.Parameters(
                    formatDescription: try #require(packets.first?.newFormatDescription),
                    timeBase: try #require(Rational(1, 30))))
            #expect(await Self.status { try await session.decode([], pts: 0) } == .parameter)
            async let frames = session.frames.reduce(into: [:]) { $0[$1.pts] = $1.isDamaged }
            for (number, packet) in packets.enumerated() {
                try await session.decode(
                    number == 3 ? Array(packet.bytes.prefix(8)) : packet.bytes, pts: packet.pts)
            }
            try await session.finish()
            let marks = try await frames
            #expect(marks[2] == false && marks[5] == true)
            #expect(await session.takeReports().contains { $0.status == .videoDecoderBadData })
        }

        @Test("Alpha and the metadata of a frame reach the packets and come back")
        func metadata() async throws {
            let server = try TestDaemon()
            let session = try await Self.compression(
                server, .yuva, codec: "hevc-with-alpha", properties: [.alphaChannelMode: .string("straight")])
            async let received = collect(session.packets)
            for number in 0..<4 {
                let buffer = try await session.makePixelBuffer()
                try buffer.withMutablePlanes { planes in
                    for (plane, byte) in zip(planes, [100, 128, 128, 64] as [UInt8]) { plane.fill(with: byte) }
                }
                try await encodeKeyFrame(
                    buffer, at: Int64(number), brighterThan: [0x03, 0xE8, 0x01, 0x90], to: session)
            }
            try await session.finish()
            let packets = try await received
            #expect(packets.count == 4)
            #expect(packets.allSatisfy { $0.isSync })
            // Payload type 144 with 4 bytes (H.265, D.2.35).
            #expect(packets.allSatisfy { $0.bytes.contains([0x90, 0x04, 0x03, 0xE8, 0x01, 0x90]) })

            let decoder = try await AsyncDecompressionSession(
                server.daemon,
                CreateDecompressionSession.Parameters(
                    formatDescription: try #require(packets.first?.newFormatDescription),
                    timeBase: try #require(Rational(1, 30)), pixelFormat: .yuva))
            async let alphas = decoder.frames.reduce(into: [UInt8]()) { values, frame in
                #expect(frame.hasAlpha)
                #expect(frame.description.sideData.contains { $0.kind == .contentLight })
                values.append(frame.buffer.withPlanes { $0[3][40][60] })
            }
            for packet in packets { try await decoder.decode(packet.bytes, pts: packet.pts) }
            try await decoder.finish()
            let values = try await alphas
            #expect(values.count == 4)
            #expect(values.allSatisfy { abs(Int($0) - 64) <= 2 }, "\(values)")
        }

        @Test("Frames are converted by several tasks at once, and a decoder's picture in place")
        func conversion() async throws {
            let server = try TestDaemon()
            let session = try await AsyncTransferSession(
                server.daemon,
                CreateTransferSession.Parameters(
                    width: 64, height: 48,
                    source: .init(pixelFormat: "NV12", primaries: "709", transfer: "bt1886", matrix: "709"),
                    target: .init(pixelFormat: "AB24", primaries: "709", transfer: "bt1886"), device: "cpu"))
            let grays: [Int: UInt8] = try await withThrowingTaskGroup(of: (Int, UInt8).self) { group in
                for luma in [16, 71, 126, 181, 235] {
                    group.addTask {
                        let buffer = try await session.convert { planes in
                            planes[0].fill(with: UInt8(luma))
                            planes[1].fill(with: 128)
                        }
                        return (luma, buffer.withPlanes { $0[0][20][4 * 30] })
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            // Video range to full range (H.273, 8.3).
            for (luma, gray) in grays { #expect(abs(Int(gray) - (luma - 16) * 255 / 219) <= 1, "\(luma): \(gray)") }
            #expect(grays.count == 5)

            let wrong = ColorDescription(primaries: 9, transfer: 16, matrix: 14)
            #expect(
                await Self.status { _ = try await session.convert(color: wrong) { _ in } }
                    == .pixelTransferNotSupported)

            let raw = try Self.pictures(3, in: server)
            let packets = try await encode(raw.frames, to: try await Self.compression(server))
            let light = try await linearLight(
                of: try await lastFrame(of: packets, on: server.daemon), on: server.daemon)
            #expect(light.format == .rgba16f && light.width == Self.width && light.isWritable)
            let samples = Self.samples(light)
            #expect(samples.count == Self.width * Self.height * 8)
            #expect(Set(samples).count > 16)
        }

        /// The status of the error that is thrown.
        static func status(_ body: () async throws -> Void) async -> Status? {
            do {
                try await body()
                return nil
            } catch { return (error as? ClientError)?.status }
        }
    }
}
