// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import Logging

// Create calls that wait until other sessions end.
extension Broker {
    /// A Create call whose session may start as soon as it is admitted.
    struct CreateRequest {
        var call: CreateCall
        var snapshot: ProbeSnapshot
        var connection: ClientConnection
        var restart: Restart?
    }

    /// How often the calls that wait are looked at: places that are kept for failed sessions expire without an event.
    private static let queueInterval = Duration.seconds(1)

    /// Makes a refused call wait if it asked for that; returns false if it is refused now.
    ///
    /// A live session does not wait: its frames would be late.
    func wait(_ request: CreateRequest, because refusal: Refusal, _ log: Logger) -> Bool {
        let call = request.call
        guard refusal.cause.isLimit, call.maxWait > .zero, call.priority != .realTime, !isStopping
        else {
            return false
        }
        let connection = request.connection
        let added = queue.append(
            request, of: connection.peer.uid, for: connection.remainingWait ?? call.maxWait,
            because: refusal, now: .now)
        guard added else { return false }
        log.info("session waits", metadata: ["reason": "\(refusal.error.reason)"])
        scheduleQueue()
        return true
    }

    /// Starts the sessions that wait as far as there are places, and refuses those that have waited for too long.
    func serveQueue() {
        guard !queue.entries.isEmpty, !isStopping else { return }
        while let next = nextAdmitted() {
            queue.remove(next.number)
            var request = next.work
            // The machine may have changed meanwhile.
            request.snapshot = prober.knowledge.published ?? request.snapshot
            start(request, mayWait: false)
        }
        let now = MonotonicTime.now
        for entry in queue.take(where: { $0.deadline <= now }) {
            refuse(entry.work, entry.refusal.after(waiting: entry.work.call.maxWait))
        }
        scheduleQueue()
    }

    /// The first call in order that is admitted; a call that is not does not hold up those behind it.
    private func nextAdmitted() -> SessionQueue<CreateRequest>.Entry? {
        for entry in queue.inOrder(registry.counts(now: .now)) {
            do throws(Refusal) {
                try admit(entry.work)
                return entry
            } catch {
                queue.setRefusal(error, of: entry.number)
                guard !error.cause.isLimit else { continue }
                queue.remove(entry.number)
                refuse(entry.work, error)
            }
        }
        return nil
    }

    /// Forgets the calls of a client that has disconnected.
    func stopWaiting(_ connection: ClientConnection) {
        _ = queue.take { $0.work.connection === connection }
    }

    /// Hands calls that wait to another daemon, which counts all sessions, in the order in which they came.
    ///
    /// One that continues a session stays, because that session is this daemon's.
    /// - Parameter handOver: hands over a call, which may wait that much longer.
    func moveQueue(_ handOver: (CreateRequest, Duration) -> Successor.Delivery) {
        for entry in queue.entries where entry.work.restart == nil && entry.work.connection.awaitsReply {
            let rest = Duration.nanoseconds(Int64(clamping: entry.deadline.nanoseconds(since: .now)))
            switch handOver(entry.work, rest) {
            case .sent:
                queue.remove(entry.number)
                entry.work.connection.close()
            case .full: return
            // It waits here for a place.
            case .failed: continue
            }
        }
    }

    /// Refuses all calls that wait, because the daemon stops.
    func refuseQueue() {
        for entry in queue.take(where: { _ in true }) { refuse(entry.work, .shuttingDown) }
    }

    private func refuse(_ request: CreateRequest, _ refusal: Refusal) {
        let log = sessionLogger(Self.newID(), request.call.facts, uid: request.connection.peer.uid)
        refuse(refusal, request.call.kind, request.connection, log)
    }

    private func scheduleQueue() {
        loop.cancel(queueTimer)
        queueTimer = nil
        guard let deadline = queue.nextDeadline else { return }
        let rest = Duration.nanoseconds(Int64(clamping: deadline.nanoseconds(since: .now)))
        queueTimer = loop.after(min(Self.queueInterval, max(rest, .milliseconds(1)))) { [weak self] in
            self?.queueTimer = nil
            self?.serveQueue()
        }
    }
}
