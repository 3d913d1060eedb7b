// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDHEVC
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults.Failover {
    /// Decompression sessions whose process dies: every picture comes once, and is what ffmpeg decodes.
    @Suite struct Decoding {
        /// Options of x265 for streams whose pictures are reordered, some across key frames.
        static let structures = ["open": ":open-gop=1:bframes=3:b-pyramid=1", "closed": ":open-gop=0:bframes=3"]
        static let count = 60
        /// Packets sent before the process dies: at the start, about key frames (every twelfth) and at the end.
        static let positions = [1, 2, 11, 12, 13, 15, 30, 37, 59, 60]

        static func stream(_ structure: String, in folder: Scratch) throws -> CodedStream {
            try CodedStream(
                width: 192, height: 128, frames: count, interval: 12, options: try #require(structures[structure]),
                in: folder)
        }

        /// The frames that ffmpeg decodes, in YU12.
        static func reference(_ folder: Scratch) throws -> [UInt8] {
            let path = try #require(folder.contents.first { $0.hasPrefix("coded-") })
            return try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-i", folder.path(path), "-f", "rawvideo", "-fps_mode", "passthrough", "-"]
            ).output
        }

        static func check(_ decoder: Decoder, _ reference: [UInt8], _ stream: CodedStream, _ name: Comment) {
            let times = stream.units.compactMap(\.pts).sorted()
            #expect(decoder.frames.map { $0.description.pts } == times, name)
            #expect(decoder.frames.count == stream.units.count, name)
            #expect(decoder.reports.isEmpty, name)
            let isSame = decoder.frames.flatMap(\.samples) == reference
            #expect(isSame, name)
        }

        /// Decodes while the process dies each time so many packets were sent.
        static func decode(
            _ server: TestDaemon, _ stream: CodedStream, killingAt positions: [Int],
            properties: [PropertyKey: PropertyValue] = [:]
        ) throws -> Decoder {
            let decoder = try Decoder(server.daemon, stream, properties: properties)
            var deaths = 0
            for (index, unit) in stream.units.enumerated() {
                try decoder.decode(unit)
                guard positions.contains(index + 1) else { continue }
                // The client must first have noticed the previous failure.
                let isNoticed = try eventually {
                    if decoder.session.restartCount >= deaths { return true }
                    try decoder.pump(within: .milliseconds(50))
                    return false
                }
                try #require(isNoticed, "\(decoder.session.restartCount) restarts after \(deaths) deaths")
                kill(try server.session(decoder.id).pid, SIGKILL)
                deaths += 1
            }
            try decoder.finish()
            #expect(decoder.session.restartCount == positions.count)
            return decoder
        }

        @Test("kill -9: pictures are the same", arguments: structures.keys.sorted())
        func killed(_ structure: String) throws {
            let server = try TestDaemon()
            let stream = try Self.stream(structure, in: server.folder)
            let reference = try Self.reference(server.folder)
            for position in Self.positions {
                let decoder = try Self.decode(server, stream, killingAt: [position])
                Self.check(decoder, reference, stream, "\(structure), killed after \(position)")
                let notices = try decoder.session.copyProperties([.notices])[.notices]?.description ?? ""
                #expect(notices.contains("continued in another process: ") && notices.contains("SIGKILL"))
            }
            let decoder = try Self.decode(server, stream, killingAt: [14, 15, 40])
            Self.check(decoder, reference, stream, "\(structure), killed three times")
            let metrics = try server.daemon.call(GetMetrics.self, Empty()).metrics
            let line = #"hwdaemon_session_restarts_total{cause="killed",to="same"} \#(Self.positions.count + 3)"#
            #expect(metrics.contains(line), "\(metrics)")
        }

        @Test("Pictures that the app holds stay valid when their process dies, and others follow")
        func held() throws {
            let server = try TestDaemon()
            let stream = try Self.stream("open", in: server.folder)
            let reference = try Self.reference(server.folder)
            let session = try DecompressionSession(
                server.daemon,
                CreateDecompressionSession.Parameters(
                    formatDescription: stream.description, timeBase: stream.timeBase))
            var held: [DecompressionSession.ReceivedFrame] = []
            func send(_ units: ArraySlice<CodedStream.Unit>) throws {
                for unit in units {
                    try unit.bytes.withUnsafeBytes { (bytes) throws -> Void in
                        try session.decode(bytes, pts: unit.pts)
                    }
                }
            }
            func receive(_ count: Int) throws {
                while held.count < count {
                    let event = try #require(try session.nextEvent(timeout: hangLimit))
                    if case .frame(let frame) = event { held.append(frame) }
                }
            }
            try send(stream.units[..<30])
            try receive(8)
            kill(try server.session(session.created.session).pid, SIGKILL)
            // The new process has eight pictures of its own.
            try receive(16)
            #expect(session.restartCount == 1 && session.framesHeld == 16)
            #expect(Set(held.map { $0.description.arenaID }).count == 2)
            #expect(Set(held.map { $0.description.pictureID }).count == 16)
            let samples = held.flatMap(Decoder.samples)
            let isSame = samples.elementsEqual(reference.prefix(samples.count))
            #expect(isSame)
            for frame in held { try session.release(frame) }
            #expect(session.framesHeld == 0)
        }

        @Test("Parameter sets that came with an earlier packet, and changes of format, are sent again")
        func parameterSets() throws {
            let server = try TestDaemon()
            var stream = try Self.stream("open", in: server.folder)
            let reference = try Self.reference(server.folder)
            // The session begins without parameter sets: the first packet has them, and those of other key frames have none.
            let record = try DecoderConfigurationRecord(bytes: stream.description)
            var sets: [UInt8] = []
            for unit in record.nalUnits {
                sets += withUnsafeBytes(of: UInt32(unit.count).bigEndian, Array.init) + unit
            }
            let full = stream.description
            stream.description = try DecoderConfigurationRecord().bytes()
            stream.units[0].bytes = sets + stream.units[0].bytes
            let inBand = try Self.decode(server, stream, killingAt: [40])
            Self.check(inBand, reference, stream, "parameter sets in the first packet")

            stream.units[0].bytes.removeFirst(sets.count)
            let changed = try Decoder(server.daemon, stream)
            try changed.session.changeFormat(full)
            for (index, unit) in stream.units.enumerated() {
                try changed.decode(unit)
                if index == 40 { kill(try server.session(changed.id).pid, SIGKILL) }
            }
            try changed.finish()
            #expect(changed.session.restartCount == 1)
            Self.check(changed, reference, stream, "a changed format")
        }

        @Test("With ReplaysAfterFailure false pictures are the same, and a failure ends the session")
        func off() throws {
            let server = try TestDaemon()
            let stream = try Self.stream("open", in: server.folder)
            let reference = try Self.reference(server.folder)
            let refusal: [PropertyKey: PropertyValue] = [.replaysAfterFailure: .bool(false)]
            let first = try Decoder(server.daemon, stream, properties: refusal)
            for (index, unit) in stream.units.enumerated() { try first.decode(unit, isAsynchronous: index != 0) }
            try first.finish()
            Self.check(first, reference, stream, "nothing is kept")

            let second = try Decoder(server.daemon, stream, properties: refusal)
            for unit in stream.units[..<20] { try second.decode(unit) }
            kill(try server.session(second.id).pid, SIGKILL)
            let error = sessionError { try second.finish() }
            #expect(error?.status == .videoDecoderMalfunction && error?.reason.contains("SIGKILL") == true)
        }

        @Test("What was asked between packets is repeated with them, and each answer comes once")
        func requests() throws {
            let server = try TestDaemon()
            let stream = try Self.stream("closed", in: server.folder)
            var runs: [Decoder] = []
            for isKilled in [false, true] {
                let decoder = try Decoder(server.daemon, stream)
                for (index, unit) in stream.units.enumerated() {
                    if index == 5 { try decoder.session.setMaxTemporalLevel(0) }
                    if index == 24 { try decoder.finish() }
                    // Packets that are decoded as references only, and one whose sender waits for the decoder.
                    try decoder.decode(unit, isOutput: index % 7 != 3, isAsynchronous: index != 30)
                    if isKilled, [10, 24, 33].contains(index) {
                        kill(try server.session(decoder.id).pid, SIGKILL)
                    }
                }
                try decoder.finish()
                #expect(decoder.session.restartCount == (isKilled ? 3 : 0))
                runs.append(decoder)
            }
            let isSame = runs[0].frames == runs[1].frames
            #expect(isSame)
            #expect(runs[0].frames.map { $0.description.frameID } == runs[1].frames.map { $0.description.frameID })
            #expect(runs[0].reports.map(\.frameID).sorted() == runs[1].reports.map(\.frameID).sorted())
        }

        @Test("hwctl decode and transcodes continue, whichever process fails, with every picture")
        func files() throws {
            let faulty = try EndToEndFaults.Failover.Faulty(hangs: true)
            let clip = faulty.server.folder.path("clip.mp4")
            try Programs.tool(
                "ffmpeg",
                [
                    "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=192x128:rate=25", "-frames:v", "60",
                    "-pix_fmt", "yuv420p", "-c:v", "libx265", "-x265-params",
                    "log-level=none:keyint=12:open-gop=1:bframes=3", clip,
                ])
            let plan = faulty.state.path("plan/faults")
            func run(_ faults: String, _ arguments: [String]) throws -> Finished {
                try faults.write(toFile: plan, atomically: false, encoding: .utf8)
                let run = try Programs.hwctl(arguments, socket: faulty.server.socket)
                try #require(run.status == 0, "\(faults): \(run.errors)")
                #expect(run.errors.contains("continued in another process"), "\(faults): \(run.errors)")
                let left = try String(contentsOfFile: plan, encoding: .utf8)
                let isUsedUp = left.allSatisfy(\.isWhitespace)
                #expect(isUsedUp, "the driver did not reach \(left)")
                return run
            }
            let decoded = faulty.server.folder.path("out.y4m")
            for faults in ["decode-hang 20\n", "decode-crash 20\ndecode-crash 9\n"] {
                _ = try run(faults, ["decode", clip, decoded])
                #expect(try psnr(["-i", decoded], ["-i", clip], as: "yuv420p") == .infinity, "\(faults)")
                #expect(try Probe(decoded).frameTimes().count == 60)
            }
            let coded = faulty.server.folder.path("out.mov")
            for faults in ["decode-crash 30\n", "crash 20\ncrash 3\n"] {
                _ = try run(faults, ["encode", clip, coded])
                #expect(try psnr(["-i", coded], ["-i", clip], as: "yuv420p") >= 30, "\(faults)")
                #expect(try Probe(coded).frameTimes().count == 60 && Probe(coded).decodingMessages() == "")
            }
        }
    }
}
