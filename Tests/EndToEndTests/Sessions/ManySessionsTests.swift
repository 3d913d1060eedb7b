// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDModel
import Testing

extension EndToEnd {
    /// Ended sessions leave nothing in the broker.
    @Suite struct ManySessions {
        @Test("Sessions leave no descriptor and no zombie", ProcessEntry.canCountFiles)
        func twenty() throws { try Self.check(20) }

        @Suite struct Long {
            @Test("A hundred sessions leave no descriptor and no zombie", ProcessEntry.canCountFiles)
            func hundred() throws { try check(100) }
        }

        static func check(_ count: Int) throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.nv12, width: 64, height: 64, count: 2, in: server.folder)
            func round() throws {
                let encoder = try Encoder(server.daemon, .nv12, width: 64, height: 64, slots: 2)
                for frame in raw.frames { try encoder.encode(frame) }
                try encoder.finish()
                #expect(encoder.coded.count == 2)
                encoder.session.invalidate()
            }
            for _ in 0..<5 { try round() }
            #expect(server.hasNoWorkers())
            let before = ProcessEntry.fileCount(of: server.pid)
            for _ in 0..<count { try round() }
            #expect(server.hasNoWorkers())
            #expect(eventually { ProcessEntry.fileCount(of: server.pid) <= before })
            #expect(try server.sessions().isEmpty)
        }

        @Test("Connections without a session leave no descriptor", ProcessEntry.canCountFiles)
        func connectionsOnly() throws {
            let server = try TestDaemon()
            let before = ProcessEntry.fileCount(of: server.pid)
            for _ in 0..<100 { _ = try server.sessions() }
            #expect(eventually { ProcessEntry.fileCount(of: server.pid) <= before })
        }
    }
}
