// SPDX-License-Identifier: MIT
internal import Glibc

/// A point in time of `CLOCK_MONOTONIC`, which all processes of the machine share.
public struct MonotonicTime: Comparable, Hashable, Sendable {
    /// Nanoseconds since the clock's start.
    public let nanoseconds: UInt64

    /// Wraps a count of nanoseconds.
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// The present time.
    public static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    /// Whether `a` is earlier.
    public static func < (a: MonotonicTime, b: MonotonicTime) -> Bool { a.nanoseconds < b.nanoseconds }

    /// The time `duration` later, clamped to the clock's range.
    public static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return MonotonicTime(nanoseconds: seconds < 0 ? 0 : .max) }
        let delta = whole.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
        let magnitude = delta.magnitude
        let (sum, wrapped) =
            delta < 0
            ? time.nanoseconds.subtractingReportingOverflow(magnitude)
            : time.nanoseconds.addingReportingOverflow(magnitude)
        return MonotonicTime(nanoseconds: wrapped ? (delta < 0 ? 0 : .max) : sum)
    }

    /// Nanoseconds since `earlier`; 0 if `earlier` is later, as a value from another process can be.
    public func nanoseconds(since earlier: MonotonicTime) -> UInt64 {
        nanoseconds > earlier.nanoseconds ? nanoseconds - earlier.nanoseconds : 0
    }

    /// The timeout for poll and epoll in milliseconds, rounded up so that no wait ends early; −1 for nil.
    public static func pollTimeout(until deadline: MonotonicTime?) -> Int32 {
        guard let deadline else { return -1 }
        let left = deadline.nanoseconds(since: now)
        return Int32(clamping: left / 1_000_000 + (left % 1_000_000 == 0 ? 0 : 1))
    }
}

/// Waits until the descriptor is readable (`POLLIN`) or writable (`POLLOUT`) or has an error; false at the deadline.
func wait(_ fd: Int32, for events: Int32, until deadline: MonotonicTime?) throws(SystemError) -> Bool {
    while true {
        var entry = pollfd(fd: fd, events: Int16(events), revents: 0)
        let ready = negated(poll(&entry, 1, MonotonicTime.pollTimeout(until: deadline)))
        if ready > 0 { return true }
        if ready < 0, ready != -EINTR { throw SystemError(errno: -ready, call: "poll") }
        if ready == 0, let deadline, MonotonicTime.now >= deadline { return false }
    }
}
