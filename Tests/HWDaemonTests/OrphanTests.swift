// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite("Workers whose broker was killed", .serialized)
struct OrphanTests {
    /// Five seconds of silence count as idle.
    private static let short = [
        "--set", "ClientStallTimeout=5", "--stall-timeout", "5", "--set", "HardwareStallTimeout=5",
    ]

    /// Ends a process that a failed test would leave behind.
    private func end(_ pid: Int32) { if !hasEnded(pid) { Glibc.kill(pid, SIGKILL) } }

    private func kill(_ broker: BrokerProcess) throws {
        try broker.child.kill(SIGKILL)
        #expect(try broker.child.waitForExit() == .signaled(SIGKILL))
    }

    /// Whether a process has ended; a zombie has too.
    private func hasEnded(_ pid: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return true }
        return text.contains(") Z ")
    }

    @Test(arguments: [
        (short, "the session was idle for 5 s"),
        (["--set", "OrphanTimeout=0.5"], "sessions may continue for 0.5 s (OrphanTimeout)"),
    ])
    func endTheirSessionWithAReason(settings: [String], reason: String) throws {
        let broker = try BrokerProcess(settings)
        let client = try broker.connect()
        _ = try client.create()
        let pid = try broker.encoderProcess()
        defer { end(pid) }
        try kill(broker)
        let text = try client.rest()
        #expect(text.contains("the daemon has ended, and \(reason)"), "\(text)")
        try waitFor("the worker to end") { hasEnded(pid) }
    }

    @Test func endIfTheirBrokerWasKilledBeforeTheyStarted() throws {
        let client = try UnixSocket.pair()
        let worker: ChildProcess
        do {
            let channel = try UnixSocket.packetPair()
            let stats = try StatsPage()
            let parameters = try JSON.decode(
                CreateCompressionSession.Parameters.self, from: Array(TestClient.parameters().utf8))
            let start = WorkerStart(
                session: "1",
                snapshot: ProbeSnapshot(encoders: [], nodes: []), limits: WorkerLimits())
            try PacketSocket.send(
                start.packet(with: parameters), file: client.second.rawValue, to: channel.first.rawValue)
            let inherited = dup(channel.second.rawValue)
            defer { close(inherited) }
            // The packet remains in the socket.
            try #require(shutdown(channel.first.rawValue, Int32(SHUT_RDWR)) == 0)
            worker = try ChildProcess(
                spawning: "\(BrokerProcess.products)/hwdaemon-encoder",
                files: [
                    .init(inherited, as: WorkerDescriptor.broker),
                    .init(stats.fileDescriptor, as: WorkerDescriptor.stats),
                ])
        }
        #expect(try worker.waitForExit() == .exited(0))
        // Neither a session nor an error was sent.
        var byte: UInt8 = 0
        #expect(recv(client.first.rawValue, &byte, 1, Int32(MSG_DONTWAIT)) == -1 && errno == EAGAIN)
    }

    @Test func endWithTheirBrokerUntilTheCreateCallIsAnswered() throws {
        // A stopped worker stands for one whose driver hangs.
        let broker = try BrokerProcess(["--set", "SpareWorkers=1"])
        let pid = try broker.encoderProcess()
        defer { end(pid) }
        try waitFor("the worker's start") {
            try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8).contains("NoNewPrivs:\t1")
        }
        Glibc.kill(pid, SIGSTOP)
        let client = try broker.connect()
        try client.call(CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        try waitFor("the session") { broker.log.contains("session started") }
        try kill(broker)
        try waitFor("the worker to end") { hasEnded(pid) }
        #expect(try client.isClosed())
    }

    @Test func areKilledByTheKernelWhenTheirThreadsHang() throws {
        // The worker has 20 s until it would end by itself; its alarm comes two seconds later.
        let worker = try WorkerOfTest(limits: WorkerLimits(clientStallSeconds: 20, softwareStallSeconds: 20))
        _ = try worker.client.reply()
        worker.endBroker()
        // It has set the alarm before its second heartbeat from now; then all of its threads stop.
        for _ in 0..<2 { try worker.waitForHeartbeat() }
        let pid = worker.process.pid
        Glibc.kill(pid, SIGSTOP)
        try waitFor("the alarm") {
            // Signals that wait until the process continues.
            let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("ShdPnd:") }
            let mask = line.flatMap { UInt64($0.split(separator: "\t").last ?? "", radix: 16) } ?? 0
            return mask & 1 << UInt64(SIGALRM - 1) != 0
        }
        Glibc.kill(pid, SIGCONT)
        #expect(try worker.process.waitForExit() == .signaled(SIGALRM))
        #expect(try worker.client.rest() == "")
    }
}
