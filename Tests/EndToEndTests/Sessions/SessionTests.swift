// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// Sessions through the client library.
    @Suite struct Sessions {
        @Test("Every pixel format is encoded and decodes to the same picture", arguments: PixelFormat.yCbCr)
        func format(_ format: PixelFormat) throws {
            let server = try TestDaemon()
            let raw = try RawFrames(format, width: 322, height: 182, count: 12, in: server.folder)
            let encoder = try Encoder(server.daemon, format, width: 322, height: 182)
            for frame in raw.frames { try encoder.encode(frame) }
            try encoder.finish()

            #expect(encoder.coded.count == 12)
            #expect(Set(encoder.released) == Set(0..<12))
            #expect(encoder.coded.map(\.description.pts).sorted() == Array(0..<12))
            #expect(encoder.coded.map(\.description.frameID).sorted() == Array(0..<12))
            #expect(encoder.coded.allSatisfy { $0.description.duration == 1 })
            #expect(encoder.coded.allSatisfy { $0.description.dts <= $0.description.pts })
            let path = server.folder.path("out.hevc")
            try encoder.write(to: path)
            let planar = format.bitDepth > 8 ? "yuv420p10le" : "yuv420p"
            #expect(try Probe(path).field("pix_fmt") == planar)
            #expect(try psnr(["-i", path], raw.ffmpegInput, as: planar) >= 35)
            #expect(try Probe(path).decodingMessages() == "")

            encoder.session.invalidate()
            let result = try server.result(encoder.id)
            #expect(result.finished && result.code == 0)
            #expect(result.framesIn == 12 && result.framesOut == 12)
            #expect(server.hasNoWorkers())
        }

        @Test(
            "A value of X265Params that x265 refuses is refused at Create",
            arguments: [
                "crf=100", "ref=99", "aq-mode=banana", "frame-threads=4096", "pools=4096",
            ])
        func refusedOptions(_ options: String) throws {
            let server = try TestDaemon()
            let error = #expect(throws: SessionError.self) {
                try RawSession(server, properties: [.x265Params: .string(options)])
            }
            #expect(error?.status == .parameter)
            let session = try RawSession(server, properties: [.x265Params: .string("aq-mode=2")])
            for changed in ["\(options)", "aq-mode=1"] {
                let sequence = try session.send(
                    opcode: Opcode.setProperties.rawValue, Array(#"{"X265Params":"\#(changed)"}"#.utf8))
                #expect(try session.reply(to: sequence).status == (changed == options ? .parameter : .ok))
            }
        }

        @Test(
            "Pictures smaller than a preset's coding tree units",
            arguments: [(2, 2), (16, 16), (18, 40), (200, 16)])
        func small(_ width: Int, _ height: Int) throws {
            let server = try TestDaemon()
            for preset in ["ultrafast", "medium"] {
                let raw = try RawFrames(.yu12, width: width, height: height, count: 4, in: server.folder)
                let encoder = try Encoder(
                    server.daemon, .yu12, width: width, height: height, properties: [.x265Preset: .string(preset)])
                for frame in raw.frames { try encoder.encode(frame) }
                try encoder.finish()
                let path = server.folder.path("out.hevc")
                try encoder.write(to: path)
                #expect(try Probe(path).size == (width, height))
                #expect(try psnr(["-i", path], raw.ffmpegInput, as: "yuv420p") >= 30)
            }
        }

        @Test("B pictures arrive in decoding order with rising decoding times")
        func reordering() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 24, in: server.folder)
            let encoder = try Encoder(
                server.daemon, .yu12, width: 320, height: 180, properties: [.x265Preset: .string("fast")])
            for frame in raw.frames { try encoder.encode(frame) }
            try encoder.finish()
            let pts = encoder.coded.map(\.description.pts)
            #expect(pts != pts.sorted())
            #expect(
                zip(encoder.coded, encoder.coded.dropFirst()).allSatisfy { $0.description.dts < $1.description.dts }
            )
            let path = server.folder.path("out.mp4")
            try encoder.write(to: path)
            #expect(try Encoding.agree(Probe(path).frameTimes(), (0..<24).map { Double($0) / 30 }))
            #expect(try psnr(["-i", path], raw.ffmpegInput, as: "yuv420p") >= 35)
        }

        @Test("ForceKeyFrame makes that frame a key frame and no other")
        func forceKeyFrame() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 16, in: server.folder)
            let encoder = try Encoder(
                server.daemon, .yu12, width: 320, height: 180,
                properties: [.x265Preset: .string("fast"), .maxKeyFrameInterval: .int(1000)])
            for (index, frame) in raw.frames.enumerated() {
                try encoder.encode(frame, flags: index == 7 ? .forceKeyFrame : [])
            }
            try encoder.finish()
            let sync = encoder.coded.filter { $0.description.flags.contains(.sync) }.map(\.description.pts)
            #expect(sync.sorted() == [0, 7])
            let path = server.folder.path("out.hevc")
            try encoder.write(to: path)
            #expect(try Probe(path).keyFrames() == (0..<16).map { $0 == 0 || $0 == 7 })
        }

        @Test("BaseFrameQP decides how many bits a frame gets")
        func baseFrameQP() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.nv12, width: 320, height: 180, count: 1, noise: true, in: server.folder)
            var sizes: [Int] = []
            for qp: Int32 in [10, 40] {
                let encoder = try Encoder(server.daemon, .nv12, width: 320, height: 180)
                try encoder.encode(raw.frames[0], qp: qp)
                try encoder.finish()
                sizes.append(encoder.coded.reduce(0) { $0 + $1.bytes.count })
            }
            #expect(sizes[0] > 3 * sizes[1], "\(sizes)")
        }

        @Test("Properties can be set and read; a refusal leaves the session intact")
        func properties() throws {
            let server = try TestDaemon()
            let encoder = try Encoder(server.daemon, .yu12, width: 320, height: 180)
            let session = encoder.session
            try session.setProperties([.quality: .double(0.7), .maxKeyFrameInterval: .int(9)])
            let values = try session.copyProperties([
                .quality, .maxKeyFrameInterval, .usingHardware, .averageBitRate,
            ])
            #expect(values[.quality] == .double(0.7))
            #expect(values[.maxKeyFrameInterval] == .int(9))
            #expect(values[.usingHardware] == .bool(false))
            #expect(values[.averageBitRate] == .null)

            let unknown = PropertyKey(rawValue: "NoSuchProperty")
            #expect(sessionError { try session.setProperties([unknown: .int(1)]) }?.status == .propertyNotSupported)
            #expect(sessionError { _ = try session.copyProperties([unknown]) }?.status == .propertyNotSupported)
            #expect(
                sessionError { try session.setProperties([.encoderID: .string("x")]) }?.status == .propertyReadOnly)
            #expect(sessionError { try session.setProperties([.quality: .double(7)]) }?.status == .parameter)
            #expect(sessionError { try session.setProperties([.quality: .string("good")]) }?.status == .parameter)
            let mixed: [PropertyKey: PropertyValue] = [
                .maxKeyFrameInterval: .int(3), .averageBitRate: .int(1_000_000),
            ]
            let error = try #require(sessionError { try session.setProperties(mixed) })
            #expect(error.status == .parameter && error.reason.contains("contradict"))
            // All or none.
            #expect(try session.copyProperties([.maxKeyFrameInterval])[.maxKeyFrameInterval] == .int(9))

            try session.prepare()
            guard case .formatDescription(let record)? = try session.nextEvent(timeout: .zero) else {
                Issue.record("no format description came before prepare returned")
                return
            }
            #expect(record.first == 1)
            #expect(try session.copyProperties()[.outputBitDepth] == .int(8))
            #expect(
                sessionError { try session.setProperties([.allowOpenGOP: .bool(true)]) }?.status
                    == .propertyReadOnly)
            let raw = try RawFrames(.yu12, width: 320, height: 180, count: 2, in: server.folder)
            for frame in raw.frames { try encoder.encode(frame) }
            try encoder.finish()
            #expect(encoder.coded.count == 2)
        }

        @Test("Create refuses what cannot be encoded, each with its status")
        func create() throws {
            let server = try TestDaemon()
            func refusal(
                _ codec: String = "hevc", _ width: Int = 64, _ height: Int = 64,
                specification: [PropertyKey: PropertyValue] = [:], properties: [PropertyKey: PropertyValue] = [:]
            ) throws -> Status? {
                let parameters = CreateCompressionSession.Parameters(
                    codec: codec, width: width, height: height, pixelFormat: .i010,
                    timeBase: try #require(Rational(1, 30)), encoderSpecification: specification,
                    properties: properties)
                return sessionError { _ = try CompressionSession(server.daemon, parameters) }?.status
            }
            #expect(try refusal("av1") == .couldNotFindVideoEncoder)
            #expect(try refusal("hevc", 0, 64) == .parameter)
            #expect(try refusal("hevc", 64, .max) == .parameter)
            #expect(try refusal(specification: [.requireHardware: .bool(true)]) == .couldNotFindVideoEncoder)
            #expect(try refusal(specification: [.encoderID: .string("none")]) == .couldNotFindVideoEncoder)
            #expect(try refusal(specification: [.quality: .double(1)]) == .propertyNotSupported)
            #expect(try refusal(properties: [.profileLevel: .string("HEVC_Main_AutoLevel")]) == .parameter)
            #expect(try refusal(properties: [.profileLevel: .int(1)]) == .parameter)
            #expect(server.hasNoWorkers())
        }

        @Test("The client refuses frames beyond the credits, and the session continues")
        func credits() throws {
            let server = try TestDaemon()
            let encoder = try Encoder(server.daemon, .yu12, width: 64, height: 64, slots: 40)
            let frame = [UInt8](repeating: 100, count: 64 * 64 * 3 / 2)
            let credits = encoder.session.created.maxFramesInFlight
            #expect(credits == 32)
            for _ in 0..<credits { try encoder.encode(frame) }
            let error = try #require(sessionError { try encoder.encode(frame) })
            #expect(error.status == .parameter)
            try encoder.finish()
            #expect(encoder.coded.count == credits)
            #expect(encoder.session.framesInFlight == 0)
        }

        @Test("Waiting for a client that holds every packet is not a stall")
        func heldPackets() throws {
            let server = try TestDaemon("--stall-timeout", "10")
            let encoder = try Encoder(
                server.daemon, .yu12, width: 64, height: 64, slots: 32,
                properties: [.x265Preset: .string("ultrafast"), .realTime: .bool(true)])
            encoder.releasesPackets = false
            let frame = [UInt8](repeating: 100, count: 64 * 64 * 3 / 2)
            let most = encoder.session.created.maxPacketsInFlight
            for _ in 0..<most + 20 {
                try encoder.encode(frame)
                while try encoder.pump(within: .zero) {}
            }
            try encoder.session.complete()
            // Longer than the stall timeout.
            while try encoder.pump(within: .seconds(12)) {}
            #expect(encoder.coded.count == most)
            #expect(!encoder.isCompleted)
            try encoder.releaseAll()
            while !encoder.isCompleted { try #require(try encoder.pump()) }
            #expect(encoder.coded.count == most + 20)
        }

        @Test("A packet larger than the arena arrives in a separate memfd")
        func largePacket() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.i010, width: 1920, height: 1080, count: 1, noise: true, in: server.folder)
            let encoder = try Encoder(
                server.daemon, .i010, width: 1920, height: 1080, slots: 2,
                properties: [.x265Preset: .string("ultrafast"), .x265Params: .string("lossless=1")])
            try encoder.encode(raw.frames[0])
            try encoder.finish()
            let packet = try #require(encoder.coded.first)
            #expect(packet.bytes.count > 2 << 20)
            #expect(packet.description.arenaID == Packet.ownMemory)
            let path = server.folder.path("out.hevc")
            try encoder.write(to: path)
            #expect(try psnr(["-i", path], raw.ffmpegInput, as: "yuv420p10le") == .infinity)
        }

        @Test("The daemon lists what a session has done so far")
        func list() throws {
            let server = try TestDaemon()
            let encoder = try Encoder(server.daemon, .nv12, width: 64, height: 64)
            let frame = [UInt8](repeating: 100, count: 64 * 64 * 3 / 2)
            for _ in 0..<3 { try encoder.encode(frame) }
            try encoder.finish()
            let entry = try server.session(encoder.id)
            #expect(entry.width == 64 && entry.height == 64 && entry.pixelFormat == "NV12")
            #expect(entry.codecID == "org.hwdaemon.encoder.x265" && entry.usingHardware == false)
            #expect(entry.framesIn == 3 && entry.framesOut == 3 && entry.pendingFrames == 0)
            #expect(entry.bytesOut == UInt64(encoder.coded.reduce(0) { $0 + $1.bytes.count }))
            #expect(server.workers.map(\.pid) == [entry.pid])
            let table = try Programs.hwctl(["sessions", "--long"], socket: server.socket)
            #expect(table.status == 0 && table.text.contains(encoder.id))
        }

        @Test("hwctl sessions --watch lists them again until it is interrupted")
        func watch() throws {
            let server = try TestDaemon()
            let file = server.folder.path("lists")
            let output = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(output) }
            let watching = try Running(
                Programs.path("hwctl"), ["sessions", "--watch", "--interval", "0.2", "--json"],
                environment: ["HWDAEMON_SOCKET": server.socket], output: output)
            /// The lists that are written completely.
            func lists() throws -> [Substring] {
                let text = try String(contentsOfFile: file, encoding: .utf8)
                return text[..<(text.lastIndex(of: "\n") ?? text.startIndex)].split(separator: "\n")
            }
            #expect(try eventually { try lists().count > 1 })
            #expect(try lists().allSatisfy { $0.contains("\"sessions\":[]") })
            let encoder = try Encoder(server.daemon, .nv12, width: 64, height: 64)
            #expect(try eventually { try lists().contains { $0.contains(encoder.id) } })
            try watching.child.kill(SIGINT)
            #expect(try watching.wait().exit == .signaled(SIGINT))
        }

        @Test("The size and format of a decoder are logged and listed when they are known, and not before")
        func decoderFormat() throws {
            let server = try TestDaemon()
            let path = server.folder.path("out.mov")
            let y4m = try StandardStreams.y4m("yuv420p", in: server.folder)
            let encoded = try Programs.hwctl(["encode", y4m, path], socket: server.socket)
            try #require(encoded.status == 0, "\(encoded.errors)")
            let decoder = try Decoder(server.daemon, try CodedStream(path))
            let created = decoder.session.created
            let entry = try server.session(decoder.id)
            #expect(entry.pixelFormat == created.pixelFormat && entry.width == created.width)
            let lines = server.log.split(separator: "\n").filter { $0.contains(decoder.id) }
            let started = try #require(lines.first { $0.contains("session started") })
            #expect(
                started.contains("kind=decompression") && !started.contains("size=") && !started.contains("format=")
            )
            let report = try #require(lines.first { $0.contains("session created") })
            #expect(report.contains(" size=\(created.width)x\(created.height)"), "\(report)")
            #expect(report.contains(" format=\(created.pixelFormat)"), "\(report)")
            #expect(!server.log.contains("size=0x0") && !server.log.contains("format=\"\""))
        }
    }
}
