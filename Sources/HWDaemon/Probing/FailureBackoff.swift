// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDTransport
internal import HWDWire

/// Hardware encoders and decoders whose drivers crashed or hung while a session opened them, left alone for a while.
///
/// Without it every session would wait for the same hang again.
struct FailureBackoff {
    /// How long each is left alone.
    static let pause = Duration.seconds(60)
    /// How many are remembered: an encoder and a decoder for every node.
    private static let maximum = 2 * Devices.maximum

    private var failures: [(failure: CodecFailure, until: MonotonicTime)] = []

    /// Remembers a failure.
    mutating func add(_ failure: CodecFailure, now: MonotonicTime) {
        failures.removeAll { $0.failure.codecID == failure.codecID || $0.until <= now }
        if failures.count >= Self.maximum { failures.removeFirst() }
        failures.append((failure, now + Self.pause))
    }

    /// The failures that still count.
    func present(now: MonotonicTime) -> [CodecFailure] {
        failures.filter { now < $0.until }.map(\.failure)
    }

    /// The machine is looked at anew: everything gets another chance.
    mutating func forget() { failures = [] }
}
