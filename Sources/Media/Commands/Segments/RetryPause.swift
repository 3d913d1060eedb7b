// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDTransport

/// When `hwctl encode --parallel` starts processes again after one asked for another try, because the daemon had no slot for
/// its sessions, say.
struct RetryPause {
    private static let (shortest, longest) = (Duration.seconds(1), Duration.seconds(30))
    /// The most failures while no other process of the job runs, and the most pauses, without a success in between.
    ///
    /// So many pauses take eight hours: processes that fail in turn would otherwise keep each other going.
    private static let (maxFailures, maxPauses) = (3, 1000)

    private var failures = 0
    private var pauses = 0
    private var next = Self.shortest
    private var end = MonotonicTime(nanoseconds: 0)

    /// Whether processes may start.
    func isOver(at time: MonotonicTime = .now) -> Bool { time >= end }

    /// Begins a pause, longer than the one before, unless processes may not be tried again: then false.
    ///
    /// - Parameter alone: whether no other process of the job runs, which would leave its slot when it ends.
    mutating func begin(alone: Bool, at time: MonotonicTime = .now) -> Bool {
        if alone { failures += 1 }
        guard failures < Self.maxFailures, pauses < Self.maxPauses else { return false }
        // Processes that started together fail together.
        guard isOver(at: time) else { return true }
        pauses += 1
        end = time + next
        next = min(next * 2, Self.longest)
        return true
    }

    /// A process succeeded, and its slot is free.
    mutating func reset() { self = RetryPause() }
}
