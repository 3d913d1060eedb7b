// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import HWDTransport
import HWDWire
import Testing

@testable import HWDaemon

@Suite("The table of sessions")
struct SessionTableTests {
    private static func handed(_ id: String, framesIn: UInt64 = 9, codecID: String? = nil) -> HandedSession {
        var session = HandedSession(SessionRegistry.Running.small(id, uid: 7))
        (session.framesIn, session.framesOut, session.bytesOut) = (framesIn, 4, 100)
        session.running.codecID = codecID
        return session
    }

    private static func question(_ id: String, timeout: Int) throws -> VarlinkCall {
        try VarlinkCall(
            decoding: Array(
                "{\"method\":\"\(GetSessionResult.method)\",\"parameters\":{\"session\":\"\(id)\",\"timeout_ms\":\(timeout)}}"
                    .utf8))
    }

    @Test func listsSessionsOfTheDaemonBeforeWithTheirCounters() throws {
        let table = try BrokerParts().table
        #expect(!table.adopt(Self.handed("a")))
        #expect(table.adopt(Self.handed("a", codecID: "gpu")))
        #expect(!table.adopt(Self.handed("a", framesIn: 10, codecID: "gpu")))
        let listed = try #require(table.list(for: 7).first)
        #expect(listed.session == "a" && listed.codec == "hevc" && listed.codecID == "gpu")
        #expect((listed.width, listed.height, listed.pixelFormat) == (64, 64, "NV12"))
        #expect((listed.framesIn, listed.framesOut, listed.pendingFrames) == (10, 4, 6))
        #expect(table.list(for: 8).isEmpty && table.present.running == 1)
    }

    @Test func repliesHowASessionEndedToThoseThatWait() throws {
        let parts = try BrokerParts()
        let session = Self.handed("a")
        _ = parts.table.adopt(session)
        let (patient, impatient, gone) = (try parts.connect(), try parts.connect(), try parts.connect())
        // Root sees all sessions; others get the same error as for none.
        guard patient.peer.uid == 0 else {
            #expect(throws: VarlinkError.self) {
                try parts.table.result(try Self.question("a", timeout: 0), patient)
            }
            return
        }
        try parts.table.result(try Self.question("a", timeout: 10_000), patient)
        try parts.table.result(try Self.question("a", timeout: 10_000), gone)
        try parts.table.result(try Self.question("a", timeout: 0), impatient)
        #expect(try parts.clients[1].reply().parameters?["reason"] == .string("the session is still running"))
        parts.table.stopWaiting(gone)
        #expect(parts.table.finishAdopted(BrokerParts.result(session.running, BrokerParts.closed)))
        parts.table.reply(BrokerParts.closed, toThoseWaitingFor: "a")
        #expect(try parts.clients[0].reply().parameters?["reason"] == .string("closed"))
        #expect(parts.clients[2].isOpen)
        let tooLong = try Self.question("a", timeout: 10_001)
        #expect(throws: VarlinkError.self) { try parts.table.result(tooLong, patient) }
    }

    @Test func slotsComeBackWhereNoProcessStarts() throws {
        let table = try BrokerParts().table
        let before = table.registry
        var taken = before
        taken.add(.small("a", uid: 1))
        table.setRegistry(taken)
        #expect(table.registry.running.count == 1)
        table.setRegistry(before)
        #expect(table.registry.running.isEmpty)
    }

    @Test func sharesOfThreadsAreCountedByUser() throws {
        let parts = try BrokerParts { $0.maxRealTimeSessionsPerUser = .count(1) }
        let live = try parts.request(",\"properties\":{\"RealTime\":true}").call
        #expect(parts.table.decideRealTime(try parts.request().call, uid: 7) == nil)
        #expect(parts.table.decideRealTime(live, uid: 7)?.refusal == nil)
        _ = parts.table.adopt(Self.handed("a"))
        #expect(parts.table.decideRealTime(of: "a").refusal == nil)
        #expect(parts.table.decideRealTime(live, uid: 7)?.refusal?.contains("MaxRealTimeSessionsPerUser") == true)
        #expect(parts.table.decideRealTime(live, uid: 8)?.refusal == nil)
    }

    @Test func memoryIsGrantedToRunningSessionsOnly() throws {
        let table = try BrokerParts().table
        let request = SessionWorker.MemoryRequest(needed: 10, wanted: 20, picture: 0)
        #expect(table.grantMemory(request, to: "a") == MemoryGrant(granted: 0, bound: 0))
        _ = table.adopt(Self.handed("a"))
        #expect(table.grantMemory(request, to: "a").refusal == nil)
    }
}
