// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire

/// The broker's counters since its start.
struct Metrics {
    /// Values at the moment of a scrape.
    struct Present {
        var now: MonotonicTime
        var running: Int
        /// Create calls that wait for a slot.
        var waiting = 0
        var connections: Int
        /// The work of the running sessions so far.
        var work: [SessionWork]
        var limits: SessionRegistry.Limits
        /// Bytes of memory of the running sessions.
        var memory = (granted: UInt64(0), used: UInt64(0))
        var refusedConnections: UInt64
    }

    private let started: MonotonicTime
    private var created = LabelledCounter("kind", "encoder", "hardware")
    private var ended = LabelledCounter("kind", "encoder", "hardware", "code", "reason")
    private var refused = LabelledCounter("kind", "code", "reason")
    private var restarts = LabelledCounter("cause", "to")
    private var fallbacks = LabelledCounter("reason")
    private var lowered = LabelledCounter("kind")
    private var wrongOutputs = LabelledCounter("encoder")
    private var deaths = LabelledCounter("signal")
    private var forbidden = LabelledCounter("kind", "call")
    private var refusedDrivers = LabelledCounter("driver", "path")
    private var reloads = LabelledCounter("result")
    private var past = SessionWork()
    private var probes: UInt64 = 0
    private var probeNanoseconds: UInt64 = 0

    init(now: MonotonicTime) { started = now }

    /// Counts a session whose worker reported its encoder, decoder or converter.
    mutating func sessionCreated(_ session: SessionRegistry.Running) {
        created.count(session.kind.rawValue, Self.encoder(session), Self.hardware(session))
        if let reason = session.fallbackReason { fallbacks.count(Self.normalized(reason)) }
        guard let past = session.past.last else { return }
        let isSame = past.failure.codecID == session.codecID
        restarts.count(
            past.cause.rawValue, isSame ? "same" : session.usingHardware == true ? "hardware" : "software")
    }

    /// Counts a running session that the daemon before started.
    mutating func sessionAdopted(_ session: SessionRegistry.Running) {
        created.count(session.kind.rawValue, Self.encoder(session), Self.hardware(session))
    }

    /// Counts a session that has ended.
    mutating func sessionEnded(_ session: SessionRegistry.Running, _ end: SessionEnd, _ work: SessionWork) {
        ended.count(
            session.kind.rawValue, Self.encoder(session), Self.hardware(session), "\(end.status.rawValue)",
            end.cause.rawValue)
        if let signal = end.signal { deaths.count(SessionEnd.signalName(signal)) }
        past += work
    }

    /// Counts a session with RealTime whose threads do not run before others.
    mutating func lowered(_ kind: SessionKind) { lowered.count(kind.rawValue) }

    /// Counts a sample of an encoder's output that was found wrong.
    mutating func foundWrong(_ encoder: String?) { wrongOutputs.count(encoder ?? "unknown") }

    /// Counts a process whose sandbox forbade a system call.
    ///
    /// - Parameter kind: the session's, or `probe`.
    mutating func forbade(_ calls: ForbiddenCalls, _ kind: String) { forbidden.count(kind, calls.name ?? "other") }

    /// Counts a probe whose sandbox blocked a driver.
    mutating func refused(_ driver: RefusedDriver) { refusedDrivers.count(driver.driver, driver.path) }

    /// Counts a process that died before its session was created, if another process serves the session.
    mutating func workerDied(_ signal: Int32) { deaths.count(SessionEnd.signalName(signal)) }

    /// Counts a session that was refused before it had a worker.
    mutating func sessionRefused(_ refusal: Refusal, _ kind: SessionKind) {
        refused.count(kind.rawValue, "\(kind.adapted(refusal.error).status.rawValue)", refusal.cause.rawValue)
    }

    /// Counts a round of probes, of the machine or of one node, that has ended.
    mutating func probed(in nanoseconds: UInt64) {
        probes += 1
        probeNanoseconds &+= nanoseconds
    }

    /// Counts an attempt to reload the configuration.
    mutating func reloaded(_ succeeded: Bool) { reloads.count(succeeded ? "ok" : "failed") }

