// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire

/// `lockout N`: N users take all the connections and sessions they can get and leave them idle; root and another user
/// must still be served, and what is idle must come back.
func lockout(count: Int, seed: UInt64) throws {
    guard Users.canSwitch(for: "users who lock out others") else { return }
    // Longer than the attack takes to begin.
    let broker = try Broker(["--set", "IdleTimeout=8", "--set", "PrepareTimeout=8"], isShared: true)
    try besideBystander(broker) {
        try lockOut(broker, users: count, "connections", ["idler", broker.address, "64"]) {
            _ = try broker.daemon.call(GetFeatures.self, Empty())
            let other = try Helper(["caller", broker.address, "1"], user: Users.caller).finish()
            print("  meanwhile root is served; another user: \(String(decoding: other, as: UTF8.self).dropLast())")
        }
        try lockOut(broker, users: count, "sessions", ["hoarder", broker.address, "16"]) {
            try Session(broker.address).finish()
            _ = try Helper(["hoarder", broker.address, "1"], user: Users.caller).finish()
            print("  meanwhile root and another user have a session")
        }
    }
    try broker.stop()
}

/// Starts helpers of several users, checks others meanwhile, and waits until the helpers have lost everything.
private func lockOut(
    _ broker: Broker, users: Int, _ what: String, _ arguments: [String], _ check: () throws -> Void
) throws {
    let helpers = try (0..<users).map { try Helper(arguments, user: Users.caller + 1 + UInt32($0)) }
    for helper in helpers { try helper.waitForOutput() }
    let counts = helpers.compactMap { Int($0.text.split(separator: "\n").first ?? "") }
    print("  \(users) users got \(counts.map(String.init).joined(separator: " + ")) idle \(what)")
    try check()
    for helper in helpers {
        let lines = String(decoding: try helper.finish(), as: UTF8.self).split(separator: "\n")
        guard lines.count > 1 else { throw Finding("idle \(what) are never taken back") }
        if helper === helpers.last { print("  \(lines[1])") }
    }
}

/// `idler ADDRESS N`: opens N connections and makes no call; prints how many there are, and when all were closed.
func idler(_ address: String, connections: Int) throws {
    let files = try (0..<connections).map { _ in OwnedDescriptor(try UnixSocket.connect(to: address).take()) }
    let start = MonotonicTime.now
    // Refused connections are closed at once.
    usleep(1_000_000)
    let open = files.filter { !isClosed($0.number) }
    announce(open.count)
    while open.contains(where: { !isClosed($0.number) }) {
        guard milliseconds(since: start) < Double(hang) * 1000 else { return }
        usleep(20_000)
    }
    print("idle connections were closed after \(rounded(milliseconds(since: start) / 1000)) s (IdleTimeout 8 s)")
}

/// `hoarder ADDRESS N`: creates N sessions and does nothing with them; prints how many there are, and when and why all
/// ended.
func hoarder(_ address: String, sessions: Int) throws {
    let start = MonotonicTime.now
    var created: [Session] = []
    for _ in 0..<sessions {
        do { created.append(try Session(address)) } catch is SessionError { continue }
    }
    announce(created.count)
    guard sessions > 1 else {
        guard created.count == 1 else { throw Finding("no session") }
        return
    }
    var reason = ""
    for session in created {
        guard let message = try session.next(), message.opcode == Opcode.end.rawValue else { return }
        reason = try End(decoding: message.payload.span.bytes).reason
    }
    print("they ended after \(rounded(milliseconds(since: start) / 1000)) s: \(reason)")
}

private func announce(_ count: Int) {
    let line = "\(count)\n"
    _ = line.withCString { write(1, $0, strlen($0)) }
}

private func isClosed(_ number: Int32) -> Bool {
    var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) > 0
}
