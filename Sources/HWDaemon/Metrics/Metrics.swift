// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport

/// What the broker counts over its life.
struct Metrics {
    /// What is counted at this moment rather than over time.
    struct Present {
        var now: MonotonicTime
        var running: Int
        var connections: Int
        /// What the running sessions have done so far.
        var work: [SessionWork]
        var limits: SessionRegistry.Limits
        var refusedConnections: UInt64
    }

    private let started: MonotonicTime
    private var created = LabelledCounter("kind", "encoder", "hardware")
    private var ended = LabelledCounter("kind", "encoder", "hardware", "code", "reason")
    private var refused = LabelledCounter("kind", "code", "reason")
    private var fallbacks = LabelledCounter("reason")
    private var deaths = LabelledCounter("signal")
    private var reloads = LabelledCounter("result")
    private var past = SessionWork()
    private var probes: UInt64 = 0
    private var probeNanoseconds: UInt64 = 0

    init(now: MonotonicTime) { started = now }

    /// A worker has told which encoder serves its session.
    mutating func sessionCreated(_ session: SessionRegistry.Running) {
        created.count(session.kind.rawValue, Self.encoder(session), Self.hardware(session))
        if let reason = session.fallbackReason { fallbacks.count(Self.normalized(reason)) }
    }

    /// A session has ended.
    mutating func sessionEnded(_ session: SessionRegistry.Running, _ end: SessionEnd, _ work: SessionWork) {
        ended.count(
            session.kind.rawValue, Self.encoder(session), Self.hardware(session), "\(end.status.rawValue)",
            end.cause.rawValue)
        if let signal = end.signal { deaths.count(SessionEnd.signalName(signal)) }
        past += work
    }

    /// A process died before its session was created, and another serves that.
    mutating func workerDied(_ signal: Int32) { deaths.count(SessionEnd.signalName(signal)) }

    /// A session was refused before it had a worker.
    mutating func sessionRefused(_ refusal: Refusal, _ kind: SessionKind = .compression) {
        refused.count(kind.rawValue, "\(kind.own(refusal.error).status.rawValue)", refusal.cause.rawValue)
    }

    /// A look at the machine, or at one node of it, has ended.
    mutating func probed(in nanoseconds: UInt64) {
        probes += 1
        probeNanoseconds &+= nanoseconds
    }

    /// The configuration was read again.
    mutating func reloaded(_ isGood: Bool) { reloads.count(isGood ? "ok" : "failed") }

    /// Everything, as OpenMetrics text.
    func text(_ present: Present) -> String {
        var text = OpenMetrics()
        text.family("hwdaemon_build", "info", "The daemon's version.")
        text.sample("hwdaemon_build_info", [("version", HWDaemonVersion.text)], 1)
        text.gauge(
            "hwdaemon_uptime_seconds", unit: "seconds", "Time since the daemon's start.",
            Self.seconds(present.now.nanoseconds(since: started)))
        text.gauge("hwdaemon_sessions_running", "Sessions that run.", present.running)
        text.family("hwdaemon_sessions_limit", "gauge", "Sessions there may be at once.")
        text.sample("hwdaemon_sessions_limit", [("scope", "all")], present.limits.sessions)
        text.sample("hwdaemon_sessions_limit", [("scope", "user")], present.limits.sessionsPerUser)
        text.gauge(
            "hwdaemon_connections_open", "Connections that have not become a session's.", present.connections)
        text.counter(
            "hwdaemon_connections_refused", "Connections refused for their number.", present.refusedConnections)
        text.counter("hwdaemon_sessions_created", "Sessions that an encoder took.", created)
        text.counter(
            "hwdaemon_sessions_ended", "Sessions that ended, by VideoToolbox's number and what ended them.", ended)
        text.counter("hwdaemon_sessions_refused", "Sessions refused before they had a process.", refused)
        text.counter(
            "hwdaemon_fallbacks", "Sessions in software although hardware was allowed, by reason.", fallbacks)
        text.counter("hwdaemon_worker_deaths", "Processes of sessions that a signal killed.", deaths)
        let work = present.work.reduce(past, +)
        text.counter("hwdaemon_frames_in", "Frames taken from clients.", work.framesIn)
        text.counter("hwdaemon_frames_out", "Frames given to clients.", work.framesOut)
        text.counter("hwdaemon_output_bytes", unit: "bytes", "Bytes of those frames.", work.bytesOut)
        text.family("hwdaemon_probe_duration_seconds", "summary", unit: "seconds", "Looks at the machine.")
        text.sample("hwdaemon_probe_duration_seconds_count", [], probes)
        text.sample("hwdaemon_probe_duration_seconds_sum", [], Self.seconds(probeNanoseconds))
        text.counter("hwdaemon_reloads", "Times the configuration was read again.", reloads)
        return text.finished
    }

    private static func seconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds) / 1e9 }

    private static func encoder(_ session: SessionRegistry.Running) -> String { session.codecID ?? "none" }

    private static func hardware(_ session: SessionRegistry.Running) -> String {
        session.usingHardware == true ? "true" : "false"
    }

    /// A reason without the numbers in it, so that the same fault is the same label; names such as `renderD128` stay.
    static func normalized(_ reason: String) -> String {
        var text = ""
        var previous: Character = " "
        var isNumber = false
        for character in SessionEnd.oneLine(reason, maximum: 200) {
            let isDigit = character.isASCII && character.isNumber
            let startsNumber = isDigit && !isNumber && !previous.isLetter && !previous.isNumber
            if startsNumber { text.append("N") }
            isNumber = isDigit && (isNumber || startsNumber)
            if !isNumber { text.append(character) }
            previous = character
        }
        return text
    }
}

/// What a session has done, as far as its process can be believed.
struct SessionWork: Hashable {
    private(set) var framesIn: UInt64 = 0
    private(set) var framesOut: UInt64 = 0
    private(set) var bytesOut: UInt64 = 0

    /// More than any codec does, so that a worker which tells nonsense does not spoil the sums for good.
    private static let framesPerSecond: UInt64 = 100_000
    private static let bytesPerSecond: UInt64 = 4_000_000_000

    init() {}

    /// Takes a reading of a process of that age; nothing ever counts backwards.
    mutating func read(framesIn: UInt64, framesOut: UInt64, bytesOut: UInt64, age nanoseconds: UInt64) {
        // A week at most, which keeps the products small.
        let seconds = min(nanoseconds / 1_000_000_000, 604_800) + 1
        self.framesIn = max(self.framesIn, min(framesIn, seconds * Self.framesPerSecond))
        self.framesOut = max(self.framesOut, min(framesOut, seconds * Self.framesPerSecond))
        self.bytesOut = max(self.bytesOut, min(bytesOut, seconds * Self.bytesPerSecond))
    }

    static func + (a: SessionWork, b: SessionWork) -> SessionWork {
        var sum = a
        sum.framesIn &+= b.framesIn
        sum.framesOut &+= b.framesOut
        sum.bytesOut &+= b.bytesOut
        return sum
    }

    static func += (a: inout SessionWork, b: SessionWork) { a = a + b }
}
