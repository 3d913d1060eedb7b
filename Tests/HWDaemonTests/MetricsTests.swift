// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDPolicy
import HWDTransport
import HWDWire
import Testing

@testable import HWDaemon

@Suite("Metrics")
struct MetricsTests {
    private static let start = MonotonicTime(nanoseconds: 5_000_000_000)

    private func session(_ encoder: String? = "x265", fallback: String? = nil) -> SessionRegistry.Running {
        var session = SessionRegistry.Running.small("a", uid: 1, created: Self.start)
        (session.codecID, session.usingHardware) = (encoder, encoder.map { _ in false })
        session.fallbackReason = fallback
        return session
    }

    private func text(_ metrics: Metrics, work: [SessionWork] = []) -> String {
        metrics.text(
            Metrics.Present(
                now: Self.start + .milliseconds(1500), running: work.count, connections: 3, work: work,
                limits: SessionRegistry.Limits(
                    quota: UserQuota(total: 9, perUser: 4), memory: MemoryQuota(total: 4096, isForOneUser: false)),
                memory: (granted: 300, used: 200), refusedConnections: 2))
    }

    private func work(_ frames: UInt64, _ bytes: UInt64, age: UInt64 = 60) -> SessionWork {
        var work = SessionWork()
        work.read(framesIn: frames, framesOut: frames, bytesOut: bytes, age: age * 1_000_000_000)
        return work
    }

    @Test func countsEventsWithTheirReasons() {
        var metrics = Metrics(now: Self.start)
        metrics.sessionCreated(session(fallback: "/dev/dri/renderD128: permission denied (errno 13)"))
        metrics.sessionCreated(session(fallback: "/dev/dri/renderD128: permission denied (errno 1)"))
        metrics.sessionEnded(
            session(), SessionEnd(status: .ok, reason: "closed", framesIn: 1, framesOut: 1), work(10, 1000))
        metrics.sessionEnded(
            session(nil),
            SessionEnd(
                status: .videoEncoderMalfunction, reason: "killed", framesIn: 1, framesOut: 1, cause: .killed,
                signal: SIGSEGV), work(0, 0))
        metrics.sessionRefused(.shuttingDown, .compression)
        metrics.probed(in: 250_000_000)
        metrics.probed(in: 500_000_000)
        let text = text(metrics, work: [work(5, 50)])
        for line in [
            "hwdaemon_build_info{version=\"\(HWDaemonVersion.text)\"} 1", "hwdaemon_uptime_seconds 1.5",
            "hwdaemon_sessions_running 1", "hwdaemon_sessions_limit{scope=\"user\"} 4",
            "hwdaemon_memory_granted_bytes 300", "hwdaemon_memory_used_bytes 200",
            "hwdaemon_memory_limit_bytes{scope=\"all\"} 4096", "hwdaemon_memory_limit_bytes{scope=\"user\"} 2048",
            "hwdaemon_sessions_created_total{kind=\"compression\",encoder=\"x265\",hardware=\"false\"} 2",
            "hwdaemon_sessions_ended_total{kind=\"compression\",encoder=\"x265\",hardware=\"false\",code=\"0\",reason=\"closed\"} 1",
            "hwdaemon_sessions_ended_total{kind=\"compression\",encoder=\"none\",hardware=\"false\",code=\"-12912\",reason=\"killed\"} 1",
            "hwdaemon_sessions_refused_total{kind=\"compression\",code=\"-12915\",reason=\"shutting_down\"} 1",
            "hwdaemon_fallbacks_total{reason=\"/dev/dri/renderD128: permission denied (errno N)\"} 2",
            "hwdaemon_worker_deaths_total{signal=\"SIGSEGV\"} 1", "hwdaemon_frames_in_total 15",
            "hwdaemon_output_bytes_total 1050", "hwdaemon_probe_duration_seconds_count 2",
            "hwdaemon_probe_duration_seconds_sum 0.75", "hwdaemon_connections_refused_total 2",
        ] {
            #expect(text.contains("\n\(line)\n"), "\(line)")
        }
        #expect(text.hasSuffix("\n# EOF\n"))
    }

    @Test func countsRestartsByCauseAndBySuccessor() {
        var metrics = Metrics(now: Self.start)
        let past = SessionRegistry.Past(
            failure: RestartPolicy.Failure(codecID: "gpu", isHardware: true, reason: "killed"), cause: .killed)
        for (codec, isHardware) in [("gpu", true), ("other", true), ("x265", false), ("x265", false)] {
            var next = session()
            (next.codecID, next.usingHardware, next.past) = (codec, isHardware, [past])
            metrics.sessionCreated(next)
        }
        let text = text(metrics)
        for (successor, count) in [("same", 1), ("hardware", 1), ("software", 2)] {
            let line = "hwdaemon_session_restarts_total{cause=\"killed\",to=\"\(successor)\"} \(count)"
            #expect(text.contains("\n\(line)\n"), "\(line)")
        }
    }

    @Test func countsSessionsThatHaveNoPlaceAmongThoseWithRealTime() {
        var metrics = Metrics(now: Self.start)
        for kind in [SessionKind.compression, .transfer, .compression] { metrics.lowered(kind) }
        let text = text(metrics)
        #expect(text.contains("\nhwdaemon_real_time_lowered_total{kind=\"compression\"} 2\n"))
        #expect(text.contains("\nhwdaemon_real_time_lowered_total{kind=\"transfer\"} 1\n"))
    }

