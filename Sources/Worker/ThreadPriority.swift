// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDSessions
internal import HWDTransport

/// The priority of a session's codec thread, and of the threads that a codec starts from it.
///
/// It only falls: no process may raise it again without a privilege. A spare worker has the daemon's until its session is known.
public struct ThreadPriority {
    private var present = SessionPriority.realTime

    public init() {}

    /// Lowers the calling thread's priority where the session's is lower.
    ///
    /// Where the kernel refuses, the thread keeps its priority: the session is served all the same.
    public mutating func lower(to priority: SessionPriority) {
        guard priority < present else { return }
        try? ProcessControl.lowerPriority(by: priority.niceness - present.niceness)
        present = priority
    }
}
