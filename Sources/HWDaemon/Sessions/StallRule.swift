// SPDX-License-Identifier: GPL-2.0-or-later

/// When a worker hangs: one codec call that goes on and on without progress.
///
/// The numbers come from an untrusted process. A time in the future counts as the moment it was first seen, so that no
/// value holds the rule off for longer than the limit; a worker that keeps pretending progress harms its own session only.
struct StallRule {
    /// What the stats page says at one moment; times in monotonic nanoseconds.
    struct Reading {
        /// Since when the codec has been working on one job; 0 when idle.
        var busySince: UInt64
        /// When progress was last made.
        var progress: UInt64
        /// Packets given out; a change is progress too.
        var framesOut: UInt64 = 0
        /// Since when the client has held every packet slot; 0 when it does not.
        var slotsFullSince: UInt64 = 0
    }

    /// Nanoseconds without progress that are too long.
    private(set) var limit: UInt64
    /// Nanoseconds a worker may wait for its client; the worker ends such a session itself, with a better reason.
    let clientLimit: UInt64

    private var busy = Mark()
    private var progress = Mark()
    private var slotsFull = Mark()
    private var framesOut: UInt64 = 0
    private var lastPacket: UInt64 = 0

    init(limit: Duration, clientLimit: Duration) {
        self.limit = Self.nanoseconds(limit)
        self.clientLimit = Self.nanoseconds(clientLimit)
    }

    /// Another limit from now on.
    mutating func setLimit(_ limit: Duration) { self.limit = Self.nanoseconds(limit) }

    /// Whether the worker hangs, by a reading taken at `now`.
    mutating func isStalled(_ reading: Reading, now: UInt64) -> Bool {
        let busySince = busy.read(reading.busySince, now: now)
        let progressAt = progress.read(reading.progress, now: now)
        let slotsFullSince = slotsFull.read(reading.slotsFullSince, now: now)
        if reading.framesOut != framesOut {
            framesOut = reading.framesOut
            lastPacket = now
        }
        guard reading.busySince != 0 else { return false }
        if reading.slotsFullSince != 0, now - slotsFullSince <= clientLimit { return false }
        return now - max(busySince, progressAt, lastPacket) > limit
    }

    private static func nanoseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : whole.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000).partialValue
    }

    /// A time as another process tells it, and what it counts as: never later than its first sight.
    private struct Mark {
        private var told: UInt64 = 0
        private var counted: UInt64 = 0

        mutating func read(_ value: UInt64, now: UInt64) -> UInt64 {
            if value != told {
                told = value
                counted = min(value, now)
            }
            return min(counted, now)
        }
    }
}
