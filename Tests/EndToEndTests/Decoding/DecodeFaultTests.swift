// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// Damaged streams and clients that break the rules harm only their own decompression session.
    @Suite struct DecodeFaults {
        /// SplitMix64: the same numbers in each run.
        struct Seeded: RandomNumberGenerator {
            var state: UInt64
            mutating func next() -> UInt64 {
                state &+= 0x9E37_79B9_7F4A_7C15
                var z = state
                z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
                z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
                return z ^ (z >> 31)
            }
        }

        /// A damaged copy of a packet.
        static func mutate(_ bytes: [UInt8], _ random: inout Seeded) -> [UInt8] {
            var bytes = bytes
            switch Int.random(in: 0..<8, using: &random) {
            case 0: return Array(bytes.prefix(Int.random(in: 0..<bytes.count, using: &random)))
            case 1: return []
            case 2:
                let count = Int.random(in: 1...300, using: &random)
                return (0..<count).map { _ in .random(in: 0...255, using: &random) }
            case 3:
                let place = Int.random(in: 0..<bytes.count, using: &random)
                bytes.insert(contentsOf: [0, 0, 1], at: place)
            case 4:
                // A flip does most in the headers, which are in front.
                let place = Int.random(in: 0..<min(24, bytes.count), using: &random)
                bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 5: bytes += bytes
            default:
                for _ in 0...Int.random(in: 0...8, using: &random) {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
                }
            }
            return bytes
        }

        @Test(
            "Mutated packets: no crash, bounded memory, and the next key frame decodes correctly",
            arguments: [PixelFormat.yu12, .i010])
        func mutations(_ format: PixelFormat) throws { try Self.mutate(1000, format) }

        /// Sends packets until about `mutations` of them, every other one, were mutated.
        static func mutate(_ mutations: Int, _ format: PixelFormat) throws {
            let server = try TestDaemon()
            // Parameter sets in the packets, so that they are mutated too.
            let stream = try CodedStream(format, width: 96, height: 64, ending: "hevc", in: server.folder)
            let good = try Decoder(server.daemon, stream)
            try good.decode(stream)
            good.session.invalidate()
            var random = Seeded(state: 0x5EED + UInt64(format.bitDepth))
            let decoder = try Decoder(server.daemon, stream)
            decoder.copiesSamples = false
            let session = try server.session(decoder.id)
            var count = 0
            while count < mutations {
                for unit in stream.units {
                    var unit = unit
                    if Bool.random(using: &random) {
                        unit.bytes = mutate(unit.bytes, &random)
                        count += 1
                    }
                    // A mutation may leave nothing, which the client library refuses without sending it.
                    if !unit.bytes.isEmpty { try decoder.decode(unit) }
                }
            }
            try decoder.finish()
            #expect(decoder.reports.contains { $0.status == .videoDecoderBadData })
            let before = decoder.frames.count
            decoder.copiesSamples = true
            try decoder.decode(stream)
            let isSame = Array(decoder.frames[before...]) == good.frames
            #expect(isSame, "the pictures after the mutations differ")
            #expect(decoder.frames[before...].allSatisfy { !$0.description.flags.contains(.damaged) })
            let peak = try peak(of: session.pid)
            print("mutations of \(format.rawValue): \(decoder.reports.count) reports, peak \(peak) KiB")
            #expect(peak < 256 << 10)
            decoder.session.invalidate()
            #expect(server.hasNoWorkers())
        }

        /// The peak resident size of a process in KiB.
        static func peak(of pid: Int32) throws -> Int {
            let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        }

        @Test("A lost packet is reported, and the pictures up to the next key frame are marked")
        func lostPacket() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 30, interval: 10, in: server.folder)
            let decoder = try Decoder(server.daemon, stream)
            // The packet after the second key frame: the rest of its group refers to it.
            let second = try #require(stream.units.indices.filter { stream.units[$0].isSync }.dropFirst().first)
            for (index, unit) in stream.units.enumerated() where index != second + 1 { try decoder.decode(unit) }
            try decoder.finish()
            #expect(decoder.frames.count == 29)
            #expect(decoder.reports.contains { $0.status == .videoDecoderBadData })
            let damaged = decoder.frames.filter { $0.description.flags.contains(.damaged) }
                .map(\.description.pts)
            let keys = stream.units.filter(\.isSync).compactMap(\.pts)
            #expect(!damaged.isEmpty)
            #expect(damaged.allSatisfy { $0 > keys[1] && $0 < keys[2] }, "\(damaged) \(keys)")
        }

        @Test("An empty packet is refused, and the session continues")
        func emptyPacket() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 2, in: server.folder)
            let decoder = try Decoder(server.daemon, stream)
            let error = #expect(throws: ClientError.self) {
                try decoder.session.decode(
                    UnsafeRawBufferPointer(start: nil, count: 0), pts: 0, timeout: hangLimit)
            }
            #expect(error?.code == .session(.parameter))
            try decoder.decode(stream)
            #expect(decoder.frames.count == 2)
        }

        @Test("Packets before the first key frame are reported")
        func noKeyFrame() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 30, interval: 10, in: server.folder)
            let decoder = try Decoder(server.daemon, stream)
            for unit in stream.units.dropFirst() { try decoder.decode(unit) }
            try decoder.finish()
            let second = try #require(stream.units.indices.filter { stream.units[$0].isSync }.dropFirst().first)
            let dropped = decoder.reports.filter { $0.flags.contains(.dropped) }
            #expect(dropped.count >= second - 1)
            #expect(dropped.first?.status == .videoDecoderBadData)
            #expect(decoder.frames.count + dropped.count == 29)
            #expect(decoder.frames.allSatisfy { !$0.description.flags.contains(.damaged) })
        }

        @Test("Unsupported formats are refused, each with its status")
        func refusals() throws {
            let server = try TestDaemon()
            var stream = try CodedStream(frames: 2, in: server.folder)
            let wide = try CodedStream(frames: 2, options: ":profile=main", in: server.folder)
            func status(_ body: () throws -> Decoder) -> Status? {
                sessionError { _ = try body() }?.status
            }
            #expect(
                status { try Decoder(server.daemon, wide, specification: [.requireHardwareDecoder: .bool(true)]) }
                    == .couldNotFindVideoDecoder)
            #expect(
                status { try Decoder(server.daemon, wide, specification: [.decoderID: .string("none")]) }
                    == .couldNotFindVideoDecoder)
            #expect(
                status { try Decoder(server.daemon, wide, specification: [.quality: .double(1)]) }
                    == .propertyNotSupported)
            #expect(
                status { try Decoder(server.daemon, wide, properties: [.averageBitRate: .int(1)]) }
                    == .propertyNotSupported)
            #expect(
                status { try Decoder(server.daemon, wide, properties: [.usingHardwareDecoder: .bool(true)]) }
                    == .propertyReadOnly)
            stream.description = []
            #expect(status { try Decoder(server.daemon, stream) } == .videoDecoderBadData)
            stream.description = Array("not a format".utf8)
            #expect(status { try Decoder(server.daemon, stream) } == .videoDecoderBadData)
            let path = server.folder.path("422.mp4")
            try Programs.tool(
                "ffmpeg",
                [
                    "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x64", "-frames:v", "2", "-pix_fmt",
                    "yuv422p", "-c:v", "libx265", "-x265-params", "log-level=none", path,
                ])
            let chroma = try CodedStream(path)
            #expect(status { try Decoder(server.daemon, chroma) } == .videoDecoderUnsupportedDataFormat)
        }

        @Test("Without replay, kill -9 of the decoder gives -12911 with the reason and disturbs no other session")
        func killed() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 30, in: server.folder)
            let other = try Decoder(server.daemon, stream)
            let victim = try Decoder(server.daemon, stream, properties: [.replaysAfterFailure: .bool(false)])
            try victim.decode(stream.units[0])
            try other.decode(stream.units[0])
            let info = try server.session(victim.id)
            #expect(info.kind == .decompression)
            #expect((info.width, info.height) == (128, 96))
            #expect(info.codecID == "org.hwdaemon.decoder.libavcodec")
            kill(info.pid, SIGKILL)
            let error = sessionError { while try victim.session.nextEvent(timeout: hangLimit) != nil {} }
            #expect(error?.status == .videoDecoderMalfunction)
            #expect(error?.reason.contains("SIGKILL") == true)
            let result = try server.result(victim.id)
            #expect(result.code == Status.videoDecoderMalfunction.rawValue)
            for unit in stream.units.dropFirst() { try other.decode(unit) }
            try other.finish()
            #expect(other.frames.count == 30)
        }

        @Test("The session of a client that holds all its pictures ends with the reason")
        func holder() throws {
            let server = try TestDaemon("--set", "ClientStallTimeout=5s")
            let stream = try CodedStream(frames: 30, in: server.folder)
            let decoder = try Decoder(server.daemon, stream)
            decoder.releasesFrames = false
            let error = sessionError {
                for unit in stream.units { try decoder.decode(unit) }
                try decoder.finish()
            }
            #expect(error?.status == .parameter)
            #expect(error?.reason.contains("released no picture") ?? false, "\(error?.reason ?? "none")")
            #expect(decoder.frames.count == decoder.session.created.maxFramesInFlight)
        }

        @Test("Ended sessions leave no process, descriptor or session entry", ProcessEntry.canCountFiles)
        func churn() throws { try Self.churn(rounds: 20) }

        static func churn(rounds: Int) throws {
            let server = try TestDaemon()
            let stream = try CodedStream(frames: 2, in: server.folder)
            func round() throws {
                let decoder = try Decoder(server.daemon, stream)
                try decoder.decode(stream)
                try #require(decoder.frames.count == 2)
                decoder.session.invalidate()
            }
            for _ in 0..<10 { try round() }
            try #require(server.hasNoWorkers())
            // Perhaps with those of the last session: fewer than one for each of the rounds that follow.
            let files = ProcessEntry.fileCount(of: server.pid)
            for _ in 0..<rounds { try round() }
            #expect(server.hasNoWorkers())
            // The broker closes the last session's descriptors after its process has ended.
            #expect(eventually { ProcessEntry.fileCount(of: server.pid) <= files })
            #expect(try server.sessions().isEmpty)
        }

        @Suite struct Long {
            @Test(
                "5,000 mutated packets of each depth: no crash, bounded memory, and the next key frame is correct",
                arguments: [PixelFormat.yu12, .i010])
            func mutations(_ format: PixelFormat) throws { try mutate(5000, format) }

            @Test(
                "A hundred ended sessions leave no process, descriptor or session entry", ProcessEntry.canCountFiles
            )
            func churn() throws { try DecodeFaults.churn(rounds: 100) }
        }
    }
}
