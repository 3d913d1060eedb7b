// SPDX-License-Identifier: GPL-2.0-or-later

/// Decides whether a worker hangs: one codec call takes too long without progress, by a `StallClock`.
///
/// The counters come from an untrusted process. A time in the future counts as the moment at which it was first seen,
/// so that no value delays the decision beyond the limit; a worker that keeps claiming progress harms its own session
/// only.
struct StallRule {
    /// The stats page at one moment; times in monotonic nanoseconds.
    struct Reading: Equatable {
        /// The start of the present codec call; 0 if there is none.
        var busySince: UInt64
        /// The time of the last progress.
        var progress: UInt64
        /// Packets sent; a change is progress too.
        var framesOut: UInt64 = 0
        /// Since when the client has held every packet slot; 0 if slots are free.
        var slotsFullSince: UInt64 = 0
        /// The I/O thread's last heartbeat; 0 before the session exists.
        var heartbeat: UInt64 = 0
    }

    /// Nanoseconds allowed without progress.
    private(set) var limit: UInt64
    /// Nanoseconds a worker may wait for its client; the worker ends such a session itself, with a better reason.
    let clientLimit: UInt64

    private var busy = Mark()
    private var progress = Mark()
    private var slotsFull = Mark()
    private var framesOut: UInt64 = 0
    private var lastPacket: UInt64 = 0
    private var clock = StallClock()
    /// The time of the last progress, and the nanoseconds that count since then.
    private var since: UInt64 = 0
    private var counted: UInt64 = 0

    init(limit: Duration, clientLimit: Duration) {
        self.limit = Self.nanoseconds(limit)
        self.clientLimit = Self.nanoseconds(clientLimit)
    }

    /// Sets the time allowed without progress.
    mutating func setLimit(_ limit: Duration) { self.limit = Self.nanoseconds(limit) }

    /// Whether the worker hangs, according to a reading taken at `now`.
    ///
    /// - Parameter use: measures the processor use of the worker's process; returns nil if that is not known.
    mutating func isStalled(_ reading: Reading, now: UInt64, use: () -> ProcessorUse? = { nil }) -> Bool {
        let busySince = busy.read(reading.busySince, now: now)
        let progressAt = progress.read(reading.progress, now: now)
        let slotsFullSince = slotsFull.read(reading.slotsFullSince, now: now)
        if reading.framesOut != framesOut {
            framesOut = reading.framesOut
            lastPacket = now
        }
        guard reading.busySince != 0 else { return false }
        if reading.slotsFullSince != 0, now - slotsFullSince <= clientLimit { return false }
        return hasPassed(since: max(busySince, progressAt, lastPacket), now: now, use)
    }

    /// Whether more than the limit counts since the last progress; never at the first measurement, which shows no
    /// starvation yet.
    private mutating func hasPassed(since progress: UInt64, now: UInt64, _ use: () -> ProcessorUse?) -> Bool {
        if progress != since {
            (since, counted) = (progress, 0)
            clock.reset()
        }
        let elapsed = now - min(now, progress)
        guard elapsed > limit / 2 else { return false }
        let present = use()
        if let step = clock.advance(to: now, present) {
            counted = counted.saturatingSum(step)
        } else {
            // Where nothing can be measured, all time counts.
            counted = present == nil ? elapsed : min(elapsed, limit - limit / 4)
        }
        return counted > limit
    }

    /// A duration in nanoseconds, the largest number where they do not fit.
    static func nanoseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : whole.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000).partialValue
    }

    /// A time that another process reported, limited to the moment at which it was first seen.
    private struct Mark {
        private var reported: UInt64 = 0
        private var counted: UInt64 = 0

        mutating func read(_ value: UInt64, now: UInt64) -> UInt64 {
            if value != reported {
                reported = value
                counted = min(value, now)
            }
            return min(counted, now)
        }
    }
}
