// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport

/// What the asynchronous sessions share: an actor on a thread of its own, whose tasks wait for the session's events.
protocol AsyncSession: Actor {
    associatedtype Event

    nonisolated var thread: SessionThread { get }
    /// The limit of each wait that depends on the worker or on other tasks.
    nonisolated var timeout: Duration { get }

    /// The next event that has come; nil if there is none.
    func nextEvent() throws(ClientError) -> Event?
    func handle(_ event: Event) throws(ClientError)
}

extension AsyncSession {
    /// Handles what has come, and resumes the tasks that may have waited for it.
    private func handleEvents() throws(ClientError) {
        var hasChanged = false
        defer { if hasChanged { thread.resumeWaiters() } }
        do throws(ClientError) {
            while let event = try nextEvent() {
                hasChanged = true
                try handle(event)
            }
        } catch {
            hasChanged = true
            throw error
        }
    }

    /// Suspends the task until the condition holds; nothing of the session runs between that and the return.
    ///
    /// - Parameter fault: the error's sentence if `timeout` passes; nil for a wait that the end of the session bounds.
    /// - Throws: why the session ended, unless the condition holds all the same; `CancellationError`.
    func wait(elseFail fault: String?, _ isDone: () throws(ClientError) -> Bool) async throws {
        let deadline = fault == nil ? nil : MonotonicTime.now + timeout
        while try !isDone() {
            // Another thread may return a buffer after the check below and before the wait.
            let resumeCount = thread.resumeCount
            let failure: ClientError?
            do throws(ClientError) {
                try handleEvents()
                failure = nil
            } catch { failure = error }
            if try isDone() { return }
            if let failure { throw failure }
            try Task.checkCancellation()
            if let fault, let deadline, MonotonicTime.now >= deadline {
                throw ClientError(.timedOut, "\(fault) within \(timeout.inSeconds)")
            }
            await suspend(until: deadline, since: resumeCount)
        }
    }

    private func suspend(until deadline: MonotonicTime?, since resumeCount: UInt64) async {
        let waiter = SocketWaiter(until: deadline)
        let thread = thread
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiter.suspend(continuation)
                thread.add(waiter, since: resumeCount)
            }
        } onCancel: {
            thread.remove(waiter)
            waiter.resume()
        }
    }

    /// Sends a message, or runs a request that waits for the worker's reply on the session's thread.
    ///
    /// Events that come with the reply leave nothing on the socket that would resume the tasks that wait for them. Nor does
    /// a failure to send, which ends the session.
    func request<Value>(_ body: () throws(ClientError) -> Value) throws(ClientError) -> Value {
        defer { thread.resumeWaiters() }
        return try body()
    }
}

extension ClientError {
    static func parameter(_ reason: String) -> ClientError { ClientError(SessionError(.parameter, reason)) }
}
