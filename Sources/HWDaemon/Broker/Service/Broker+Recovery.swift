// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

// A worker that died before it replied to its Create call can be replaced: the client has not noticed it yet.
extension Broker {
    /// Starts another worker, which avoids the hardware that ended the first one, or replies with the reason.
    ///
    /// A worker that opened no hardware, and that a signal ended or that was silent, is replaced once, by a process that is
    /// started now: what hung one spare may hang the next.
    ///
    /// - Parameters:
    ///   - worker: the worker that died.
    ///   - connection: the client's, on which nothing was replied yet.
    /// - Returns: whether another worker serves the session now.
    func recover(
        _ worker: SessionWorker, _ end: SessionEnd, connection: consuming OwnedFD
    ) -> Bool {
        let id = worker.id
        do throws(SessionError) {
            guard !isStopping else { throw Refusal.shuttingDown.error }
            var assignment = worker.assignment
            let failure = Self.failure(worker, end)
            guard let running = registry.running[id], failure != nil || Self.mayRepeat(worker, end) else {
                throw SessionError(end.status, end.reason)
            }
            if let failure {
                prober.sessionFailed(failure)
                worker.logger.warning(
                    "the session restarts without its hardware",
                    metadata: ["\(worker.kind.noun)": "\(failure.codecID)", "reason": "\(failure.reason)"])
                assignment.start.failures.append(failure)
            } else {
                worker.logger.warning("the session restarts", metadata: ["reason": "\(end.reason)"])
                assignment.isRepetition = true
            }
            let next: SessionWorker
            do throws(Refusal) {
                next = try startWorker(
                    assignment, mayTakeSpare: failure != nil, connection: connection.rawValue, worker.logger)
            } catch { throw error.error }
            workers[id] = next
            var again = running
            again.pid = next.pid
            registry.add(again)
            if let signal = end.signal { metrics.workerDied(signal) }
            supervise()
            return true
        } catch {
            Self.reply(error, on: connection)
            return false
        }
    }

    private static func mayRepeat(_ worker: SessionWorker, _ end: SessionEnd) -> Bool {
        (end.cause == .killed || worker.neverAnswered) && worker.opening == nil && !worker.assignment.isRepetition
    }

    /// The hardware that ended the first worker; nil if it was opening none, or had to avoid it already.
    private static func failure(_ worker: SessionWorker, _ end: SessionEnd) -> CodecFailure? {
        guard let codecID = worker.opening,
            worker.assignment.hardware.contains(codecID),
            !worker.assignment.start.failures.contains(where: { $0.codecID == codecID })
        else { return nil }
        let reason =
            switch end.cause {
            case .stalled:
                "its driver did not return from opening it within \(SessionEnd.seconds(worker.stallLimit)) s"
            default:
                if end.signal != nil, let forbidden = end.forbiddenCalls {
                    "its driver \(forbidden.sentence), and opening it ended the process"
                } else if let signal = end.signal {
                    "its driver crashed while opening it (signal \(signal), \(SessionEnd.signalName(signal)))"
                } else {
                    "its driver ended the process while opening it"
                }
            }
        return CodecFailure(codecID: codecID, reason: reason, isTransient: false)
    }

    /// Sends an error as the call's reply; a client that cannot take it at once is gone.
    private static func reply(_ error: SessionError, on connection: borrowing OwnedFD) {
        var queue = SendQueue()
        queue.append(VarlinkReply.encode(VarlinkError(error)))
        _ = try? queue.flush(to: connection.rawValue)
    }
}
