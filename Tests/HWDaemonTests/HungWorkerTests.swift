// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite("Workers that are stopped or hang outside a codec's calls", .serialized)
struct HungWorkerTests {
    @Test func killsAStoppedWorker() throws {
        let broker = try BrokerProcess(["--stall-timeout", "5"])
        let client = try broker.connect()
        let id = try client.create()
        kill(try broker.encoderProcess(), SIGSTOP)
        let end = try broker.result(id)
        #expect(end.code == -12912)
        // The stall timeout, and two seconds in which the heartbeat changes.
        #expect(end.reason.contains("did not respond for 7 s"), "\(end.reason)")
        try waitFor("no process to be left") { broker.children.isEmpty }
        #expect(try client.isClosed())
    }

    /// `SilenceRuleTests` and `StallRuleTests` show that the daemon leaves a worker with such counters alone.
    @Test func theHeartbeatOfAnIdleWorkerChanges() throws {
        let worker = try WorkerOfTest(limits: WorkerLimits())
        _ = try worker.client.reply()
        for _ in 0..<3 {
            try worker.waitForHeartbeat()
            #expect(worker.stats[.busySinceNs] == 0)
        }
    }

    @Test func answersACreateCallThatAStoppedSpareReceived() throws {
        let broker = try BrokerProcess(["--set", "SpareWorkers=1", "--set", "HardwareStallTimeout=5"])
        kill(try broker.encoderProcess(), SIGSTOP)
        let client = try broker.connect()
        try client.call(CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        let reply = try client.reply()
        #expect(reply.error == "org.hwdaemon.VideoEncoderNotAvailableNow")
        #expect(reply["code"] == .int(-12915))
        // The stall timeout, and five seconds for the worker's start.
        #expect(broker.log.contains("did not answer the Create call within 10 s"))
        // The next spare is not stopped.
        _ = try broker.connect().create()
    }

    @Test func killsAStoppedWorkerWhoseClientHungUp() throws {
        let broker = try BrokerProcess()
        let id: String
        do {
            let client = try broker.connect()
            id = try client.create()
            kill(try broker.encoderProcess(), SIGSTOP)
        }
        let end = try broker.result(id)
        #expect(end.reason.contains("did not end within 5 s"), "\(end.reason)")
        try waitFor("no process to be left") { broker.children.isEmpty }
    }
}
