// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import HWDTransport
import Testing

@testable import HWDaemon

@Suite("Admission of sessions, and the calls that wait for a slot")
struct SessionAdmissionTests {
    private let parts: BrokerParts
    private let session = SessionRegistry.Running.small("a", uid: 1)
    private let refusal = Refusal(.maxSessions, .videoEncoderNotAvailableNow, "full")

    /// A daemon with one slot, which is taken.
    init() throws {
        parts = try BrokerParts { $0.maxSessions = 1 }
        _ = parts.table.adopt(HandedSession(session))
    }

    private func freeSlot() { _ = parts.table.finishAdopted(BrokerParts.result(session, BrokerParts.closed)) }

    @Test func aSlotIsFreeWhenTheSessionEnds() throws {
        let request = try parts.request()
        let refusal = #expect(throws: Refusal.self) { try parts.admission.check(request) }
        #expect(refusal?.cause == .maxSessions)
        freeSlot()
        let (memory, registry) = try parts.admission.check(request)
        #expect(memory.initial > 0)
        // Nothing is taken before a process has started.
        #expect(registry.running.isEmpty && parts.table.registry.running.isEmpty)
    }

    @Test func aStoppingDaemonHasNone() throws {
        freeSlot()
        parts.context.phase = .draining
        let refusal = #expect(throws: Refusal.self) { try parts.admission.check(try parts.request()) }
        #expect(refusal?.cause == .shuttingDown)
    }

    @Test(
        "Only a call that asks for it waits, for a slot that may come",
        arguments: [
            ("", false), (",\"max_wait_ms\":60000", true),
            (",\"max_wait_ms\":60000,\"properties\":{\"RealTime\":true}", false),
        ])
    func whoWaits(_ changes: String, _ waits: Bool) throws {
        #expect(parts.admission.wait(try parts.request(changes), because: refusal, parts.context.logger) == waits)
        #expect(parts.admission.waitingCount == (waits ? 1 : 0))
        let other = Refusal(.spawnFailed, .couldNotCreateInstance, "no process")
        #expect(!parts.admission.wait(try parts.request(changes), because: other, parts.context.logger))
    }

    @Test func theFirstCallStartsWhenASlotIsFree() throws {
        var started: [Duration] = []
        var refused = 0
        parts.admission.start = { started.append($0.call.maxWait) }
        parts.admission.refuse = { _, _ in refused += 1 }
        for milliseconds in [50_000, 60_000] {
            let request = try parts.request(",\"max_wait_ms\":\(milliseconds)")
            #expect(parts.admission.wait(request, because: refusal, parts.context.logger))
        }
        parts.admission.serve()
        #expect(started.isEmpty && parts.admission.waitingCount == 2)
        freeSlot()
        let next = SessionRegistry.Running.small("b", uid: 1)
        parts.admission.start = {
            started.append($0.call.maxWait)
            // Its session takes the slot.
            _ = parts.table.adopt(HandedSession(next))
        }
        parts.admission.serve()
        #expect(started == [.milliseconds(50_000)] && refused == 0 && parts.admission.waitingCount == 1)
    }

    @Test func aCallThatHasWaitedForTooLongIsRefused() throws {
        var reasons: [String] = []
        parts.admission.refuse = { reasons.append($1.error.reason) }
        #expect(
            parts.admission.wait(
                try parts.request(",\"max_wait_ms\":1"), because: refusal, parts.context.logger))
        let deadline = MonotonicTime.now + .milliseconds(2)
        while MonotonicTime.now < deadline {}
        parts.admission.serve()
        #expect(reasons.count == 1 && reasons.first?.contains("the call waited 0.001 s (max_wait_ms)") == true)
        #expect(parts.admission.waitingCount == 0)
    }

    @Test func callsOfAClientThatIsGoneAreForgottenAndTheRestRefusedAtTheEnd() throws {
        var causes: [Refusal.Cause] = []
        parts.admission.refuse = { causes.append($1.cause) }
        let requests = try (0..<3).map { _ in try parts.request(",\"max_wait_ms\":60000") }
        for request in requests { _ = parts.admission.wait(request, because: refusal, parts.context.logger) }
        parts.admission.stopWaiting(requests[1].connection)
        #expect(parts.admission.waitingCount == 2)
        parts.admission.refuseAll()
        #expect(causes == [.shuttingDown, .shuttingDown] && parts.admission.waitingCount == 0)
    }

    @Test func onlyCallsThatAwaitTheirReplyMoveToAnotherDaemon() throws {
        let request = try parts.request(",\"max_wait_ms\":60000")
        _ = parts.admission.wait(request, because: refusal, parts.context.logger)
        // No call was read on the connection.
        parts.admission.move { _, _ in
            Issue.record("a call was handed over")
            return .sent
        }
        #expect(parts.admission.waitingCount == 1)
        request.connection.resume(String(decoding: request.call.text, as: UTF8.self), waiting: .seconds(60))
        parts.admission.move { _, _ in .full }
        #expect(parts.admission.waitingCount == 1 && !request.connection.isClosed)
        parts.admission.move { moved, rest in
            #expect(moved.connection === request.connection && rest > .zero)
            return .sent
        }
        #expect(parts.admission.waitingCount == 0 && request.connection.isClosed)
    }
}
