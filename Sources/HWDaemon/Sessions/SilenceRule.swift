// SPDX-License-Identifier: GPL-2.0-or-later

/// Decides whether a worker is stuck outside a codec's calls, of which `StallRule` decides: its counters do not change,
/// although an idle worker's heartbeat does.
///
/// The counters come from an untrusted process; only changes count. Time is counted from check to check, at most
/// `maxStep` each time, so that a broker that was suspended itself finds no worker silent.
struct SilenceRule {
    /// Nanoseconds counted between two checks: twice the longest interval of checks.
    private static let maxStep: UInt64 = 2_000_000_000

    private var last: StallRule.Reading?
    private var lastCheck: UInt64 = 0
    private var silence: UInt64 = 0

    /// Whether nothing has changed for `limit`, according to a reading taken at `now`.
    mutating func isSilent(_ reading: StallRule.Reading, now: UInt64, limit: Duration) -> Bool {
        let elapsed = now > lastCheck ? now - lastCheck : 0
        silence = reading == last && reading.busySince == 0 ? silence + min(elapsed, Self.maxStep) : 0
        last = reading
        lastCheck = now
        return Duration.nanoseconds(Int64(clamping: silence)) > limit
    }
}
