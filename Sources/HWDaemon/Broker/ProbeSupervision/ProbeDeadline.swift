// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDTransport

/// Decides when a probe is late: it has a limit, in which time without a processor does not count.
///
/// A driver that gets no processor does not hang. A client waits for the first probes, so this extends a limit to at most
/// four times itself, and not beyond 25 s.
struct ProbeDeadline {
    private let limit: UInt64
    private let start: MonotonicTime
    private let useAtStart: ProcessorUse?
    /// The most nanoseconds that can pass.
    private var most: UInt64 { max(limit, min(min(limit, .max / 4) * 4, StallRule.nanoseconds(Self.longest))) }

    /// Creation of a session is given up after 30 s by its client.
    private static let longest = Duration.seconds(25)
    /// The shortest time from one check to the next.
    private static let shortestStep: UInt64 = 100_000_000

    /// - Parameter use: what the probe's process has used until now; nil if that is not known.
    init(_ limit: Duration, start: MonotonicTime, use: ProcessorUse?) {
        (self.limit, self.start, useAtStart) = (StallRule.nanoseconds(limit), start, use)
    }

    /// The nanoseconds after which the probe must be checked; nil if it is late.
    ///
    /// - Parameter use: what its process has used until now; nil if that is not known.
    func rest(now: MonotonicTime, use: ProcessorUse?) -> UInt64? {
        let elapsed = now.nanoseconds(since: start)
        guard elapsed < most else { return nil }
        var counted = elapsed
        if let use, let useAtStart { counted -= use.starvation(since: useAtStart, elapsed: elapsed) }
        guard counted < limit else { return nil }
        return min(max(limit - counted, Self.shortestStep), most - elapsed)
    }

    /// Seconds to a tenth: limits may be less than one.
    private static func seconds(_ nanoseconds: UInt64) -> String {
        let tenths = (nanoseconds + 50_000_000) / 100_000_000
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    /// How long a late probe took, as messages say it.
    func description(now: MonotonicTime) -> String {
        let isExtended = most > limit && now.nanoseconds(since: start) >= most
        return "\(Self.seconds(isExtended ? most : limit)) s" + (isExtended ? " on a busy machine" : "")
    }
}
