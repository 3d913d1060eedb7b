// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// Sessions within `MaxMemory`, and processes within the bound of their private memory.
    @Suite struct Memory {
        private static let mebibyte = 1 << 20

        /// A number of MiB in a reason, such as `1,234 MiB`.
        static func namesAnAmount(_ reason: String) -> Bool {
            reason.contains(#/\d MiB/#)
        }

        /// The lines of a process's /proc/PID/limits for private memory: soft and hard limit.
        static func dataLimit(_ pid: Int32) throws -> [Substring] {
            let text = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("Max data size") })
            return Array(line.dropFirst("Max data size".count).split(separator: " ").prefix(2))
        }

        @Test("Each process has the bound of its session's size, and goes first when the machine's memory runs out")
        func bounds() throws {
            let server = try TestDaemon()
            let session = try RawSession(server, width: 1920, height: 1080)
            let entry = try server.session(session.id)
            let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
            let bound = (256 + 16 * processors) * Self.mebibyte + 400 * 1920 * 1080 * 3
            #expect(try Self.dataLimit(entry.pid) == ["\(bound)", "unlimited"])
            #expect(entry.grantedBytes == UInt64(24 * Self.mebibyte + 16 * 1920 * 1080 * 3))
            #expect(try #require(entry.memoryBytes) < #require(entry.grantedBytes))

            let stream = try CodedStream(width: 128, height: 96, frames: 10, in: server.folder)
            let decoding = try RawSession(server, decoding: stream)
            let decoder = try server.session(decoding.id).pid
            #expect(
                try Self.dataLimit(decoder).first
                    == "\((512 + 16 * processors) * Self.mebibyte + 40 * 128 * 96 * 3)")

            func score(_ pid: Int32) throws -> Int {
                let text = try String(contentsOfFile: "/proc/\(pid)/oom_score_adj", encoding: .utf8)
                return try #require(Int(text.split(separator: "\n").first ?? ""))
            }
            let own = try score(server.pid)
            #expect(try score(entry.pid) == min(own + 500, 1000))
            #expect(try score(decoder) == min(own + 500, 1000))
        }

        @Test("A session beyond MaxMemory is refused with the figures; those that run continue")
        func admission() throws {
            let server = try TestDaemon("--set", "MaxMemory=256M")
            let small = try Encoder(server.daemon, .nv12, width: 64, height: 64)
            // 24 MiB and 16 pictures of two bytes for each sample.
            let refusal = sessionError { _ = try Encoder(server.daemon, .nv12, width: 1920, height: 1080) }
            #expect(refusal?.status == .videoEncoderNotAvailableNow)
            #expect(
                refusal?.reason.hasPrefix("the session needs 119 MiB of memory, and the other sessions of user ")
                    == true)
            #expect(
                refusal?.reason.hasSuffix("have 25 MiB of the 128 MiB that one user may have (half of MaxMemory)")
                    == true)
            let metrics = try server.daemon.call(GetMetrics.self, Empty()).metrics
            #expect(
                metrics.contains(
                    "hwdaemon_sessions_refused_total{kind=\"compression\",code=\"-12915\",reason=\"max_memory_per_user\"} 1"
                ))
            #expect(metrics.contains("hwdaemon_memory_limit_bytes{scope=\"user\"} \(128 << 20)\n"))
            let raw = try RawFrames(.nv12, width: 64, height: 64, count: 5, in: server.folder)
            for frame in raw.frames { try small.encode(frame) }
            try small.finish()
            #expect(small.coded.count == 5)
        }

        @Test("A decoder whose stream is too large is refused at Create")
        func decoder() throws {
            let server = try TestDaemon("--set", "MaxMemory=256M")
            let stream = try CodedStream(width: 7680, height: 4320, frames: 1, in: server.folder)
            let refusal = sessionError { _ = try Decoder(server.daemon, stream) }
            #expect(refusal?.status == .videoDecoderNotAvailableNow)
            #expect(refusal?.reason.hasPrefix("the session needs 214 MiB of memory") == true, "\(refusal as Any)")
            #expect(server.hasNoWorkers())
        }

        @Test(
            "A pool that a client fills counts for its session, which ends beyond the limit; a session beside it continues"
        )
        func pools() throws {
            let server = try TestDaemon("--set", "MaxMemory=512M")
            let stream = try CodedStream(width: 128, height: 96, frames: 10, in: server.folder)
            let neighbour = try Decoder(server.daemon, stream)
            let session = try RawSession(server)
            try session.addPool(size: 200 * Self.mebibyte)
            // Empty pages take no memory.
            let memory = try #require(session.memory?.mutableBytes)
            memset(try #require(memory.baseAddress), 1, memory.count)
            let other = try sealedMemory(Self.mebibyte)
            let second = try session.send(AddPool(poolID: 2, size: UInt64(Self.mebibyte)), fds: [other.rawValue])
            try #require(try session.reply(to: second).status == .ok)
            #expect(try server.session(session.id).memoryBytes ?? 0 > 200 << 20)
            let more = try SharedMemory(creating: "test-frames", size: 100 * Self.mebibyte)
            let added = try session.send(AddPool(poolID: 3, size: UInt64(more.size)), fds: [more.file.rawValue])
            try #require(try session.reply(to: added).status == .ok)
            // No message follows: the session measures itself every second.
            memset(try #require(more.mutableBytes?.baseAddress), 1, more.size)
            let end = try #require(try session.end())
            #expect(end.status == .videoEncoderNotAvailableNow)
            #expect(
                end.reason.hasSuffix("of the 256 MiB that one user may have (half of MaxMemory)"), "\(end.reason)")
            try neighbour.decode(stream)
            #expect(neighbour.frames.count == 10)
        }

        /// Encodes until the session ends, beside another session that must not notice.
        static func exceed(
            _ limit: String, width: Int, height: Int, preset: String, frames count: Int
        ) throws -> (end: SessionError?, result: GetSessionResult.Reply) {
            let server = try TestDaemon("--set", "MaxMemory=\(limit)", "--set", "StallTimeout=600")
            let raw = try RawFrames(.nv12, width: 128, height: 96, count: 30, in: server.folder)
            let undisturbed = try EndToEndFaults.Isolation.encode(server.daemon, raw)
            let neighbour = try Encoder(
                server.daemon, raw.format, width: raw.width, height: raw.height,
                properties: EndToEndFaults.Isolation.properties)
            for frame in raw.frames.prefix(10) { try neighbour.encode(frame) }

            let large = try Encoder(
                server.daemon, .nv12, width: width, height: height, slots: 4,
                properties: [.x265Preset: .string(preset), .replaysAfterFailure: .bool(false)])
            let frame = [UInt8](repeating: 100, count: FrameLayout.packed(.nv12, width: width, height: height).size)
            let error = sessionError {
                for _ in 0..<count { try large.encode(frame) }
                try large.finish()
            }
            let result = try server.result(large.id)
            for frame in raw.frames.dropFirst(10) { try neighbour.encode(frame) }
            try neighbour.finish()
            #expect(neighbour.coded == undisturbed, "the neighbour's packets differ")
            return (error, result)
        }

        @Test("An encoder that needs more than it may have ends with a sentence that names the amount")
        func growth() throws {
            let (error, result) = try Self.exceed("512M", width: 1920, height: 1080, preset: "slower", frames: 40)
            #expect([.videoEncoderNotAvailableNow, .videoEncoderMalfunction].contains(error?.status))
            #expect(result.code == error?.status.rawValue)
            #expect(Self.namesAnAmount(result.reason), "\(result.reason)")
            #expect(result.reason == error?.reason)
        }

        @Suite struct Long {
            @Test("8K with x265's preset veryslow under a tight bound ends with a sentence that names the amount")
            func veryslow() throws {
                let (error, result) = try exceed("3400M", width: 7680, height: 4320, preset: "veryslow", frames: 40)
                #expect([.videoEncoderNotAvailableNow, .videoEncoderMalfunction].contains(error?.status))
                #expect(result.code == error?.status.rawValue)
                #expect(namesAnAmount(result.reason), "\(result.reason)")
            }

            /// The proportional set sizes of a process and its children, in bytes (/proc/PID/smaps_rollup).
            static func proportionalSize(_ pid: Int32) -> Int {
                ([pid] + ProcessEntry.children(of: pid).map(\.pid)).reduce(0) { sum, pid in
                    let text = (try? String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)) ?? ""
                    let line = text.split(separator: "\n").first { $0.hasPrefix("Pss:") } ?? ""
                    return sum + (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
                }
            }

            /// Daemons are not dumpable, so /proc shows their memory to root only.
            @Test(
                "40 sessions that decode alpha, with pools of 8K pictures, stay within MaxMemory",
                .enabled(if: geteuid() == 0, "only root may read a daemon's memory"))
            func alpha() throws {
                let server = try TestDaemon("--set", "MaxMemory=2G", "--set", "MaxSessionsPerUser=64")
                let stream = try Self.alphaStream(server)
                var sessions: [RawSession] = []
                var refusals: [SessionError] = []
                var largest = 0
                for _ in 0..<40 {
                    do {
                        let session = try RawSession(server, decoding: stream, pixelFormat: .yuva)
                        sessions.append(session)
                        // A session beyond the limit may end while its packets are sent.
                        try? Self.fill(session, stream)
                    } catch let error as SessionError {
                        refusals.append(error)
                    }
                    largest = max(largest, Self.proportionalSize(server.pid))
                }
                let limit = 2 << 30
                // Until no session has decoded a picture for a while.
                var (counts, since) = ([String: UInt64](), MonotonicTime.now)
                let isSettled = try eventually(within: hangLimit * 5) {
                    largest = max(largest, Self.proportionalSize(server.pid))
                    let list = try server.sessions().map { ($0.session, $0.framesOut) }
                    let present = Dictionary(uniqueKeysWithValues: list)
                    if present != counts { (counts, since) = (present, .now) }
                    return largest >= limit / 8 && MonotonicTime.now > since + .seconds(10)
                }
                #expect(isSettled, "\(largest >> 20) MiB")
                #expect(largest <= limit + limit / 10, "\(largest >> 20) MiB")
                // One user may have half, and these sessions fill it.
                #expect(largest >= limit / 8, "\(largest >> 20) MiB")
                #expect(!refusals.isEmpty && sessions.count > 4, "\(sessions.count) sessions run")
                for refusal in refusals {
                    #expect(namesAnAmount(refusal.reason), "\(refusal.reason)")
                }
            }

            /// A stream with an alpha layer.
            private static func alphaStream(_ server: TestDaemon) throws -> CodedStream {
                let (source, coded) = (server.folder.path("source.mov"), server.folder.path("alpha.mov"))
                try Programs.tool(
                    "ffmpeg",
                    [
                        "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=1920x1080:rate=30", "-frames:v", "16",
                        "-vf", "format=argb,colorchannelmixer=aa=0.7", "-c:v", "qtrle", source,
                    ])
                let result = try Programs.hwctl(
                    ["encode", "--preset", "ultrafast", "--alpha", "straight", source, coded], socket: server.socket
                )
                try #require(result.status == 0, "\(result.errors)")
                return try CodedStream(coded)
            }

            /// Registers pools of 8K pictures, all of them filled, and sends every packet; no picture is released.
            private static func fill(_ session: RawSession, _ stream: CodedStream) throws {
                let picture = FrameLayout.packed(.yu12, width: 8192, height: 4320).size
                try session.addPool(size: picture)
                let memory = try #require(session.memory?.mutableBytes)
                memset(try #require(memory.baseAddress), 0x5a, memory.count)
                var offset = 0
                for (index, unit) in stream.units.enumerated() {
                    guard offset + unit.bytes.count <= memory.count else { break }
                    memory[offset..<offset + unit.bytes.count].copyBytes(from: unit.bytes)
                    try session.send(
                        DecodeFrame(
                            frameID: UInt64(index + 1), pts: unit.pts ?? DecodeFrame.noPTS, duration: unit.duration,
                            poolID: 1, offset: UInt64(offset), size: UInt32(unit.bytes.count)))
                    offset += unit.bytes.count
                }
            }
        }
    }
}
