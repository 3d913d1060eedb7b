// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// The process that serves one session, as the broker sees it: its end, its reports, its counters.
final class SessionWorker {
    /// Packets handleReport of one worker; it has two to send.
    private static let maxPackets = 64

    /// How long one call of a codec may take without progress.
    struct StallLimits {
        var software: Duration
        var hardware: Duration
    }

    let id: String
    let kind: SessionKind
    let logger: Logger
    var pid: Int32 { child.pid }

    private let loop: EventLoop
    private let child: ChildProcess
    private let channel: WorkerProcess.Channel
    private let stats: StatsPage
    private let started = MonotonicTime.now
    private var work = SessionWork()
    private let stallLimits: StallLimits
    private(set) var stallLimit: Duration
    private var stall: StallRule
    private var childWatch: EventLoop.Watch?
    private var channelWatch: EventLoop.Watch?
    /// What the worker was given.
    let start: WorkerStart
    /// The hardware it may open, by id.
    let hardware: Set<String>
    /// The encoder or decoder whose driver the worker was about to run when it was last handleReport.
    private(set) var opening: String?
    /// The client's connection, until the worker is about to answer the call on it.
    private var unanswered: OwnedFD?
    private var packets = 0
    private var reported: SessionError?
    private var stopped: SessionError?
    private let onReport: (WorkerReport) -> Void
    private let onEnd: (SessionEnd) -> Void

    /// Gives a worker its session and the client's connection, of which the caller closes its own copy.
    ///
    /// - Parameters:
    ///   - stallLimits: where there is hardware, its limit holds until the worker has told which encoder it is:
    ///     nothing else takes long before that.
    ///   - onReport: called for the report that the session was created.
    ///   - onEnd: called once, when the process has ended.
    init(
        _ start: WorkerStart, kind: SessionKind, process: WorkerProcess, connection: Int32,
        stallLimits: StallLimits, loop: EventLoop, logger: Logger, onReport: @escaping (WorkerReport) -> Void,
        onEnd: @escaping (SessionEnd) -> Void
    ) throws {
        id = start.session
        self.kind = kind
        self.loop = loop
        self.onReport = onReport
        self.onEnd = onEnd
        self.stallLimits = stallLimits
        self.start = start
        hardware = kind.hardware(of: start)
        stallLimit = hardware.isEmpty ? stallLimits.software : stallLimits.hardware
        stall = StallRule(
            limit: stallLimit, clientLimit: .seconds(start.limits.clientStallSeconds) + .seconds(5))
        stats = process.stats
        child = process.child
        channel = process.channel
        var logger = logger
        logger[metadataKey: "pid"] = "\(child.pid)"
        self.logger = logger
        do {
            // Without hardware nothing can go wrong that another worker would not meet as well.
            if !hardware.isEmpty { unanswered = try OwnedFD.duplicate(connection) }
            try PacketSocket.send(try JSON.encode(start), file: connection, to: channel.rawValue)
            childWatch = try loop.watch(child.fileDescriptor, .readable) { [weak self] _ in self?.ended() }
            channelWatch = try loop.watch(channel.rawValue, .readable) { [weak self] _ in self?.receive() }
        } catch {
            if let childWatch { loop.remove(childWatch) }
            process.discard()
            throw error
        }
    }

    /// Reads a counter; a number from an untrusted process.
    subscript(counter: StatsPage.Counter) -> UInt64 { stats[counter] }

    /// Sends a signal.
    func kill(_ signal: Int32) { try? child.kill(signal) }

    /// What the session has done so far.
    func workSoFar() -> SessionWork {
        work.read(
            framesIn: stats[.framesIn], framesOut: stats[.framesOut], bytesOut: stats[.bytesOut],
            age: MonotonicTime.now.nanoseconds(since: started))
        return work
    }

    /// Kills the worker if it hangs.
    func checkStall() {
        let reading = StallRule.Reading(
            busySince: stats[.busySinceNs], progress: stats[.progressNs], framesOut: stats[.framesOut],
            slotsFullSince: stats[.slotsFullSinceNs])
        guard stopped == nil, stall.isStalled(reading, now: MonotonicTime.now.nanoseconds) else { return }
        let reason = kind.own(SessionEnd.stall(after: stallLimit))
        stopped = reason
        logger.warning("killing the \(kind.noun) process", metadata: ["reason": "\(reason.reason)"])
        kill(SIGKILL)
    }

    private func receive() {
        for _ in 0..<8 {
            let packet: PacketSocket.Packet
            do throws(TransportError) {
                packet = try PacketSocket.receive(from: channel.rawValue)
            } catch {
                logger.warning("hearing the worker no more: \(error.reason)")
                return closeChannel()
            }
            switch packet {
            case .wouldBlock: return
            case .endOfFile: return closeChannel()
            case .bytes(let bytes): hear(bytes)
            }
            if channelWatch == nil { return }
        }
    }

    private func hear(_ bytes: [UInt8]) {
        packets += 1
        guard packets <= Self.maxPackets else {
            logger.warning("hearing the worker no more: it sent more than \(Self.maxPackets) packets")
            return closeChannel()
        }
        let report: WorkerReport
        do throws(SessionError) { report = try JSON.decode(WorkerReport.self, from: bytes) } catch {
            return logger.warning("ignored a packet of the worker: \(error.reason)")
        }
        switch report {
        case .opening(let codecID): opening = SessionEnd.oneLine(codecID, maximum: 256)
        case .ended(let code, let reason):
            // Its own answer to the call, where it comes before `created`, follows.
            unanswered = nil
            reported = reported ?? SessionError(Status(rawValue: code), reason)
        case .created(_, let usingHardware, _):
            unanswered = nil
            stallLimit = usingHardware ? stallLimits.hardware : stallLimits.software
            stall.setLimit(stallLimit)
            onReport(report)
        }
    }

    /// The client's connection, if the worker ended without a word about the call; the caller's from now on.
    func takeUnanswered() -> OwnedFD? { unanswered.take() }

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
        let cause = SessionEnd.cause(reported: reported, stopped: stopped, exit: exit, kind)
        let signal: Int32? = if case .signaled(let number) = exit { number } else { nil }
        onEnd(
            SessionEnd(
                status: cause.status, reason: cause.reason, framesIn: stats[.framesIn],
                framesOut: stats[.framesOut],
                cause: SessionEnd.Cause(reported: reported, stopped: stopped, exit: exit),
                signal: signal))
    }
}
