// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDTransport
import HWDWire
import Logging
import Testing

@testable import HWDaemon

/// Parts of a broker without its socket and processes, and clients that are connected to none.
final class BrokerParts {
    let context: BrokerContext
    let table: SessionTable
    let admission: SessionAdmission
    private(set) var clients: [TestClient] = []

    init(isPrivate: Bool = false, _ change: (inout Settings) -> Void = { _ in }) throws {
        var settings = Settings()
        change(&settings)
        let configuration = Configuration(
            endpoint: .descriptor(-1), isPrivate: isPrivate, libexec: "/nonexistent",
            files: SettingsFiles(folder: nil, base: settings, overrides: []))
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        context = try BrokerContext(configuration, settings, logger: logger)
        table = SessionTable(context)
        admission = SessionAdmission(context, table) { ProbeKnowledge(records: [:]) }
    }

    /// The broker's end of a new client's connection; the client is the last of `clients`.
    func connect() throws -> ClientConnection {
        let pair = try UnixSocket.pair()
        let near = pair.first.take()
        clients.append(TestClient(OwnedFD(pair.second.take())))
        return try ClientConnection(
            OwnedFD(near), peer: try PeerCredentials(of: near), loop: context.loop, logger: context.logger,
            onCall: { _, _ in }, onClose: { _ in })
    }

    /// A Create call of a new client; `changes` are further members of its parameters.
    func request(_ changes: String = "") throws -> CreateRequest {
        let text =
            "{\"method\":\"\(CreateCompressionSession.method)\",\"parameters\":\(TestClient.parameters(changes)),\"upgrade\":true}"
        let call = try CreateCall(try VarlinkCall(decoding: Array(text.utf8)), creating: .compression)
        return CreateRequest(
            call: call, snapshot: ProbeSnapshot(encoders: [], nodes: []), connection: try connect())
    }

    /// The result of a session that has ended now.
    static func result(_ session: SessionRegistry.Running, _ end: SessionEnd) -> SessionRegistry.Result {
        SessionRegistry.Result(session: session, end: end, at: .now, isContinued: false)
    }

    static let closed = SessionEnd(status: .ok, reason: "closed", framesIn: 3, framesOut: 2)
}
