// SPDX-License-Identifier: GPL-2.0-or-later

/// Decides whether a worker is stuck outside a codec's calls, of which `StallRule` decides: its counters do not change,
/// although an idle worker's heartbeat does.
///
/// The counters come from an untrusted process; only changes count. Time is counted from check to check, at most
/// `StallClock.maxStep` each time.
struct SilenceRule {
    private var last: StallRule.Reading?
    private var lastCheck: UInt64 = 0
    private var silence: UInt64 = 0
    private var clock = StallClock()

    /// Whether nothing has changed for `limit`, according to a reading taken at `now`.
    ///
    /// - Parameter use: measures the processor use of the worker's process; returns nil if that is not known.
    mutating func isSilent(
        _ reading: StallRule.Reading, now: UInt64, limit: Duration, use: () -> ProcessorUse? = { nil }
    ) -> Bool {
        let elapsed = min(now - min(now, lastCheck), StallClock.maxStep)
        let isUnchanged = reading == last && reading.busySince == 0
        (last, lastCheck) = (reading, now)
        guard isUnchanged else {
            silence = 0
            clock.reset()
            return false
        }
        let most = StallRule.nanoseconds(limit)
        guard silence.saturatingSum(elapsed) > most / 2 else {
            silence += elapsed
            return false
        }
        let present = use()
        let step = clock.advance(to: now, present)
        silence = silence.saturatingSum(step ?? elapsed)
        // The first measurement shows no starvation yet.
        if present != nil, step == nil { silence = min(silence, most) }
        return silence > most
    }
}
