// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite("A spare worker", .serialized)
struct SpareWorkerTests {
    /// The encoder processes that are children of a broker.
    private func workers(_ broker: BrokerProcess) -> Set<Int32> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return Set(
            names.compactMap { name -> Int32? in
                guard let pid = Int32(name),
                    let text = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
                    text.contains("(hwdaemon-encode)"), let end = text.lastIndex(of: ")")
                else { return nil }
                let fields = text[text.index(after: end)...].split(separator: " ")
                // A zombie cannot serve.
                return fields.count > 1 && fields[1] == "\(broker.child.pid)" && fields[0] != "Z" ? pid : nil
            })
    }

    private func lastSession(_ broker: BrokerProcess) throws -> SessionInfo? {
        let client = try broker.connect()
        try client.call(ListSessions.method)
        let text = try #require(try client.receive())
        return try VarlinkReply.decode(ListSessions.Reply.self, from: Array(text.utf8)).sessions.last
    }

    private func sessionPID(_ broker: BrokerProcess) throws -> Int32 { try #require(try lastSession(broker)).pid }

    @Test func servesTheNextSessionAndIsReplaced() throws {
        let broker = try BrokerProcess(["--set", "SpareWorkers=1"])
        try waitFor("a spare") { workers(broker).count == 1 }
        let spare = try #require(workers(broker).first)
        let client = try broker.connect()
        _ = try client.create()
        #expect(try sessionPID(broker) == spare)
        try waitFor("another spare") { workers(broker).count == 2 }
        try broker.child.kill(SIGTERM)
        #expect(try broker.child.waitForExit() == .exited(0))
        #expect(workers(broker).isEmpty)
    }

    @Test func replacesASpareThatDied() throws {
        let broker = try BrokerProcess(["--set", "SpareWorkers=1"])
        try waitFor("a spare") { workers(broker).count == 1 }
        let spare = try #require(workers(broker).first)
        kill(spare, SIGKILL)
        try waitFor("the spare to be reaped") { workers(broker).isEmpty && kill(spare, 0) != 0 }
        let client = try broker.connect()
        _ = try client.create()
        #expect(try sessionPID(broker) != spare)
    }

    @Test func isReplacedOnceWhereItIsKilledBeforeItAnswers() throws {
        let broker = try BrokerProcess(["--set", "SpareWorkers=1"])
        try waitFor("a spare") { workers(broker).count == 1 }
        let spare = try #require(workers(broker).first)
        kill(spare, SIGSTOP)
        let client = try broker.connect()
        try client.call(CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        try waitFor("the session") { try lastSession(broker)?.pid == spare }
        kill(spare, SIGKILL)
        let reply = try client.reply()
        #expect(reply.error == nil && reply["session"] != nil, "\(reply)")
        #expect(try sessionPID(broker) != spare)
    }

    @Test func endsWithItsBroker() throws {
        let broker = try BrokerProcess(["--set", "SpareWorkers=1"])
        try waitFor("a spare") { workers(broker).count == 1 }
        let spare = try #require(workers(broker).first)
        try broker.child.kill(SIGKILL)
        // A zombie has ended; when it is reaped is up to its new parent.
        try waitFor("the spare to end") {
            let text = (try? String(contentsOfFile: "/proc/\(spare)/stat", encoding: .utf8)) ?? ""
            return text.isEmpty || text.contains(") Z ")
        }
    }
}
