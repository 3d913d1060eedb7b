// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// The process that serves one session, as the broker sees it: its end, its reports and its counters.
final class SessionWorker {
    /// Packets accepted from one worker for its start and end, besides its requests for memory.
    private static let maxPackets = 64
    /// Requests for memory accepted from one worker: it asks for a quarter more each time, for itself and for its pictures,
    /// so that some 75 lead from 1 MiB to 16 TiB.
    private static let maxMemoryRequests = 256

    /// Time beyond the hardware's stall timeout in which a worker answers its Create call: for its own start.
    private static let createMargin = Duration.seconds(5)
    /// Time beyond the stall timeout in which the I/O thread's heartbeat changes.
    private static let heartbeatMargin = StatsPage.heartbeatInterval * 2
    /// Time that a worker has to end once its client has hung up.
    private static let hangUpTimeout = Duration.seconds(5)

    /// The session that a worker serves.
    struct Assignment {
        var start: WorkerStart
        /// The parameters of the Create call.
        let parameters: any Codable & Sendable
        let facts: SessionFacts
        /// Whether its process replaces one that was killed or silent before it answered the call.
        var isRepetition = false

        /// The hardware that the worker may open, by id.
        var hardware: Set<String> { facts.kind.hardware(start.hardware, start.snapshot) }

        /// How long one codec call may take without progress.
        ///
        /// The hardware limit applies to a worker that may open hardware until it reports which codec it uses: nothing else
        /// takes long before that.
        func stallLimit(usingHardware: Bool) -> Duration {
            .seconds(usingHardware ? start.limits.hardwareStallSeconds : start.limits.softwareStallSeconds)
        }
    }

    /// Whether the Create call is answered, and who answers it.
    private enum Call: ~Copyable {
        /// Not answered. If the process ends first, the broker answers on this copy of the client's connection.
        case open(OwnedFD)
        /// The process answers it with an error, or nobody waits for the answer.
        case closed
        /// The session was created.
        case created

        /// Goes to the next state; returns the client's connection if the call was open.
        mutating func close(becoming next: consuming Call = .closed) -> OwnedFD? {
            let before = consume self
            self = next
            return switch consume before {
            case .open(let connection): connection
            default: nil
            }
        }
    }

    /// Why the broker has killed the process.
    private struct Kill {
        enum Cause {
            /// It made no progress, or broke a rule.
            case stuck
            /// It was silent before it had answered the call.
            case neverAnswered
            case wrongPictures
            /// It went on after its client had hung up.
            case abandoned
        }

        var cause: Cause
        var error: SessionError
    }

    /// What the broker knows of why the process ends.
    private enum Ending {
        case none
        /// The process has reported why.
        case reported(SessionError)
        case killed(Kill, reported: SessionError?)

        var reported: SessionError? {
            switch self {
            case .none, .killed(_, reported: nil): nil
            case .reported(let error), .killed(_, let error?): error
            }
        }

        var kill: Kill? { if case .killed(let kill, _) = self { kill } else { nil } }

        /// Stores the first report.
        mutating func report(_ error: SessionError) {
            switch self {
            case .none: self = .reported(error)
            case .killed(let kill, reported: nil): self = .killed(kill, reported: error)
            case .reported, .killed: break
            }
        }
    }

    /// A session's need for more memory, as its process reports it.
    struct MemoryRequest {
        var needed: UInt64
        var wanted: UInt64
        /// Bytes of a picture; 0 where the process does not know it.
        var picture: UInt64
    }

    /// What the owner does with a worker's reports and its end.
    struct Handlers {
        /// Called when the worker reports that the session was created.
        var report: (WorkerReport) -> Void
        /// Called when the worker asks for memory; returns the answer.
        var memory: (MemoryRequest) -> MemoryGrant?
        /// Called when the properties ask for threads that run before others; returns the answer.
        var realTime: () -> RealTimeDecision
        /// Called with a sample of the encoder's output; false where none is expected.
        var sample: (OutputSample) -> Bool
        /// Called when the client may know that the process does not answer its call, although it has not ended yet.
        var unanswered: () -> Void
        /// Called once, when the process has ended.
        var end: (SessionEnd) -> Void
    }

    let assignment: Assignment
    var id: String { assignment.start.session }
    var kind: SessionKind { assignment.facts.kind }
    let logger: Logger
    var pid: Int32 { child.pid }

    private let loop: EventLoop
    private let child: ChildProcess
    private let channel: WorkerProcess.Channel
    private let stats: StatsPage
    private let handlers: Handlers
    /// The memory of its samples; nil of a process that gives none.
    private(set) var samples: SampleMemory?
    private let started = MonotonicTime.now
    private var work = SessionWork()
    private(set) var stallLimit: Duration
    private var stall: StallRule
    private var silence = SilenceRule()
    private var call = Call.closed
    private var ending = Ending.none
    private var hangUpWatch: EventLoop.Watch?
    private var hangUpTimer: EventLoop.Timer?
    private var childWatch: EventLoop.Watch?
    private var channelWatch: EventLoop.Watch?
    /// The encoder or decoder whose driver the worker last reported to be opening.
    private(set) var opening: String?
    private var packets = 0
    private var memoryRequests = 0
    /// Bytes of private memory that the process may have; the largest number for no bound.
    private(set) var memoryBound = UInt64.max

