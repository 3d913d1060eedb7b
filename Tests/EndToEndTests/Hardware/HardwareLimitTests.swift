// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDWire
import Testing

extension EndToEndFaults {
    /// `MaxHardwareSessions`, on two simulated GPUs.
    @Suite struct HardwareLimits {
        private static let required = [PropertyKey.requireHardware: PropertyValue.bool(true)]

        /// A daemon with a GPU for each name, one session each.
        private func daemon(_ names: [String], in folder: Scratch) throws -> TestDaemon {
            for name in names { try #require(symlink("/dev/null", folder.path(name)) == 0) }
            let server = try TestDaemon(
                "--set", "MaxHardwareSessions=1",
                environment: SimulatedDriver.environment(
                    devices: names.map { folder.path($0) }.joined(separator: ":"), state: folder.root))
            _ = try server.daemon.call(HWDWire.Probe.self, HWDWire.Probe.Parameters(), timeout: hangLimit)
            return server
        }

        private func encoder(
            _ server: TestDaemon, _ specification: [PropertyKey: PropertyValue] = [:]
        ) throws -> Encoder {
            try Encoder(
                server.daemon, .nv12, width: 128, height: 128, specification: specification, properties: [:])
        }

        private func codec(_ encoder: Encoder, _ server: TestDaemon) throws -> String? {
            try server.session(encoder.id).codecID
        }

        @Test("Sessions beyond the limit use the other GPU, then software, and are refused where that is excluded")
        func spills() throws {
            let folder = try Scratch()
            defer { withExtendedLifetime(folder) {} }
            let server = try daemon(["left", "right"], in: folder)
            let (first, second, third) = (try encoder(server), try encoder(server), try encoder(server))
            let codecs = try [first, second].compactMap { try codec($0, server) }
            #expect(Set(codecs) == ["org.hwdaemon.encoder.vaapi.left", "org.hwdaemon.encoder.vaapi.right"])
            #expect(try codec(third, server) == "org.hwdaemon.encoder.x265")
            let reason = try third.session.copyProperties([.fallbackReason])[.fallbackReason]?.description ?? ""
            #expect(reason.contains("MaxHardwareSessions"), "\(reason)")
            let refused = #expect(throws: ClientError.self) { try encoder(server, Self.required) }
            #expect(refused?.reason.contains("MaxHardwareSessions") == true, "\(String(describing: refused))")

            // A slot that is free again is the next session's.
            let frame = [UInt8](repeating: 90, count: 128 * 128 * 3 / 2)
            for encoder in [first, third] {
                try encoder.encode(frame)
                try encoder.finish()
                #expect(encoder.coded.count == 1)
            }
            first.session.invalidate()
            _ = try server.result(first.id)
            let fourth = try encoder(server, Self.required)
            #expect(try codec(fourth, server) == codecs.first)
        }

        @Test("A call that requires hardware waits for a slot on it")
        func waits() throws {
            let folder = try Scratch()
            let server = try daemon(["only"], in: folder)
            let first = try encoder(server)
            let y4m = try EndToEnd.StandardStreams.y4m("yuv420p", in: folder)
            let output = folder.path("out.mov")
            let waiting = try Running(
                Programs.path("hwctl"), ["encode", "--hardware", "require", "--wait", "--json", y4m, output],
                environment: ["HWDAEMON_SOCKET": server.socket])
            #expect(eventually { server.log.contains("session waits") }, "\(server.log)")
            #expect(server.log.contains("MaxHardwareSessions"))
            // One that only prefers hardware does not wait for it.
            #expect(try codec(encoder(server), server) == "org.hwdaemon.encoder.x265")
            first.session.invalidate()
            let run = try waiting.wait()
            #expect(run.status == 0, "\(run.errors)")
            let summary = try JSON.decode(EndToEnd.Hardware.Summary.self, from: run.output)
            #expect(summary.usingHardware && summary.encoderID == "org.hwdaemon.encoder.vaapi.only")
            #expect(try Probe(output).decodingMessages() == "")
        }

        @Test("A session whose process dies keeps its own slot on hardware that is full")
        func continues() throws {
            let folder = try Scratch()
            defer { withExtendedLifetime(folder) {} }
            let server = try daemon(["only"], in: folder)
            let encoder = try encoder(server, Self.required)
            let frame = [UInt8](repeating: 90, count: 128 * 128 * 3 / 2)
            try encoder.encode(frame)
            kill(try server.session(encoder.id).pid, SIGKILL)
            try encoder.encode(frame)
            try encoder.finish()
            #expect(encoder.coded.count == 2 && encoder.session.restartCount == 1)
            #expect(try codec(encoder, server) == "org.hwdaemon.encoder.vaapi.only")
            #expect(!server.log.contains("session waits"), "\(server.log)")
        }
    }
}
