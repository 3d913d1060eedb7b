// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDModel
import HWDTransport
import HWDWire

/// `nofile N`: a broker with N descriptors refuses further sessions, serves the running ones and recovers.
func fileLimit(count: Int, seed: UInt64) throws {
    let broker = try Broker(["--max-sessions-per-user", "1000", "--max-sessions", "1000"], fileLimit: count)
    let before = broker.openFiles
    let pool = try SharedMemory(creating: "hostile-pool", size: 1 << 16)
    var sessions = try fillWithSessions(broker, limit: count)
    for session in sessions {
        _ = session.addPool(pool)
        for frame in 0..<4 { session.send(session.frame(frame)) }
        guard try session.reply(to: session.send(CompleteFrames()))?.status == .ok else {
            throw Finding("a running session did not complete at the limit")
        }
    }
    print("  \(sessions.count) running sessions encoded and completed")
    for session in sessions { try session.finish() }
    sessions = []
    guard broker.hasNoChildren() else { throw Finding("workers are left: \(broker.children)") }
    usleep(200_000)
    let session = try Session(broker.address)
    try session.finish()
    try broker.expectOrderlyEnd(session.id)
    guard broker.hasNoChildren() else { throw Finding("workers are left: \(broker.children)") }
    let after = broker.openFiles(settlingTo: before)
    print("  a new session works; broker's descriptors \(before) before, \(after) after")
    guard after <= before else { throw Finding("the broker keeps descriptors") }
    try broker.stop()
}

/// Creates sessions until the broker has refused five.
private func fillWithSessions(_ broker: Broker, limit: Int) throws -> [Session] {
    var sessions: [Session] = []
    var refusals: [String: Int] = [:]
    var refused = 0
    while refused < 5, sessions.count < limit {
        do {
            sessions.append(try Session(broker.address))
        } catch let error as SessionError {
            refused += 1
            refusals["\(error.status.name) (\(error.status.rawValue)): \(error.reason)", default: 0] += 1
            guard !error.reason.isEmpty else { throw Finding("a session was refused without a reason") }
        } catch is Session.ClosedUnanswered {
            throw Finding("after \(sessions.count) sessions a connection was closed without a reply")
        } catch let error as TransportError where error.code == .timedOut {
            throw Finding("after \(sessions.count) sessions a Create call had no reply for \(hang) s")
        }
        try broker.expectAlive()
    }
    print("  \(limit) descriptors: \(sessions.count) sessions, then")
    for (text, count) in refusals.sorted(by: { $0.key < $1.key }) { print("    \(count) × \(text)") }
    guard refused > 0, !sessions.isEmpty else {
        throw Finding("the limit was not reached, or no session was served")
    }
    return sessions
}