    /// Sends a worker its session and a copy of the client's connection; the caller closes its own.
    init(
        _ assignment: Assignment, _ sandbox: SandboxRequest, process: WorkerProcess, connection: Int32,
        loop: EventLoop, logger: Logger, handlers: Handlers
    ) throws {
        self.assignment = assignment
        self.loop = loop
        self.handlers = handlers
        let limits = assignment.start.limits
        stallLimit = assignment.stallLimit(usingHardware: !assignment.hardware.isEmpty)
        stall = StallRule(limit: stallLimit, clientLimit: .seconds(limits.clientStallSeconds) + .seconds(5))
        (stats, samples) = (process.stats, process.samples)
        child = process.child
        channel = process.channel
        var logger = logger
        logger[metadataKey: "pid"] = "\(child.pid)"
        self.logger = logger
        do {
            let copy = try OwnedFD.duplicate(connection)
            hangUpWatch = try loop.watchHangUp(copy.rawValue) { [weak self] in self?.clientHungUp() }
            call = .open(copy)
            if let bound = limits.privateBytes { limitMemory(to: bound) }
            try PacketSocket.send(try JSON.encode(sandbox), to: channel.rawValue)
            let packet = try assignment.start.packet(with: assignment.parameters)
            try PacketSocket.send(packet, file: connection, to: channel.rawValue)
            childWatch = try loop.watch(child.fileDescriptor, .readable) { [weak self] _ in self?.ended() }
            channelWatch = try loop.watch(channel.rawValue, .readable) { [weak self] _ in self?.receive() }
        } catch {
            if let childWatch { loop.remove(childWatch) }
            if let hangUpWatch { loop.forget(hangUpWatch) }
            process.discard()
            throw error
        }
    }

    /// Raises the bound of the process's private memory where its pictures grow; a running process's bound never falls.
    ///
    /// - Parameter bytes: nil for no bound.
    func raiseMemoryBound(to bytes: UInt64?) {
        let bytes = bytes ?? .max
        if bytes > memoryBound { limitMemory(to: bytes) }
    }

    /// Bounds the process's private memory.
    private func limitMemory(to bytes: UInt64) {
        guard !Sandbox.isSwitchedOff else { return }
        memoryBound = bytes
        do throws(SystemError) { try child.limitPrivateMemory(to: bytes) } catch {
            logger.warning("the process's memory is not bounded", metadata: ["reason": "\(error)"])
        }
    }

    /// Reads a counter that the untrusted process writes.
    subscript(counter: StatsPage.Counter) -> UInt64 { stats[counter] }

    /// Bytes that the untrusted process says the session takes, at most 16 TiB.
    var memoryUsed: UInt64 { min(stats[.memoryBytes], MemoryQuota.maxSession) }

    private var isCreated: Bool {
        switch call {
        case .created: true
        default: false
        }
    }

    /// Whether it was killed because it was silent before it answered the call.
    var neverAnswered: Bool { ending.kill?.cause == .neverAnswered }

    /// Whether the process says that it has answered the Create call.
    private var isAnswered: Bool { stats[.heartbeatNs] != 0 }

    /// Whether its client has closed the connection.
    var hasHungUp: Bool { hangUpTimer != nil }

    /// Sends a signal.
    func kill(_ signal: Int32) { try? child.kill(signal) }

    /// The frames and bytes processed so far.
    func workSoFar() -> SessionWork {
        work.read(
            framesIn: stats[.framesIn], framesOut: stats[.framesOut], bytesOut: stats[.bytesOut],
            age: MonotonicTime.now.nanoseconds(since: started))
        return work
    }

    /// Kills the worker if it hangs in a codec's call or outside of one.
    func checkStall() {
        let reading = StallRule.Reading(
            busySince: stats[.busySinceNs], progress: stats[.progressNs], framesOut: stats[.framesOut],
            slotsFullSince: stats[.slotsFullSinceNs], heartbeat: stats[.heartbeatNs])
        let (now, pid) = (MonotonicTime.now.nanoseconds, child.pid)
        let use = { ProcessorUse(of: pid) }
        let silenceLimit =
            isCreated
            ? stallLimit + Self.heartbeatMargin : assignment.stallLimit(usingHardware: true) + Self.createMargin
        if stall.isStalled(reading, now: now, use: use) {
            kill(for: .stuck, SessionEnd.stall(after: stallLimit, kind))
        } else if silence.isSilent(reading, now: now, limit: silenceLimit, use: use) {
            kill(
                for: isCreated ? .stuck : .neverAnswered,
                SessionEnd.silence(for: silenceLimit, isCreated: isCreated, kind))
        }
    }

    /// Kills a worker whose encoder's pictures are wrong.
    func endForWrongPictures(_ fault: String) {
        kill(for: .wrongPictures, SessionError(kind.malfunction, "wrong pictures: \(fault)"))
    }

