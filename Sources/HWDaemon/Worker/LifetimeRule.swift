// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Decides when a worker ends its session by itself: because the client has not prepared it in time, or because the
/// broker was killed.
///
/// Without a broker nobody counts the session or notices that it hangs: it may continue only while it makes
/// progress.
struct LifetimeRule {
    /// What changes while a session does anything.
    struct Activity: Equatable {
        /// Messages of the client so far.
        var messages: UInt64 = 0
        var framesOut: UInt64 = 0
        /// When the codec last made progress, in monotonic nanoseconds.
        var progress: UInt64 = 0
    }

    /// Whether the client has registered a pool or prepared the session.
    var isPrepared = false
    /// How long a session without a broker may be idle, or a codec's call take.
    let idleLimit: Duration

    private let limits: WorkerLimits
    private let began = MonotonicTime.now
    private var orphaned: MonotonicTime?
    private var lastActivity = Activity()
    private var lastChange = MonotonicTime.now

    init(_ limits: WorkerLimits) {
        self.limits = limits
        idleLimit = .seconds(
            max(limits.clientStallSeconds, limits.softwareStallSeconds, limits.hardwareStallSeconds))
    }

    /// Records that the broker is gone.
    mutating func brokerEnded(now: MonotonicTime) {
        orphaned = now
        lastChange = now
    }

    /// Records what the session has done; true if it is an orphan and has done something since the last call.
    mutating func record(_ activity: Activity, now: MonotonicTime) -> Bool {
        guard activity != lastActivity else { return false }
        lastActivity = activity
        lastChange = now
        return orphaned != nil
    }

    /// Why the session must end now, with the status for its client; nil if it may continue.
    func end(_ kind: SessionKind, now: MonotonicTime) -> SessionError? {
        if let orphaned, now >= orphaned + .seconds(limits.orphanSeconds) {
            return SessionError(
                kind.notAvailableNow,
                "the daemon has ended, and sessions may continue for \(Self.text(limits.orphanSeconds)) s "
                    + "(OrphanTimeout)")
        }
        if orphaned != nil, now >= lastChange + idleLimit {
            return SessionError(
                kind.notAvailableNow,
                "the daemon has ended, and the session was idle for \(Self.text(idleLimit / .seconds(1))) s")
        }
        if !isPrepared, limits.prepareSeconds > 0, now >= began + .seconds(limits.prepareSeconds) {
            return SessionError(
                .invalidSession,
                "the client neither registered a pool nor prepared the session within "
                    + "\(Self.text(limits.prepareSeconds)) s (PrepareTimeout)")
        }
        return nil
    }

    private static func text(_ seconds: Double) -> String {
        seconds == seconds.rounded() ? String(Int64(seconds)) : String(seconds)
    }
}
