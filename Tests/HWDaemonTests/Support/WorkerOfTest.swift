// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

/// A real encoder's process whose broker is the test, which sees its counters; killed when the object is released.
final class WorkerOfTest {
    let process: ChildProcess
    let stats: StatsPage
    /// The client of its session; the reply to the Create call comes first.
    let client: TestClient
    /// The broker's end of its channel, on which it reports.
    private var channel: OwnedFD?

    /// Starts a worker and sends it a small session.
    init(limits: WorkerLimits) throws {
        let (near, far) = try Self.ends(UnixSocket.packetPair())
        let (connection, served) = try Self.ends(UnixSocket.pair())
        defer {
            close(far)
            close(served)
        }
        stats = try StatsPage()
        client = TestClient(OwnedFD(connection))
        channel = OwnedFD(near)
        let parameters = try JSON.decode(
            CreateCompressionSession.Parameters.self, from: Array(TestClient.parameters().utf8))
        let start = WorkerStart(
            session: "1",
            snapshot: try BrokerHolder.shared.get().probe("{\"verify\":false}"), limits: limits)
        try PacketSocket.send(JSON.encode(SandboxRequest(policy: .codec)), to: near)
        try PacketSocket.send(start.packet(with: parameters), file: served, to: near)
        process = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon-encoder",
            files: [
                .init(far, as: WorkerDescriptor.broker),
                .init(stats.fileDescriptor, as: WorkerDescriptor.stats),
            ])
    }

    deinit {
        try? process.kill(SIGKILL)
        _ = try? process.waitForExit()
    }

    /// Ends the broker, as the worker sees it.
    func endBroker() { channel = nil }

    /// Waits until its I/O thread has waited for events again.
    func waitForHeartbeat() throws {
        let last = stats[.heartbeatNs]
        try waitFor("a heartbeat") { stats[.heartbeatNs] != last }
    }

    private static func ends(_ pair: consuming SocketPair) -> (Int32, Int32) {
        let (first, second) = (pair.first.take(), pair.second.take())
        return (first, second)
    }
}
