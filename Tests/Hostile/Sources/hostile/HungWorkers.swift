// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire

/// `hang N`: stops workers N times in each state that they can hang in; the broker must notice and continue.
func hangs(count: Int, seed: UInt64) throws {
    let settings = ["--stall-timeout", "2", "--set", "HardwareStallTimeout=1"]
    let broker = try Broker(settings, isShared: true)
    try besideBystander(broker) {
        var idle = 0.0
        for _ in 0..<count { idle = max(idle, try timeToKill(broker, hangsUp: false)) }
        print("  a stopped worker was killed after \(rounded(idle / 1000)) s at most (StallTimeout 2 s)")
    }
    try broker.stop()

    let unhurried = try Broker(isShared: true)
    try besideBystander(unhurried) {
        var abandoned = 0.0
        for _ in 0..<count { abandoned = max(abandoned, try timeToKill(unhurried, hangsUp: true)) }
        print(
            "  a stopped worker whose client hung up: after \(rounded(abandoned / 1000)) s at most (StallTimeout 30 s)"
        )
    }
    try unhurried.stop()

    let other = try Broker(settings + ["--set", "SpareWorkers=1"], isShared: true)
    try besideBystander(other) {
        var latest = 0.0
        for _ in 0..<count { latest = max(latest, try timeToAnswer(other)) }
        print(
            "  Create whose spare is stopped: another process serves after \(rounded(latest / 1000)) s at most "
                + "(HardwareStallTimeout 1 s)"
        )
    }
    try other.stop()
}

/// Milliseconds until a stopped worker is gone.
private func timeToKill(_ broker: Broker, hangsUp: Bool) throws -> Double {
    var session: Session? = try Session(broker.address)
    guard let id = session?.id, let pid = try broker.sessions().first(where: { $0.session == id })?.pid else {
        throw Finding("the session is not listed")
    }
    kill(pid, SIGSTOP)
    let start = MonotonicTime.now
    if hangsUp { session = nil }
    while kill(pid, 0) == 0 {
        guard milliseconds(since: start) < Double(hang) * 1000 else {
            kill(pid, SIGKILL)
            throw Finding("a stopped worker is not killed within \(hang) s")
        }
        usleep(5000)
    }
    let time = milliseconds(since: start)
    withExtendedLifetime(session) {}
    let result = try broker.daemon.call(
        GetSessionResult.self, GetSessionResult.Parameters(session: id, timeoutMs: 60_000))
    guard result.finished, result.code != 0 else { throw Finding("the session of a stopped worker has no error") }
    return time
}

/// Milliseconds until a Create call is answered whose worker is a stopped spare.
private func timeToAnswer(_ broker: Broker) throws -> Double {
    let deadline = MonotonicTime.now + .seconds(hang)
    let served = Set(try broker.sessions().map(\.pid))
    var spare: Int32?
    while spare == nil {
        guard MonotonicTime.now < deadline else { throw Finding("there is no spare worker") }
        usleep(20_000)
        spare = broker.children.first { !served.contains($0) && text("/proc/\($0)/comm").hasPrefix("hwdaemon-enc") }
    }
    usleep(200_000)
    if let spare { kill(spare, SIGSTOP) }
    let start = MonotonicTime.now
    _ = try Session(broker.address)
    return milliseconds(since: start)
}
