// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Failures that may not last: drivers that crashed or hung in a session, and nodes on which a verification failed
/// temporarily.
struct RecentFailures {
    /// How long sessions avoid an encoder or decoder whose driver failed; otherwise each would wait for the same hang.
    static let sessionPause = Duration.seconds(60)
    /// How long a node whose verification failed temporarily is not tried again unless a client asks for it; twice as
    /// long after each further crash, hang or unstable outcome.
    private static let verificationPause = Duration.seconds(30)
    private static let maxPause = Duration.seconds(3600)
    /// Failures kept: an encoder and a decoder of every node.
    private static let maxSessionFailures = 2 * Devices.maxCount

    private var sessionFailures: [(failure: CodecFailure, until: MonotonicTime)] = []
    /// When the nodes on which something failed temporarily are verified again.
    private var retries: [String: MonotonicTime] = [:]
    /// How often in succession a node's driver crashed or hung its probe or was unstable, and until when its node is paused.
    private var failures: [String: (count: Int, until: MonotonicTime)] = [:]

    /// Adds a failure of a session, replacing an earlier one of the same encoder or decoder.
    mutating func add(_ failure: CodecFailure, now: MonotonicTime) {
        sessionFailures.removeAll { $0.failure.codecID == failure.codecID || $0.until <= now }
        if sessionFailures.count >= Self.maxSessionFailures { sessionFailures.removeFirst() }
        sessionFailures.append((failure, now + Self.sessionPause))
    }

    /// The failures of sessions that still count.
    func present(now: MonotonicTime) -> [CodecFailure] {
        sessionFailures.filter { now < $0.until }.map(\.failure)
    }

    /// Lets sessions and probes try everything again.
    mutating func forget() {
        sessionFailures = []
        failures = [:]
    }

    /// Forgets a node that may be another device now.
    mutating func forget(node: String) {
        retries[node] = nil
        failures[node] = nil
    }

    /// Drops the nodes that do not exist any more; a pause still ends in time, for nodes that only clients name.
    mutating func retain(nodes: [String], now: MonotonicTime) {
        retries = retries.filter { nodes.contains($0.key) }
        failures = failures.filter { nodes.contains($0.key) || now < $0.value.until }
    }

    /// Adds a crash, hang or unstable outcome of a node's driver in its probe.
    mutating func addFailure(of node: String, now: MonotonicTime) {
        let count = (failures[node]?.count ?? 0) + 1
        let until = now + Self.pause(after: count)
        failures[node] = (count, until)
        retries[node] = until
    }

    /// Whether a node's driver failed so recently that crashes and hangs are not tried again on request.
    func isPaused(_ node: String, now: MonotonicTime) -> Bool { failures[node].map { now < $0.until } ?? false }

    /// Notes whether something on a node failed temporarily.
    mutating func note(_ record: ProbeRecord, of subject: ProbeRequest.Subject, now: MonotonicTime) {
        guard case .node(let node) = subject else { return }
        let kinds = record.results.compactMap(\.passing)
        if kinds.contains(.unstable) {
            // Answers within the pause repeat what is known, or follow a crash that is counted.
            if !isPaused(node, now: now) { addFailure(of: node, now: now) }
        } else if !kinds.contains(.fatal) {
            failures[node] = nil
        }
        retries[node] = kinds.isEmpty ? nil : max(now + Self.verificationPause, failures[node]?.until ?? now)
    }

    /// Returns the nodes to verify again, and starts a new pause for each.
    mutating func takeNodesToRetry(among nodes: [String], now: MonotonicTime) -> [String] {
        let due = nodes.filter { node in retries[node].map { $0 < now } ?? false }
        for node in due { retries[node] = now + Self.pause(after: failures[node]?.count ?? 1) }
        return due
    }

    private static func pause(after count: Int) -> Duration {
        min(verificationPause * (1 << min(count - 1, 10)), maxPause)
    }
}
