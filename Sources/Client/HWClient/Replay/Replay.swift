// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport

/// A session that continues in another process where its own fails: what the three kinds have in common.
protocol Replay: AnyObject {
    associatedtype Receiver: SessionReceiver where Receiver.Create.Parameters: ResumingParameters

    var sessions: SessionSuccession<Receiver> { get }
    /// Events that the app has not fetched.
    var events: [Receiver.Event] { get set }
    /// Whether another process could be sent what is lost with the present one.
    var canRepeat: Bool { get }

    /// Receives an event and handles it; false where none came until the deadline.
    func receive(until deadline: MonotonicTime) throws(ClientError) -> Bool
    func handle(_ event: Receiver.Event) throws(ClientError)
    /// Forgets what is lost with a process that has failed, and whose events were handled.
    func forgetProcess() throws(ClientError)
    /// Sends another process what it needs.
    func startAgain() throws(ClientError)
}

extension Replay {
    var client: SessionClient<Receiver> { sessions.client }
    /// Counts processes, from 0.
    var process: Int { sessions.number }
    var fileDescriptor: Int32 { sessions.fileDescriptor }
    /// Whether what a failed process had sent is being handled, so that nothing is sent.
    var isLeaving: Bool { if case .failed = sessions.state { true } else { false } }

    /// Repeats a request that the failure of a process interrupted.
    @discardableResult
    func perform<Value>(_ body: () throws(ClientError) -> Value) throws(ClientError) -> Value {
        while true {
            do throws(ClientError) { return try body() } catch { try recover(from: error) }
        }
    }

    /// The next event; nil when none came in time.
    ///
    /// What has been received is handled in any case: the descriptor does not become readable for it again. What a process still
    /// sends after the deadline is left to the next call, so that one that sends without end keeps nobody here.
    func event(until deadline: MonotonicTime) throws(ClientError) -> Receiver.Event? {
        repeat {
            if !events.isEmpty { return events.removeFirst() }
            do throws(ClientError) {
                guard try receive(until: deadline) else { return nil }
            } catch { try recover(from: error) }
        } while !events.isEmpty || client.hasReceived || MonotonicTime.now < deadline
        return nil
    }

    /// Releases memory of the present process; where that has failed, the next wait for an event handles the failure.
    func release(_ body: () throws(ClientError) -> Void) throws(ClientError) {
        do throws(ClientError) { try body() } catch {
            guard canRepeat, sessions.isFailure(error) else { throw sessions.last(error) }
        }
    }

    /// Continues the session in another process, after an error that may be the failure of the present one.
    ///
    /// - Throws: the error, if that is not possible.
    func recover(from error: ClientError) throws(ClientError) {
        var failure = error
        while true {
            guard canRepeat, sessions.mayContinue(after: failure) else { throw sessions.last(failure) }
            do throws(ClientError) {
                try sessions.leave(failure) { () throws(ClientError) in
                    while client.waitingEventCount > 0, let event = try client.nextEvent(timeout: .zero) {
                        try handle(event)
                    }
                }
            } catch { throw sessions.last(error) }
            // The process may have held more than it announced.
            guard canRepeat else { throw sessions.last(failure) }
            do throws(ClientError) { try forgetProcess() } catch { throw sessions.last(failure, since: error) }
            try sessions.continueAfter(failure)
            do throws(ClientError) { return try startAgain() } catch {
                guard canRepeat, sessions.isFailure(error) else {
                    // Another process cannot do what the first one did.
                    sessions.end()
                    throw sessions.last(failure, since: error)
                }
                failure = error
            }
        }
    }

    /// Ends the session because its process broke the protocol; returns the error to throw.
    func broken(_ reason: String) -> ClientError {
        sessions.end()
        return ClientError(Receiver.broken(reason))
    }

    func invalidate() { sessions.end() }
}
