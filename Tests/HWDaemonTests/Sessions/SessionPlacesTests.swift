// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import HWDTransport
import Testing

@testable import HWDaemon

@Suite("Places of sessions, and the calls that wait for one")
struct SessionPlacesTests {
    private let parts: BrokerParts
    private let session = SessionRegistry.Running.small("a", uid: 1)
    private let refusal = Refusal(.maxSessions, .videoEncoderNotAvailableNow, "full")

    /// A daemon with one place, which is taken.
    init() throws {
        parts = try BrokerParts { $0.maxSessions = 1 }
        _ = parts.table.adopt(HandedSession(session))
    }

    private func freePlace() { _ = parts.table.finishAdopted(BrokerParts.result(session, BrokerParts.closed)) }

    @Test func aPlaceIsFreeWhenTheSessionEnds() throws {
        let request = try parts.request()
        let refusal = #expect(throws: Refusal.self) { try parts.places.check(request) }
        #expect(refusal?.cause == .maxSessions)
        freePlace()
        let (memory, slots) = try parts.places.check(request)
        #expect(memory.initial > 0)
        // Nothing is taken before a process has started.
        #expect(slots.running.isEmpty && parts.table.registry.running.isEmpty)
    }

    @Test func aStoppingDaemonHasNone() throws {
        freePlace()
        parts.context.phase = .draining
        let refusal = #expect(throws: Refusal.self) { try parts.places.check(try parts.request()) }
        #expect(refusal?.cause == .shuttingDown)
    }

    @Test(
        "Only a call that asks for it waits, for a place that may come",
        arguments: [
            ("", false), (",\"max_wait_ms\":60000", true),
            (",\"max_wait_ms\":60000,\"properties\":{\"RealTime\":true}", false),
        ])
    func whoWaits(_ changes: String, _ waits: Bool) throws {
        #expect(parts.places.wait(try parts.request(changes), because: refusal, parts.context.logger) == waits)
        #expect(parts.places.waitingCount == (waits ? 1 : 0))
        let other = Refusal(.spawnFailed, .couldNotCreateInstance, "no process")
        #expect(!parts.places.wait(try parts.request(changes), because: other, parts.context.logger))
    }

    @Test func theFirstCallStartsWhenAPlaceIsFree() throws {
        var started: [Duration] = []
        var refused = 0
        parts.places.start = { started.append($0.call.maxWait) }
        parts.places.refuse = { _, _ in refused += 1 }
        for milliseconds in [50_000, 60_000] {
            let request = try parts.request(",\"max_wait_ms\":\(milliseconds)")
            #expect(parts.places.wait(request, because: refusal, parts.context.logger))
        }
        parts.places.serve()
        #expect(started.isEmpty && parts.places.waitingCount == 2)
        freePlace()
        let next = SessionRegistry.Running.small("b", uid: 1)
        parts.places.start = {
            started.append($0.call.maxWait)
            // Its session takes the place.
            _ = parts.table.adopt(HandedSession(next))
        }
        parts.places.serve()
        #expect(started == [.milliseconds(50_000)] && refused == 0 && parts.places.waitingCount == 1)
    }

    @Test func aCallThatHasWaitedForTooLongIsRefused() throws {
        var reasons: [String] = []
        parts.places.refuse = { reasons.append($1.error.reason) }
        #expect(
            parts.places.wait(
                try parts.request(",\"max_wait_ms\":1"), because: refusal, parts.context.logger))
        let deadline = MonotonicTime.now + .milliseconds(2)
        while MonotonicTime.now < deadline {}
        parts.places.serve()
        #expect(reasons.count == 1 && reasons.first?.contains("the call waited 0.001 s (max_wait_ms)") == true)
        #expect(parts.places.waitingCount == 0)
    }

    @Test func callsOfAClientThatIsGoneAreForgottenAndTheRestRefusedAtTheEnd() throws {
        var causes: [Refusal.Cause] = []
        parts.places.refuse = { causes.append($1.cause) }
        let requests = try (0..<3).map { _ in try parts.request(",\"max_wait_ms\":60000") }
        for request in requests { _ = parts.places.wait(request, because: refusal, parts.context.logger) }
        parts.places.stopWaiting(requests[1].connection)
        #expect(parts.places.waitingCount == 2)
        parts.places.refuseAll()
        #expect(causes == [.shuttingDown, .shuttingDown] && parts.places.waitingCount == 0)
    }

    @Test func onlyCallsThatAwaitTheirReplyMoveToAnotherDaemon() throws {
        let request = try parts.request(",\"max_wait_ms\":60000")
        _ = parts.places.wait(request, because: refusal, parts.context.logger)
        // No call was read on the connection.
        parts.places.move { _, _ in
            Issue.record("a call was handed over")
            return .sent
        }
        #expect(parts.places.waitingCount == 1)
        request.connection.resume(String(decoding: request.call.text, as: UTF8.self), waiting: .seconds(60))
        parts.places.move { _, _ in .full }
        #expect(parts.places.waitingCount == 1 && !request.connection.isClosed)
        parts.places.move { moved, rest in
            #expect(moved.connection === request.connection && rest > .zero)
            return .sent
        }
        #expect(parts.places.waitingCount == 0 && request.connection.isClosed)
    }
}
