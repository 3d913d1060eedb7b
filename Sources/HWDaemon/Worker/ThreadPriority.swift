// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDPolicy
internal import HWDTransport

/// The priority of a session's codec thread, and of the threads that a codec starts from it.
///
/// It only falls: no process may raise it again without a privilege. A spare worker has the daemon's until its session is known.
public struct ThreadPriority {
    private var present = SessionPriority.realTime
    private var isGranted = false
    private let share: RealTimeShare

    /// The priority of a session with a share of those with `RealTime`.
    public init(_ share: RealTimeShare) { self.share = share }

    /// Lowers the calling thread's priority if that of the session is lower, or its user's share is used up.
    ///
    /// Where the kernel refuses, the thread keeps its priority: the session is served all the same.
    /// - Returns: why it is lower than the properties say, where the client does not know that yet.
    public mutating func lower(to priority: SessionPriority) -> String? {
        guard priority == .realTime, present == .realTime, !isGranted else {
            fall(to: priority)
            return nil
        }
        let (refusal, isNew) = share.take()
        isGranted = refusal == nil
        if !isGranted { fall(to: .normal) }
        return isNew ? refusal : nil
    }

    private mutating func fall(to priority: SessionPriority) {
        guard priority < present else { return }
        try? ProcessControl.lowerPriority(by: priority.niceness - present.niceness)
        present = priority
    }
}
