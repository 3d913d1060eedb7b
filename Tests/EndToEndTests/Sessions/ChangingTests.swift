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
    /// Sessions that are completed, or whose properties change, in the middle of a stream.
    @Suite struct Changing {
        /// A kind of stream, in software or on a simulated driver.
        struct Kind: Sendable, CustomTestStringConvertible {
            var name: String
            var personality: String?
            var hasAlpha = false
            var properties: [PropertyKey: PropertyValue] = [:]

            var testDescription: String { "\(name), \(personality ?? "x265")" }

            func daemon(_ state: Scratch) throws -> TestDaemon {
                guard let personality else { return try TestDaemon() }
                return try SimulatedDriver.verifiedDaemon(personality, state: state)
            }

            func encoder(
                _ daemon: Daemon, width: Int = 320, height: Int = 192,
                _ more: [PropertyKey: PropertyValue] = [:]
            ) throws -> Encoder {
                var all = properties.merging(more) { $1 }
                if personality == nil { all[.x265Preset] = all[.x265Preset] ?? .string("ultrafast") }
                let encoder = try Encoder(
                    daemon, hasAlpha ? .yuva : .yu12, width: width, height: height,
                    codec: hasAlpha ? "hevc-with-alpha" : "hevc", properties: all)
                #expect(encoder.session.created.usingHardware == (personality != nil))
                return encoder
            }
        }

        static let levels: [PropertyKey: PropertyValue] = [
            .baseLayerFrameRate: .double(7.5), .expectedFrameRate: .int(30),
        ]

        static let kinds = [nil, "full"].flatMap { personality in
            [
                Kind(name: "plain", personality: personality),
                Kind(name: "alpha", personality: personality, hasAlpha: true),
                Kind(name: "levels", personality: personality, properties: levels),
                Kind(name: "alpha with levels", personality: personality, hasAlpha: true, properties: levels),
            ]
        }

        /// Checks that each of `count` frames is in the stream once, that decoding times rise, and that ffmpeg decodes all
        /// frames, and libde265 the same samples, without a message.
        static func check(_ encoder: Encoder, _ count: Int, _ folder: Scratch) throws {
            #expect(encoder.coded.map(\.description.pts).sorted() == (0..<Int64(count)).map { $0 })
            #expect(
                zip(encoder.coded, encoder.coded.dropFirst()).allSatisfy { $0.description.dts < $1.description.dts }
            )
            #expect(encoder.coded.allSatisfy { $0.description.dts <= $0.description.pts })
            if encoder.records.count == 1 {
                let path = folder.path("changed.mov")
                try encoder.write(to: path)
                #expect(try Probe(path).decodingMessages() == "")
            }
            // Each layer with one copy of the parameter sets of each format description.
            let packets = try encoder.coded.enumerated().map { (index, coded) in
                guard index > 0, let record = encoder.records[index] else { return coded.bytes }
                let sets = try DecoderConfigurationRecord(bytes: record).nalUnits
                return sets.flatMap { unit in (0..<4).map { UInt8(unit.count >> (24 - 8 * $0) & 255) } + unit }
                    + coded.bytes
            }
            let layers = try Alpha.Layers(record: try #require(encoder.records[0]), packets: packets)
            for layer in 0...(encoder.format == .yuva ? 1 : 0) {
                let (stream, output) = (folder.path("layer.hevc"), folder.path("libde265.yuv"))
                try Data(try layers.stream(layer)).write(to: URL(fileURLWithPath: stream))
                let ffmpeg = try Programs.tool(
                    "ffmpeg",
                    [
                        "-v", "error", "-i", stream, "-f", "rawvideo", "-fps_mode", "passthrough", "-",
                    ])
                #expect(ffmpeg.errors == "")
                #expect(ffmpeg.output.count == count * encoder.width * encoder.height * 3 / 2)
                try Programs.tool("libde265-dec265", ["-q", "-o", output, stream])
                let isSame = try Data(contentsOf: URL(fileURLWithPath: output)).elementsEqual(ffmpeg.output)
                #expect(isSame, "libde265 and ffmpeg differ on layer \(layer)")
            }
        }

        @Test(
            "Three calls of CompleteFrames in the middle lose and repeat no frame",
            arguments: sampled(kinds, oneIn: 3))
        func completions(_ kind: Kind) throws {
            let state = try Scratch()
            let server = try kind.daemon(state)
            let encoder = try kind.encoder(server.daemon)
            let raw = try RawFrames(encoder.format, width: 320, height: 192, count: 30, in: server.folder)
            for (index, frame) in raw.frames.enumerated() {
                try encoder.encode(frame)
                if [7, 8, 19].contains(index) {
                    try encoder.finish()
                    #expect(encoder.coded.count == index + 1)
                }
            }
            try encoder.finish()
            #expect(encoder.records.count == 1)
            try Self.check(encoder, 30, server.folder)
        }

        @Test("CompleteFrames up to a frame whose packet came leaves the encoder alone")
        func completeUntil() throws {
            let server = try TestDaemon()
            let kind = Kind(name: "plain")
            let encoder = try kind.encoder(server.daemon)
            let raw = try RawFrames(.yu12, width: 320, height: 192, count: 30, in: server.folder)
            for frame in raw.frames { try encoder.encode(frame) }
            while encoder.coded.isEmpty { try #require(try encoder.pump()) }
            let first = try #require(encoder.coded.first?.description.pts)
            try encoder.session.complete(until: first)
            while !encoder.isCompleted { try #require(try encoder.pump()) }
            #expect(encoder.coded.count < 30)
            try encoder.finish()
            // A flush of x265 would have made a key frame of a later frame.
            #expect(encoder.coded.filter { $0.description.flags.contains(.sync) }.count == 1)
            try Self.check(encoder, 30, server.folder)
        }

        @Test("Rate and quality change in the middle", arguments: sampled(kinds, oneIn: 3))
        func changes(_ kind: Kind) throws {
            let state = try Scratch()
            let server = try kind.daemon(state)
            let encoder = try kind.encoder(server.daemon, [.averageBitRate: .int(2_000_000)])
            let raw = try RawFrames(
                encoder.format, width: 320, height: 192, count: 40, noise: true, in: server.folder)
            for (index, frame) in raw.frames.enumerated() {
                if index == 13 { try encoder.session.setProperties([.averageBitRate: .int(150_000)]) }
                if index == 27 {
                    try encoder.session.setProperties([
                        .averageBitRate: .null, .quality: .double(0.8), .maxKeyFrameInterval: .int(8),
                    ])
                }
                try encoder.encode(frame)
            }
            let error = try #require(
                sessionError { try encoder.session.setProperties([.allowOpenGOP: .bool(false)]) })
            #expect(error.status == .propertyReadOnly && error.reason.contains("AllowOpenGOP"))
            try encoder.finish()
            let sizes = encoder.coded.sorted { $0.description.pts < $1.description.pts }.map(\.bytes.count)
            #expect(sizes[20..<27].reduce(0, +) < sizes[6..<13].reduce(0, +), "\(sizes)")
            #expect(sizes[20..<27].reduce(0, +) < sizes[28..<35].reduce(0, +), "\(sizes)")
            try Self.check(encoder, 40, server.folder)
        }

        @Test("Packets that need another format description follow it, also those of a flush")
        func describesAHigherLevel() throws {
            let server = try TestDaemon()
            let encoder = try Kind(name: "plain").encoder(server.daemon, [.averageBitRate: .int(1_000_000)])
            let raw = try RawFrames(.yu12, width: 320, height: 192, count: 12, in: server.folder)
            for (index, frame) in raw.frames.enumerated() {
                if index == 10 { try encoder.session.setProperties([.averageBitRate: .int(90_000_000)]) }
                try encoder.encode(frame)
            }
            try encoder.finish()
            #expect(encoder.records.keys.sorted() == [0, 10])
            let levels = try [0, 10].map { index in
                try DecoderConfigurationRecord(bytes: try #require(encoder.records[index])).generalLevelIdc
            }
            #expect(levels[1] > levels[0], "\(levels)")
            try Self.check(encoder, 12, server.folder)
        }
    }
}
