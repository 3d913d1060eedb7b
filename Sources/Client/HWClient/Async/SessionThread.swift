// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDTransport
internal import Synchronization

/// The thread of an asynchronous session: its actor's executor, which also waits for the session's socket.
///
/// A session's requests wait for their replies in poll(2). On a thread of Swift's cooperative pool, of which there is one
/// for each core, that would stop other tasks.
final class SessionThread: SerialExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var waiters: [SocketWaiter] = []
        /// Calls of `resumeWaiters`.
        var resumeCount: UInt64 = 0
        var isStopped = false
    }

    private let state = Mutex(State())
    private let wakeUp: EventFD
    private let socket: Int32

    private init(socket: Int32) throws(SystemError) {
        self.socket = socket
        wakeUp = try EventFD()
    }

    /// Starts a thread.
    ///
    /// - Parameter socket: the session's descriptor, which must stay open until `stop`.
    static func start(socket: Int32) throws(ClientError) -> SessionThread {
        do throws(SystemError) {
            let thread = try SessionThread(socket: socket)
            _ = try Thread.spawn(name: "hwclient") { thread.run() }
            return thread
        } catch { throw ClientError(error, whileDoing: "the session's thread cannot be started") }
    }

    /// Ends the thread once the jobs that it has are done.
    func stop() {
        state.withLock { $0.isStopped = true }
        wakeUp.signal()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        let isFirst = state.withLock { state in
            state.jobs.append(unowned)
            return state.jobs.count == 1
        }
        if isFirst { wakeUp.signal() }
    }

    // MARK: - Waiting

    /// How often `resumeWaiters` was called.
    ///
    /// A task reads it before it checks its condition and passes it to `add`, so that no call in between is missed.
    var resumeCount: UInt64 { state.withLock { $0.resumeCount } }

    /// Resumes the waiter when the socket is readable, at its deadline, at `resumeWaiters`, or at once if that was called
    /// after the count was `resumeCount`.
    func add(_ waiter: SocketWaiter, since resumeCount: UInt64) {
        let isLate = state.withLock { state in
            if state.resumeCount == resumeCount { state.waiters.append(waiter) }
            return state.resumeCount != resumeCount
        }
        if isLate { waiter.resume() } else { wakeUp.signal() }
    }

    /// Forgets a waiter, whose task was canceled.
    func remove(_ waiter: SocketWaiter) { state.withLock { $0.waiters.removeAll { $0 === waiter } } }

    /// Resumes every waiter: what they wait for may have happened without data on the socket.
    func resumeWaiters() {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            state.resumeCount += 1
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private func run() {
        while true {
            let (jobs, waits, deadline, isStopped) = state.withLock { state in
                defer { state.jobs = [] }
                let deadlines = state.waiters.compactMap(\.deadline)
                return (state.jobs, !state.waiters.isEmpty, deadlines.min(), state.isStopped)
            }
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
            if !jobs.isEmpty { continue }
            if isStopped { return }
            if isReadable(watchesSocket: waits, until: deadline) { resumeWaiters() }
        }
    }

    /// Sleeps until there is a job or a waiter, or something for the waiters, which makes the result true.
    private func isReadable(watchesSocket: Bool, until deadline: MonotonicTime?) -> Bool {
        // poll(2) ignores negative descriptors. Without waiters nothing would read the socket.
        var entries = [
            pollfd(fd: wakeUp.fileDescriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: watchesSocket ? socket : -1, events: Int16(POLLIN), revents: 0),
        ]
        let count = poll(&entries, nfds_t(entries.count), MonotonicTime.pollTimeout(until: deadline))
        wakeUp.clear()
        return count == 0 || (count > 0 && entries[1].revents != 0)
    }
}

/// A suspended task, which is resumed once: by its thread or by its cancellation, whichever comes first.
final class SocketWaiter: Sendable {
    private enum State {
        case new
        case suspended(CheckedContinuation<Void, Never>)
        case resumed
    }

    /// When the task is resumed at the latest; nil for a wait that only the session's end bounds.
    let deadline: MonotonicTime?
    private let state = Mutex(State.new)

    init(until deadline: MonotonicTime?) { self.deadline = deadline }

    /// Stores the task's continuation, or resumes it if `resume` was first.
    func suspend(_ continuation: CheckedContinuation<Void, Never>) {
        let isResumed = state.withLock { state in
            if case .resumed = state { return true }
            state = .suspended(continuation)
            return false
        }
        if isResumed { continuation.resume() }
    }

    func resume() {
        let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
            defer { state = .resumed }
            guard case .suspended(let continuation) = state else { return nil }
            return continuation
        }
        continuation?.resume()
    }
}
