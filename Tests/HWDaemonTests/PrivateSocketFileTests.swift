// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDTransport
import HWDWire
import Testing

@Suite("A private broker whose socket is in a folder") struct PrivateSocketFileTests {
    private let folder: String

    init() throws {
        var template = Array("/tmp/hwdaemon-test-XXXXXX".utf8CString)
        folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    }

    /// The address of a private broker that was killed with its client.
    private func stale() throws -> String {
        let listener = try PrivateSocket.listen(in: folder)
        return try UnixSocket.address(of: listener.rawValue)
    }

    @Test("It removes its file at the end, and those of killed ones at the start", arguments: [false, true])
    func leavesNoFile(_ endsBySignal: Bool) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (first, second) = (try stale(), try stale())
        let listener = try PrivateSocket.listen(in: folder)
        let address = try UnixSocket.address(of: listener.rawValue)
        let files = [first, second, address]
        #expect(files.allSatisfy { access($0, F_OK) == 0 })
        let lifetime = try UnixSocket.pair()
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let child = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon",
            arguments: ["--private", "--listen-fd", "3", "--lifetime-fd", "4"],
            environment: ["HWDAEMON_DEVICES": ""],
            files: [
                .init(listener.rawValue, as: 3), .init(lifetime.first.rawValue, as: 4), .init(null, as: 2),
            ])
        _ = consume listener
        try waitFor("the others' files to be gone") { access(first, F_OK) != 0 && access(second, F_OK) != 0 }
        #expect(try TestClient(address).ask("org.varlink.service.GetInfo").error == nil)
        if endsBySignal { try child.kill(SIGTERM) } else { shutdown(lifetime.second.rawValue, Int32(SHUT_RDWR)) }
        #expect(try child.waitForExit() == .exited(0))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        withExtendedLifetime((lifetime.first.rawValue, lifetime.second.rawValue)) {}
    }
}
