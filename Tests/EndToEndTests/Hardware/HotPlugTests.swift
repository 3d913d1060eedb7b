// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// Device nodes that come and go while the daemon runs: links to /dev/null, which the simulated driver serves.
    @Suite struct HotPlug {
        private static let names = ["left", "right"]

        private func plug(_ name: String, in folder: Scratch) throws {
            try #require(symlink("/dev/null", folder.path(name)) == 0)
        }

        private func hardware(_ server: TestDaemon) throws -> [String] {
            try server.daemon.call(ListEncoders.self, Empty()).encoders.filter(\.hardware).map(\.id)
        }

        private func waitForHardware(_ names: [String], _ server: TestDaemon) throws {
            let expected = names.map { "org.hwdaemon.encoder.vaapi.\($0)" }
            let isRight = try eventually { try hardware(server) == expected }
            let found = try hardware(server)
            #expect(isRight, "\(found) instead of \(expected): \(server.log)")
        }

        @Test("A node that comes is used; one that goes is not, and its sessions continue elsewhere")
        func comesAndGoes() throws {
            let (state, nodes) = (try Scratch(), try Scratch())
            let plan = state.path("plan/faults")
            try FileManager.default.createDirectory(
                atPath: state.path("plan"), withIntermediateDirectories: false)
            try "".write(toFile: plan, atomically: false, encoding: .utf8)
            try plug("left", in: nodes)
            let server = try SimulatedDriver.verifiedDaemon(
                state: state,
                [
                    "HWDAEMON_DEVICES": Self.names.map { nodes.path($0) }.joined(separator: ":"),
                    "HWSIM_FAULTS": plan, "HWDAEMON_SANDBOX_PATHS": state.path("plan"),
                ])
            try waitForHardware(["left"], server)
            try plug("right", in: nodes)
            try waitForHardware(["left", "right"], server)
            #expect(server.log.contains("right is there"))

            let raw = try RawFrames(
                .nv12, width: Failover.width, height: Failover.height, count: Failover.count, in: state)
            let encoder = try Encoder(
                server.daemon, raw.format, width: Failover.width, height: Failover.height,
                properties: Failover.Structure.chain.properties)
            #expect(try server.session(encoder.session.created.session).codecID?.hasSuffix(".left") == true)
            for frame in raw.frames.prefix(20) { try encoder.encode(frame) }
            unlink(nodes.path("left"))
            try waitForHardware(["right"], server)
            let cache = try String(contentsOfFile: state.path("probe-cache.json"), encoding: .utf8)
            #expect(!cache.contains("/left\"") && cache.contains("/right\""))
            // A driver whose device is gone fails; the simulated one is made to.
            try "fail 24\n".write(toFile: plan, atomically: false, encoding: .utf8)
            for frame in raw.frames[20...] { try encoder.encode(frame) }
            try encoder.finish()
            #expect(encoder.session.restartCount == 1 && encoder.session.created.usingHardware)
            try EndToEnd.EncodedRun(encoder: encoder, raw: raw).check("without its device")

            try expectMerged(server, nodes)
        }

        /// However often a node comes and goes, the daemon looks at it at most twice in each second that passes.
        private func expectMerged(_ server: TestDaemon, _ nodes: Scratch) throws {
            let before = server.log.split(separator: "\n").count
            let start = MonotonicTime.now
            for _ in 0..<200 {
                try plug("left", in: nodes)
                unlink(nodes.path("left"))
            }
            try plug("left", in: nodes)
            try waitForHardware(["left", "right"], server)
            let lines = server.log.split(separator: "\n").dropFirst(before)
            let looks = lines.count { $0.contains("device nodes have changed") }
            // A slower machine is allowed more of them.
            let most = 1 + Int(MonotonicTime.now.nanoseconds(since: start)) / 500_000_000
            #expect(looks >= 1 && looks <= most, "\(looks), at most \(most): \(lines)")
        }
    }
}
