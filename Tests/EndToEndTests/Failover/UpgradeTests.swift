// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults.Failover {
    /// Encodes that run while the daemon is upgraded.
    @Suite struct Upgrade {
        /// Upgrades a daemon and returns the process that serves then.
        private func upgrade(_ server: TestDaemon) throws -> Int32 {
            kill(server.pid, SIGUSR2)
            let pattern = /successor=([0-9]+)/
            try #require(eventually { server.log.contains(pattern) }, "\(server.log)")
            return try #require(server.log.firstMatch(of: pattern).flatMap { Int32($0.1) })
        }

        @Test(
            "An encode finishes with all frames while the new daemon serves another", arguments: [nil, "crash 9"])
        func finishes(fault: String?) throws {
            let faulty = try Faulty()
            let server = faulty.server
            let structure = Structure.pyramid
            func encoder() throws -> Encoder {
                try Encoder(
                    server.daemon, faulty.raw.format, width: EndToEndFaults.Failover.width,
                    height: EndToEndFaults.Failover.height, properties: structure.properties)
            }
            let first = try encoder()
            for frame in faulty.raw.frames.prefix(6) { try first.encode(frame) }
            let successor = try upgrade(server)
            defer { kill(successor, SIGKILL) }
            if let fault { try faulty.fail([fault]) }
            // A process that fails continues under the new daemon.
            for frame in faulty.raw.frames[6..<30] { try first.encode(frame) }
            let second = try encoder()
            for frame in faulty.raw.frames { try second.encode(frame) }
            try second.finish()
            let parent = ProcessEntry.children(of: successor).filter { $0.name.hasPrefix("hwdaemon-") }
            #expect(!parent.isEmpty)
            for frame in faulty.raw.frames[30...] { try first.encode(frame) }
            try first.finish()
            #expect(first.session.restartCount == (fault == nil ? 0 : 1))
            try EndToEnd.EncodedRun(encoder: first, raw: faulty.raw).check("upgraded")
            try EndToEnd.EncodedRun(encoder: second, raw: faulty.raw).check("under the new daemon")
            first.session.invalidate()
            #expect(eventually { ProcessEntry(server.pid)?.state ?? "Z" == "Z" }, "\(server.log)")
        }
    }
}