    @Test(
        "Replaces numbers in reasons and keeps names",
        arguments: [
            ("stopped after 30.5 s", "stopped after N.N s"), ("x265 3.5 on renderD128", "x265 N.N on renderD128"),
            ("NODE1 N1 12", "NODE1 N1 N"), ("a\nb", "a b"), ("", ""),
        ])
    func replacesNumbersInReasons(_ reason: String, _ label: String) {
        #expect(Metrics.normalized(reason) == label)
    }

    @Test func boundsTheNumberOfReasons() {
        var metrics = Metrics(now: Self.start)
        for number in 0..<1000 { metrics.sessionCreated(session(fallback: "driver\(number) failed")) }
        let lines = text(metrics).split(separator: "\n").filter { $0.hasPrefix("hwdaemon_fallbacks_total{") }
        #expect(lines.count == LabelledCounter.maxCombinations + 1)
        #expect(lines.contains("hwdaemon_fallbacks_total{reason=\"other\"} 936"))
    }

    @Test func limitsImplausibleCounters() {
        var forged = SessionWork()
        forged.read(framesIn: .max, framesOut: .max, bytesOut: .max, age: 9_500_000_000)
        #expect(forged.framesIn == 1_000_000)
        #expect(forged.bytesOut == 40_000_000_000)
        forged.read(framesIn: 0, framesOut: 5, bytesOut: 0, age: .max)
        #expect(forged.framesIn == 1_000_000)
        // Their sum does not overflow.
        #expect((0..<10000).reduce(SessionWork()) { sum, _ in sum + forged }.framesIn == 10_000_000_000)
    }

    /// A Python with the parser: that of the checkout's environment (made by `scripts/check-varlink`) or the system's.
    private static let python: String? = {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        return ["\(folder.path)/.venv/bin/python", "/usr/bin/python3"].first { path in
            guard access(path, X_OK) == 0 else { return false }
            let null = open("/dev/null", O_RDWR | O_CLOEXEC)
            defer { close(null) }
            let child = try? ChildProcess(
                spawning: path, arguments: ["-c", "import prometheus_client.openmetrics.parser"],
                files: [.init(null, as: 2)])
            return (try? child?.waitForExit()) == .exited(0)
        }
    }()

    @Test(
        .enabled(
            if: python != nil,
            "skipped: no Python here has prometheus_client; scripts/check-varlink installs it"))
    func writesTextThatPrometheusParses() throws {
        var metrics = Metrics(now: Self.start)
        metrics.sessionCreated(session(fallback: "it said \"no\" \\ \u{1b} ümläut 😀\nand more"))
        metrics.sessionEnded(
            session("we\"ird\\n"), SessionEnd(status: .ok, reason: "", framesIn: 0, framesOut: 0), work(1, 1))
        metrics.sessionRefused(.openFiles, .compression)
        metrics.probed(in: 1)
        metrics.reloaded(false)
        let path = "/tmp/hwdaemon-test-metrics-\(getpid())"
        try text(metrics).write(toFile: path, atomically: false, encoding: .utf8)
        defer { unlink(path) }
        let script = """
            import sys
            from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
            families = list(parse(open(sys.argv[1], newline='').read()))
            samples = [s for f in families for s in f.samples]
            assert len(families) == 25 and len(samples) == 22, (len(families), len(samples))
            reason = [s.labels['reason'] for s in samples if s.name == 'hwdaemon_fallbacks_total']
            assert reason == ['it said "no" \\\\   ümläut 😀 and more'], reason
            encoder = [s.labels['encoder'] for s in samples if s.name == 'hwdaemon_sessions_ended_total']
            assert encoder == ['we"ird\\\\n'], encoder
            """
        let child = try ChildProcess(
            spawning: try #require(Self.python), arguments: ["-c", script, path],
            environment: ["PYTHONUTF8": "1"])
        #expect(try child.waitForExit() == .exited(0))
    }

    @Test func countsSessionsOfABroker() throws {
        let broker = try BrokerProcess(["--max-sessions", "1"])
        let client = try broker.connect()
        _ = try client.create()
        #expect(
            try broker.connect().ask(
                CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true"
            ).error == "org.hwdaemon.VideoEncoderNotAvailableNow")
        func text() throws -> String {
            try #require(broker.connect().ask(GetMetrics.method)["metrics"]).description
        }
        try waitFor("the worker's report") {
            try text().contains(
                "\nhwdaemon_sessions_created_total{kind=\"compression\",encoder=\"org.hwdaemon.encoder.x265\",hardware=\"false\"} 1\n"
            )
        }
        let metrics = try text()
        #expect(metrics.contains("\nhwdaemon_sessions_running 1\n"))
        #expect(
            metrics.contains(
                "\nhwdaemon_sessions_refused_total{kind=\"compression\",code=\"-12915\",reason=\"max_sessions\"} 1\n"
            ))
        // Without devices, a session that allows hardware falls back to software.
        #expect(metrics.contains("\nhwdaemon_fallbacks_total{reason="))
        #expect(metrics.contains("\nhwdaemon_probe_duration_seconds_count 1\n"))
    }
}