    private func clientHungUp() {
        hangUpTimer = loop.after(Self.hangUpTimeout) { [weak self] in
            guard let self else { return }
            // Nobody is left to answer.
            _ = takeUnanswered()
            kill(for: .abandoned, SessionEnd.hangUp(after: Self.hangUpTimeout, kind))
        }
    }

    /// Kills the worker for a reason, unless it was killed for another.
    private func kill(for cause: Kill.Cause, _ error: SessionError) {
        guard ending.kill == nil else { return }
        ending = .killed(Kill(cause: cause, error: error), reported: ending.reported)
        logger.warning("killing the \(kind.noun) process", metadata: ["reason": "\(error.reason)"])
        kill(SIGKILL)
    }

    private func receive() {
        for _ in 0..<8 {
            let packet: PacketSocket.Packet
            do throws(TransportError) {
                packet = try PacketSocket.receive(from: channel.rawValue)
            } catch {
                logger.warning("ignoring further packets of the worker: \(error.reason)")
                return closeChannel()
            }
            switch packet {
            case .wouldBlock: return
            case .endOfFile:
                // Until the session is created the broker holds a copy of the connection: the client sees no end.
                if isCreated, !isAnswered { handlers.unanswered() }
                return closeChannel()
            case .bytes(let bytes): handle(bytes)
            }
            if channelWatch == nil { return }
        }
    }

    private func handle(_ bytes: [UInt8]) {
        let report: WorkerReport?
        var fault: SessionError?
        do throws(SessionError) { report = try JSON.decode(WorkerReport.self, from: bytes) } catch {
            (report, fault) = (nil, error)
        }
        switch report {
        case .memory?: memoryRequests += 1
        case .sample(let sample)?: if handlers.sample(sample) { return } else { packets += 1 }
        default: packets += 1
        }
        guard memoryRequests <= Self.maxMemoryRequests else {
            kill(
                for: .stuck,
                SessionError(
                    kind.malfunction,
                    "the \(kind.noun) process asked for memory more than \(Self.maxMemoryRequests) times"))
            return closeChannel()
        }
        guard packets <= Self.maxPackets else {
            logger.warning("ignoring further packets of the worker: it sent more than \(Self.maxPackets)")
            return closeChannel()
        }
        guard let report else {
            return logger.warning("ignored a packet of the worker: \(fault?.reason ?? "")")
        }
        switch report {
        case .opening(let codecID): opening = codecID.printable(maxBytes: 256)
        case .memory(let needed, let wanted, let picture):
            let request = MemoryRequest(needed: needed, wanted: wanted, picture: picture)
            if let grant = handlers.memory(request) { answer(grant) }
        case .realTime: answer(handlers.realTime())
        case .sample: break
        case .ended(let code, let reason):
            // If this comes before `created`, the worker itself replies to the call with the error.
            _ = takeUnanswered()
            ending.report(SessionError(Status(rawValue: code), reason))
            if !isAnswered { handlers.unanswered() }
        case .created(_, let usingHardware, _, _):
            _ = call.close(becoming: .created)
            // Only hardware is checked.
            if !usingHardware { samples = nil }
            stallLimit = assignment.stallLimit(usingHardware: usingHardware)
            stall.setLimit(stallLimit)
            handlers.report(report)
        }
    }

    private func answer(_ answer: some Encodable) {
        guard let bytes = try? JSON.encode(answer) else { return }
        // A worker that does not read its answers harms its own session only.
        try? PacketSocket.send(bytes, to: channel.rawValue)
    }

    /// The client's connection, if nobody has answered the call; nil when it is asked for again.
    func takeUnanswered() -> OwnedFD? { isCreated ? nil : call.close() }

    private func closeChannel() {
        if let channelWatch { loop.remove(channelWatch) }
        channelWatch = nil
    }

    private func ended() {
        guard let exit = try? child.tryReap() else { return }
        if channelWatch != nil { receive() }
        closeChannel()
        if let childWatch { loop.remove(childWatch) }
        childWatch = nil
        if let hangUpWatch { loop.forget(hangUpWatch) }
        loop.cancel(hangUpTimer)
        let forbidden = ForbiddenCalls(stats, exit)
        let memory = SessionEnd.Memory(used: stats[.privateBytes], bound: memoryBound)
        let error = SessionEnd.error(
            reported: ending.reported, stopped: ending.kill?.error, exit: exit, kind, forbidden, memory: memory)
        let signal: Int32? = if case .signaled(let number) = exit { number } else { nil }
        handlers.end(
            SessionEnd(
                status: error.status, reason: error.reason, framesIn: stats[.framesIn],
                framesOut: stats[.framesOut],
                cause: ending.kill?.cause == .wrongPictures
                    ? .wrongPictures
                    : SessionEnd.Cause(reported: ending.reported, stopped: ending.kill?.error, exit: exit),
                signal: signal, forbiddenCalls: forbidden, isAbandoned: ending.kill?.cause == .abandoned,
                isAnswered: isAnswered))
    }
}
