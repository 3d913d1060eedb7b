// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Failures that may not last: drivers that crashed or hung in a session, and nodes on which a verification failed
/// temporarily.
struct RecentFailures {
    /// How long sessions avoid an encoder or decoder whose driver failed; otherwise each would wait for the same hang.
    static let sessionPause = Duration.seconds(60)
    /// How long a node whose verification failed temporarily is left alone before a session has it verified again.
    private static let verificationPause = Duration.seconds(30)
    /// Failures kept: an encoder and a decoder of every node.
    private static let maxSessionFailures = 2 * Devices.maxCount

    private var sessionFailures: [(failure: CodecFailure, until: MonotonicTime)] = []
    /// When the nodes on which something failed temporarily were last verified.
    private var verified: [String: MonotonicTime] = [:]

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

    mutating func forgetSessionFailures() { sessionFailures = [] }

    /// Notes whether something on a node failed temporarily.
    mutating func note(_ record: ProbeRecord, of subject: ProbeRequest.Subject, now: MonotonicTime) {
        guard case .node(let node) = subject else { return }
        verified[node] = record.results.contains { $0.passing != nil } ? now : nil
    }

    /// Returns the nodes to verify again, and starts a new pause for each.
    mutating func takeNodesToRetry(among nodes: [String], now: MonotonicTime) -> [String] {
        let due = nodes.filter { node in verified[node].map { $0 + Self.verificationPause < now } ?? false }
        for node in due { verified[node] = now }
        return due
    }
}
