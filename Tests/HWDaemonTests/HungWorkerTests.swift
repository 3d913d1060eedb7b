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

    @Test("Another process gets the Create call of a stopped spare", arguments: [false, true])
    func repeatsACreateCallThatAStoppedSpareReceived(_ isRestart: Bool) throws {
        let broker = try BrokerProcess(["--set", "SpareWorkers=1", "--set", "HardwareStallTimeout=5"])
        var changes = ""
        var process = try broker.encoderProcess()
        if isRestart {
            let session = try broker.connect()
            let id = try session.create()
            var others: [Int32] = []
            try waitFor("another spare") {
                others = broker.childProcesses("hwdaemon-encoder").filter { $0 != process }
                return !others.isEmpty
            }
            kill(process, SIGKILL)
            #expect(try broker.result(id).code == -12912)
            #expect(try session.isClosed())
            (process, changes) = (others[0], ",\"resumes\":\"\(id)\"")
        }
        kill(process, SIGSTOP)
        _ = try broker.connect().create(changes)
        // The stall timeout, and five seconds for the worker's start.
        #expect(broker.log.contains("did not answer the Create call within 10 s"))
        try waitFor("the end of the stopped process") { !broker.isRunning(process) }
    }

    @Test func answersACreateCallThatTwoProcessesLeaveUnanswered() throws {
        let broker = try BrokerProcess(
            ["--set", "SpareWorkers=1", "--set", "HardwareStallTimeout=0.1"],
            workers: ["hwdaemon-encoder": "#!/bin/sh\nexec sleep 1000\n"])
        let client = try broker.connect()
        try client.call(CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        let reply = try client.reply()
        #expect(reply.error == "org.hwdaemon.VideoEncoderNotAvailableNow")
        #expect(reply["code"] == .int(-12915))
        #expect(broker.log.matches(of: /killing the encoder process/).count == 2, "\(broker.log)")
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