    /// All metrics, as OpenMetrics text.
    func text(_ present: Present) -> String {
        var text = OpenMetrics()
        text.family("hwdaemon_build", "info", "The daemon's version.")
        text.sample("hwdaemon_build_info", [("version", HWDaemonVersion.text)], 1)
        text.gauge(
            "hwdaemon_uptime_seconds", unit: "seconds", "Time since the daemon's start.",
            Self.seconds(present.now.nanoseconds(since: started)))
        text.gauge("hwdaemon_sessions_running", "Sessions that are running.", present.running)
        text.gauge("hwdaemon_sessions_waiting", "Sessions that wait for a slot.", present.waiting)
        addLimits(present.limits.quota, to: &text)
        addMemory(present, to: &text)
        text.gauge(
            "hwdaemon_connections_open", "Connections that were not handed to a session's process.",
            present.connections)
        text.counter(
            "hwdaemon_connections_refused", "Connections refused because too many were open.",
            present.refusedConnections)
        text.counter(
            "hwdaemon_sessions_created", "Sessions for which an encoder, decoder or converter was opened.", created)
        text.counter(
            "hwdaemon_sessions_ended", "Sessions that ended, by VideoToolbox status and cause.", ended)
        text.counter("hwdaemon_sessions_refused", "Sessions refused before a process was started.", refused)
        text.counter(
            "hwdaemon_fallbacks", "Sessions that use software although hardware was allowed, by reason.", fallbacks)
        text.counter(
            "hwdaemon_real_time_lowered",
            "Sessions with RealTime that run as normal ones, because their user has its share of such sessions.",
            lowered)
        text.counter(
            "hwdaemon_session_restarts",
            "Sessions that continued in another process, by what ended the one before and by what serves them now.",
            restarts)
        text.counter(
            "hwdaemon_wrong_outputs", "Samples of hardware encoders' output that were found wrong.", wrongOutputs)
        text.counter("hwdaemon_worker_deaths", "Session processes killed by a signal.", deaths)
        addSandbox(to: &text)
        let work = present.work.reduce(past, +)
        text.counter("hwdaemon_frames_in", "Frames received from clients.", work.framesIn)
        text.counter("hwdaemon_frames_out", "Frames sent to clients.", work.framesOut)
        text.counter("hwdaemon_output_bytes", unit: "bytes", "Bytes of the frames sent to clients.", work.bytesOut)
        text.family(
            "hwdaemon_probe_duration_seconds", "summary", unit: "seconds", "Duration of the rounds of probes.")
        text.sample("hwdaemon_probe_duration_seconds_count", [], probes)
        text.sample("hwdaemon_probe_duration_seconds_sum", [], Self.seconds(probeNanoseconds))
        text.counter("hwdaemon_reloads", "Attempts to reload the configuration.", reloads)
        return text.finished
    }

    private func addSandbox(to text: inout OpenMetrics) {
        text.counter(
            "hwdaemon_sandbox_violations",
            "Processes of sessions and probes that made a system call that their sandbox forbids, by the first such "
                + "call.", forbidden)
        text.counter(
            "hwdaemon_sandbox_refused_drivers",
            "Probes whose sandbox kept a driver from being opened, by the driver and the file.", refusedDrivers)
    }

    private func addLimits(_ quota: UserQuota, to text: inout OpenMetrics) {
        text.family("hwdaemon_sessions_limit", "gauge", "Sessions that may run at once.")
        text.sample("hwdaemon_sessions_limit", [("scope", "all")], quota.total)
        text.sample("hwdaemon_sessions_limit", [("scope", "user")], quota.perUser)
    }

    private func addMemory(_ present: Present, to text: inout OpenMetrics) {
        text.gauge(
            "hwdaemon_memory_granted_bytes", unit: "bytes", "Memory granted to the running sessions.",
            present.memory.granted)
        text.gauge(
            "hwdaemon_memory_used_bytes", unit: "bytes",
            "Memory that the running sessions take, as their processes report it: private, arenas and pools.",
            present.memory.used)
        guard let total = present.limits.memory.total, let perUser = present.limits.memory.perUser else { return }
        text.family(
            "hwdaemon_memory_limit_bytes", "gauge", unit: "bytes", "Memory that sessions may have (MaxMemory).")
        text.sample("hwdaemon_memory_limit_bytes", [("scope", "all")], total)
        text.sample("hwdaemon_memory_limit_bytes", [("scope", "user")], perUser)
    }

    private static func seconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds) / 1e9 }

    private static func encoder(_ session: SessionRegistry.Running) -> String { session.codecID ?? "none" }

    private static func hardware(_ session: SessionRegistry.Running) -> String {
        session.usingHardware == true ? "true" : "false"
    }

    /// A reason with its numbers replaced by N, so that equal faults share a label; names such as `renderD128` stay.
    static func normalized(_ reason: String) -> String {
        var text = ""
        var previous: Character = " "
        var isNumber = false
        for character in reason.printable(maxBytes: 200) {
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

/// The frames and bytes that a session's process reports, within plausible bounds.
struct SessionWork: Hashable {
    private(set) var framesIn: UInt64 = 0
    private(set) var framesOut: UInt64 = 0
    private(set) var bytesOut: UInt64 = 0

    /// More than any codec achieves, so that a worker with wrong counters does not spoil the sums for good.
    private static let framesPerSecond: UInt64 = 100_000
    private static let bytesPerSecond: UInt64 = 4_000_000_000

    init() {}

    /// Takes a reading of a process of this age in nanoseconds; values never decrease.
    mutating func read(framesIn: UInt64, framesOut: UInt64, bytesOut: UInt64, age nanoseconds: UInt64) {
        // A week at most, so that the products cannot overflow.
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
