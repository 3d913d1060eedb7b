// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDTransport
import HWDWire
import Testing

@testable import HWDaemon

@Suite("Sessions of the daemon before")
struct UpgradeControllerTests {
    /// Counts what an upgrade does.
    private final class Host: UpgradeHost {
        var events: [String] = []
        var listeningSocket: (file: Int32, path: String?)?
        var openConnections: [ClientConnection] { [] }
        func own(socket path: String?) { events.append("own") }
        func adopt(_ file: consuming OwnedFD) -> ClientConnection? { nil }
        func stopServing() { events.append("stopServing") }
        func drain() { events.append("drain") }
        func endSessions() { events.append("endSessions") }
        func refuseWaiting() { events.append("refuseWaiting") }
        func slotsAreFree() { events.append("slotsAreFree") }
        func reportStatus() { events.append("reportStatus") }
        func endIfDrained() { events.append("endIfDrained") }
    }

    private let parts: BrokerParts
    private let host = Host()
    private let upgrades: UpgradeController

    init() throws {
        parts = try BrokerParts()
        upgrades = UpgradeController(
            parts.context, parts.table, parts.admission, manager: try ServiceManager(), host: host)
    }

    private func handed(_ id: String) -> HandedSession {
        var session = HandedSession(SessionRegistry.Running.small(id, uid: 1))
        (session.running.codecID, session.running.usingHardware) = ("gpu", true)
        return session
    }

    @Test func countUntilTheirResultComes() throws {
        upgrades.adopt([handed("a"), handed("b")])
        #expect(parts.table.registry.running.count == 2 && host.events.isEmpty)
        var ended = HandedSession(BrokerParts.result(handed("a").running, BrokerParts.closed))
        ended.framesIn = 3
        upgrades.adopt([ended])
        #expect(parts.table.adopted.keys.sorted() == ["b"] && parts.table.registry.running.count == 1)
        #expect(try parts.table.registry.entry("a", for: 1, now: .now) == .ended(BrokerParts.closed))
        #expect(host.events == ["slotsAreFree"])
        // The same result again is no news.
        upgrades.adopt([ended])
        #expect(host.events == ["slotsAreFree"])
    }

    @Test func mayContinueAfterTheirDaemonHasEnded() throws {
        upgrades.adopt([handed("a")])
        upgrades.predecessorEnded()
        #expect(parts.table.adopted.isEmpty && !upgrades.hasPredecessor)
        #expect(host.events == ["slotsAreFree", "reportStatus", "endIfDrained"])
        let past = try parts.table.registry.resume("a", uid: 1, kind: .compression, now: .now)
        #expect(past.map(\.cause) == [.vanished])
    }

    @Test func noUpgradeBeginsWithoutASocketOrWhileTheDaemonStops() throws {
        upgrades.start()
        host.listeningSocket = (file: -1, path: nil)
        parts.context.phase = .draining
        upgrades.start()
        #expect(host.events.isEmpty && upgrades.failure == nil)
    }
}
