// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite("Workers that are stopped or hang outside a codec's calls", .serialized)
struct HungWorkerTests {
    private func seconds(since start: MonotonicTime) -> Double {
        Double(MonotonicTime.now.nanoseconds(since: start)) / 1e9
    }

    /// The end of a session as its user reads it.
    private func result(_ broker: BrokerProcess, _ id: String) throws -> TestClient.Reply {
        try broker.connect().ask(GetSessionResult.method, "{\"session\":\"\(id)\",\"timeout_ms\":9500}")
    }

    @Test func killsAStoppedWorker() throws {
        let broker = try BrokerProcess(["--stall-timeout", "1", "--set", "HardwareStallTimeout=1"])
        let client = try broker.connect()
        let id = try client.create()
        kill(try broker.encoderProcess(), SIGSTOP)
        let start = MonotonicTime.now
        let end = try result(broker, id)
        #expect(end["finished"] == .bool(true))
        #expect(end["code"] == .int(-12912))
        #expect(end["reason"]?.description.contains("did not respond") == true)
        #expect(seconds(since: start) < 6)
        #expect(broker.children.isEmpty)
        #expect(try client.isClosed())
    }

    @Test func leavesAnIdleWorkerAlone() throws {
        let broker = try BrokerProcess(["--stall-timeout", "0.1", "--set", "HardwareStallTimeout=0.1"])
        let client = try broker.connect()
        let id = try client.create()
        let waiting = try broker.connect().ask(
            GetSessionResult.method, "{\"session\":\"\(id)\",\"timeout_ms\":5000}")
        #expect(waiting["finished"] == .bool(false))
    }

    @Test func answersACreateCallThatAStoppedSpareReceived() throws {
        let broker = try BrokerProcess(["--set", "SpareWorkers=1", "--set", "HardwareStallTimeout=0.5"])
        kill(try broker.encoderProcess(), SIGSTOP)
        let start = MonotonicTime.now
        let client = try broker.connect()
        try client.call(CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        let reply = try client.reply()
        #expect(reply.error == "org.hwdaemon.VideoEncoderNotAvailableNow")
        #expect(reply["code"] == .int(-12915))
        #expect(0.5...9 ~= seconds(since: start))
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
        let start = MonotonicTime.now
        let end = try result(broker, id)
        #expect(end["finished"] == .bool(true))
        #expect(4.5...8 ~= seconds(since: start))
        #expect(broker.children.isEmpty)
    }
}
