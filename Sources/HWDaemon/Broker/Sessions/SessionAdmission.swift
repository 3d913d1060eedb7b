// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import Logging

/// Admits Create calls by the limits of sessions, memory and GPUs, and keeps those that wait for a slot.
final class SessionAdmission {
    /// How often the calls that wait are looked at: reservations of failed sessions expire without an event.
    private static let queueInterval = Duration.seconds(1)

    private let context: BrokerContext
    private let table: SessionTable
    private let knowledge: () -> ProbeKnowledge
    private var queue = SessionQueue<CreateRequest>()
    private var timer: EventLoop.Timer?
    /// Starts the session of a call that has waited, which has a slot now.
    var start: (CreateRequest) -> Void = { _ in }
    /// Refuses a call that has waited.
    var refuse: (CreateRequest, Refusal) -> Void = { _, _ in }

    /// - Parameter knowledge: returns what probes have found.
    init(_ context: BrokerContext, _ table: SessionTable, knowledge: @escaping () -> ProbeKnowledge) {
        (self.context, self.table, self.knowledge) = (context, table, knowledge)
    }

    /// Calls that wait.
    var waitingCount: Int { queue.entries.count }

    /// Checks that a session may start; changes nothing.
    ///
    /// - Returns: its memory, and the registry without the reservations of failed sessions that it takes; the
    ///   caller stores that when the session starts.
    /// - Throws: `VideoEncoderNotAvailableNow`, naming the limit that is reached.
    @discardableResult
    func check(_ request: CreateRequest) throws(Refusal) -> (memory: SessionMemory, registry: SessionRegistry) {
        guard !context.isStopping else { throw .shuttingDown }
        let (call, uid) = (request.call, request.connection.peer.uid)
        let memory = table.memory(of: call.kind, picture: call.facts.pictureBytes, converter: call.converter)
        var asked = table.registry
        if let restart = request.restart {
            try asked.requireNotContinued(restart.session)
            asked.releaseReservation(of: restart.session)
        }
        asked.makeRoom(uid: uid, memory: memory.initial, now: .now)
        try asked.admit(uid: uid, memory: memory.initial)
        try checkHardware(call, request.snapshot, beside: asked)
        return (memory, asked)
    }

    // MARK: - GPUs

    /// What the machine's GPUs do at present.
    func loads(on snapshot: ProbeSnapshot) -> [HardwareLoad] { loads(on: snapshot, table.registry) }

    private func loads(on snapshot: ProbeSnapshot, _ registry: SessionRegistry) -> [HardwareLoad] {
        let most = context.settings.maxHardwareSessions
        return GPULoad.loads(
            of: registry.hardwareUses(now: .now), on: snapshot, maxSessions: most > 0 ? most : nil)
    }

    /// Checks that there is room on some of the hardware that a call requires.
    ///
    /// - Parameter registry: the sessions that count, without the one that the call continues.
    /// - Throws: `VideoEncoderNotAvailableNow`, naming the limit.
    private func checkHardware(
        _ call: CreateCall, _ snapshot: ProbeSnapshot, beside registry: SessionRegistry
    ) throws(Refusal) {
        guard call.hardwareRequirement == .required else { return }
        let possible = possibleLoads(call, snapshot, registry)
        guard !possible.isEmpty, possible.allSatisfy(\.isFull) else { return }
        throw Refusal(
            .maxHardwareSessions, .videoEncoderNotAvailableNow,
            "hardware is required, but \(possible.map(\.fullReason).joined(separator: "; "))")
    }

    /// The hardware that a worker will probably choose; it counts until the worker reports its choice.
    ///
    /// - Parameter previous: the first hardware of the client's session, if that continues.
    func expectedHardware(
        _ call: CreateCall, _ snapshot: ProbeSnapshot, previous: String?
    ) -> String? {
        guard call.hardwareRequirement != .none else { return nil }
        let free = possibleLoads(call, snapshot, table.registry).filter { !$0.isFull }
        return GPULoad.leastLoaded(free.map(\.codecID), free, previous: previous)
    }

    /// The loads of the hardware that a call allows.
    private func possibleLoads(
        _ call: CreateCall, _ snapshot: ProbeSnapshot, _ registry: SessionRegistry
    ) -> [HardwareLoad] {
        let all = call.kind.hardware(knowledge().hardwareEncoders, snapshot)
        let allowed = call.hardware(among: all, snapshot)
        return loads(on: snapshot, registry).filter { allowed.contains($0.codecID) }
    }

    // MARK: - Calls that wait

    /// Makes a refused call wait if it asked for that; returns false if it is refused now.
    ///
    /// A live session does not wait: its frames would be late.
    func wait(_ request: CreateRequest, because refusal: Refusal, _ log: Logger) -> Bool {
        let (call, connection) = (request.call, request.connection)
        guard refusal.cause.isLimit, call.maxWait > .zero, call.priority != .realTime, !context.isStopping else {
            return false
        }
        let added = queue.append(
            request, of: connection.peer.uid, for: connection.remainingWait ?? call.maxWait, because: refusal,
            now: .now)
        guard added else { return false }
        log.info("session waits", metadata: ["reason": "\(refusal.error.reason)"])
        schedule()
        return true
    }

    /// Starts the sessions that wait as far as there are slots, and refuses those that have waited for too long.
    func serve() {
        guard !queue.entries.isEmpty, !context.isStopping else { return }
        while let next = nextWithSlot() {
            queue.remove(next.number)
            var request = next.work
            // The machine may have changed meanwhile.
            request.snapshot = knowledge().published ?? request.snapshot
            start(request)
        }
        let now = MonotonicTime.now
        for entry in queue.take(where: { $0.deadline <= now }) {
            refuse(entry.work, entry.refusal.after(waiting: entry.work.call.maxWait))
        }
        schedule()
    }

    /// The first call in order that has a slot; a call that has none does not hold up those behind it.
    private func nextWithSlot() -> SessionQueue<CreateRequest>.Entry? {
        for entry in queue.inOrder(table.registry.counts(now: .now)) {
            do throws(Refusal) {
                try check(entry.work)
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
    func move(_ handOver: (CreateRequest, Duration) -> Successor.Delivery) {
        for entry in queue.entries where entry.work.restart == nil && entry.work.connection.awaitsReply {
            let rest = Duration.nanoseconds(Int64(clamping: entry.deadline.nanoseconds(since: .now)))
            switch handOver(entry.work, rest) {
            case .sent:
                queue.remove(entry.number)
                entry.work.connection.close()
            case .full: return
            // It waits here for a slot.
            case .failed: continue
            }
        }
    }

    /// Refuses all calls that wait, because the daemon stops.
    func refuseAll() {
        for entry in queue.take(where: { _ in true }) { refuse(entry.work, .shuttingDown) }
    }

    private func schedule() {
        context.loop.cancel(timer)
        timer = nil
        guard let deadline = queue.nextDeadline else { return }
        let rest = Duration.nanoseconds(Int64(clamping: deadline.nanoseconds(since: .now)))
        timer = context.loop.after(min(Self.queueInterval, max(rest, .milliseconds(1)))) { [weak self] in
            self?.timer = nil
            self?.serve()
        }
    }
}
