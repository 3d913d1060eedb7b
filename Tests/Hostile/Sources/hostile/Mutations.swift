// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDTransport
import HWDWire
import Synchronization

/// The shared state of the campaign's threads.
private final class Tally: Sendable {
    let calls = Atomic<Int>(0)
    let messages = Atomic<Int>(0)
    let isDone = Atomic<Bool>(false)
    let findings = Mutex<[String]>([])
    let notes = Mutex<[String]>([])

    var total: Int { calls.load(ordering: .relaxed) + messages.load(ordering: .relaxed) }

    func guarded(_ body: () throws -> Void) {
        do { try body() } catch {
            findings.withLock { $0.append("\(error)") }
            isDone.store(true, ordering: .relaxed)
        }
    }
}

/// `mutations N`: after N mutated calls and messages the broker still runs and replies, and has leaked nothing.
func mutations(count: Int, seed: UInt64) throws {
    let broker = try Broker(["--max-sessions-per-user", "32"])
    // Allocations made once (the encoder list, the first probe, buffers) do not count as growth.
    var warmup = CallCampaign(broker, seed: seed &+ 99)
    for _ in 0..<50 { _ = try warmup.connection() }
    var warmupMessages = try MessageCampaign(broker, seed: seed &+ 98)
    for _ in 0..<10 { _ = try warmupMessages.session() }
    guard broker.hasNoChildren() else { throw Finding("children are left after the warm-up") }
    let before = (files: broker.openFiles, memory: broker.residentKiB)

    let start = MonotonicTime.now
    let tally = Tally()
    let watch = try Thread.spawn(name: "watch") { tally.guarded { try keepAsking(broker, tally) } }
    let threads = try (0..<4).map { index in
        try Thread.spawn(name: "mutate\(index)") {
            tally.guarded { try mutate(broker, tally, count: count, seed: seed &+ UInt64(index)) }
        }
    }
    for thread in threads { thread.join() }
    tally.isDone.store(true, ordering: .relaxed)
    watch.join()
    let seconds = Double(MonotonicTime.now.nanoseconds(since: start)) / 1e9

    for note in tally.notes.withLock({ $0 }) { print("  \(note)") }
    print(
        "  \(tally.calls.load(ordering: .relaxed)) calls and \(tally.messages.load(ordering: .relaxed)) messages in",
        "\(rounded(seconds)) s (\(Int(Double(tally.total) / seconds)) a second)")
    if let finding = tally.findings.withLock({ $0.first }) { throw Finding(finding) }
    guard broker.hasNoChildren() else { throw Finding("children are left: \(broker.children)") }
    usleep(500_000)
    let after = (files: broker.openFiles, memory: broker.residentKiB)
    print(
        "  broker: descriptors \(before.files) before, \(after.files) after; resident \(before.memory) KiB before,",
        "\(after.memory) KiB after")
    guard after.files <= before.files + 2 else { throw Finding("the broker keeps descriptors") }
    // The broker keeps 256 results of ended sessions for each user, and the sanitizer has pages of its own.
    guard after.memory < before.memory + 64 << 10 else { throw Finding("the broker's memory grew") }
    try broker.stop()
}

/// One thread's share: five sixths are calls.
private func mutate(_ broker: Broker, _ tally: Tally, count: Int, seed: UInt64) throws {
    var calls = CallCampaign(broker, seed: seed)
    var messages = try MessageCampaign(broker, seed: seed ^ 0x5555)
    while !tally.isDone.load(ordering: .relaxed), tally.total < count {
        if tally.messages.load(ordering: .relaxed) * 6 < tally.total {
            tally.messages.add(try messages.session(), ordering: .relaxed)
        } else {
            tally.calls.add(try calls.connection(), ordering: .relaxed)
        }
        try broker.expectAlive()
    }
    let ends = messages.ends.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    tally.notes.withLock {
        $0.append(
            "\(calls.connections) connections, \(calls.replies) replies; \(messages.sessions) sessions: "
                + ends.joined(separator: ", "))
    }
}

/// Calls GetInfo repeatedly while the other threads attack.
private func keepAsking(_ broker: Broker, _ tally: Tally) throws {
    var times: [Double] = []
    var peak = 0
    let call = try VarlinkCall.encode(method: "org.varlink.service.GetInfo", parameters: Empty())
    while !tally.isDone.load(ordering: .relaxed) {
        try broker.expectAlive()
        let start = MonotonicTime.now
        let connection = try UnixSocket.connect(to: broker.address)
        let deadline = start + .seconds(hang)
        try VarlinkConnection.send(call, to: connection.rawValue, deadline: deadline)
        var receiver = VarlinkConnection.replyReceiver()
        guard
            try VarlinkConnection.receive(from: connection.rawValue, with: &receiver, deadline: deadline) != nil
        else { throw Finding("GetInfo was not answered") }
        times.append(milliseconds(since: start))
        peak = max(peak, broker.residentKiB)
        usleep(50_000)
    }
    guard !times.isEmpty else { return }
    tally.notes.withLock {
        $0.append(
            "GetInfo answered \(times.count) times: p50 \(rounded(percentile(times, 0.5))) ms,"
                + " longest \(rounded(times.max() ?? 0)) ms; resident at most \(peak) KiB")
    }
}
