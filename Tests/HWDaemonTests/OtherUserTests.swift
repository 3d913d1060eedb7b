// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite(
    "Another user's view of a broker", .serialized,
    .enabled(if: getuid() == 0, "skipped: only root can become another user"))
struct OtherUserTests {
    /// Sends a call as user 65534 and returns the reply's text; empty if there is none.
    private func ask(_ address: String, _ method: String, _ parameters: String = "{}") throws -> String {
        let python = """
            import os,socket,sys
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
            a=sys.argv[1]; s=socket.socket(socket.AF_UNIX); s.settimeout(5)
            s.connect('\\0'+a[1:] if a[0]=='@' else a)
            r=b''
            try:
                s.sendall(('{"method":"%s","parameters":%s}' % (sys.argv[2],sys.argv[3])).encode()+b'\\0')
                while not r.endswith(b'\\0'):
                    part=s.recv(65536)
                    if not part: break
                    r+=part
            except (BrokenPipeError, ConnectionResetError): pass
            sys.stdout.write(r.decode().rstrip('\\0'))
            """
        let file = "/tmp/hwdaemon-test-answer-\(getpid())"
        let output = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer {
            close(output)
            unlink(file)
        }
        let other = try ChildProcess(
            spawning: "/usr/bin/env", arguments: ["python3", "-c", python, address, method, parameters],
            files: [.init(output, as: 1)])
        try #require(try other.wait(until: MonotonicTime.now + .seconds(10)) == .exited(0))
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    @Test func hidesSessionsOfOtherUsers() throws {
        let broker = try BrokerProcess()
        chmod(broker.socket, 0o666)
        let client = try broker.connect()
        let id = try client.create()
        #expect(try broker.connect().ask(ListSessions.method)["sessions"]?.description.contains(id) == true)
        #expect(try ask(broker.socket, ListSessions.method) == "{\"parameters\":{\"sessions\":[]}}")
        let result = try ask(broker.socket, GetSessionResult.method, "{\"session\":\"\(id)\"}")
        #expect(result.contains("\"org.hwdaemon.InvalidSession\""))
        // Methods without private data reply to everyone.
        #expect(try ask(broker.socket, ListEncoders.method).contains("org.hwdaemon.encoder.x265"))
    }

    @Test func restrictsTheSocketToOwnerAndGroup() throws {
        let broker = try BrokerProcess()
        var status = stat()
        #expect(stat(broker.socket, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o660)
    }

    @Test func servesOnlyItsOwnUserIfPrivate() throws {
        let listener = try UnixSocket.listenAbstractAutobind()
        let address = try UnixSocket.address(of: listener.rawValue)
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let broker = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwdaemon", arguments: ["--private", "--listen-fd", "3"],
            files: [.init(listener.rawValue, as: 3), .init(null, as: 2)])
        defer {
            try? broker.kill(SIGKILL)
            _ = try? broker.wait()
        }
        #expect(try TestClient(address).ask("org.varlink.service.GetInfo").error == nil)
        #expect(try ask(address, "org.varlink.service.GetInfo").isEmpty)
    }
}
