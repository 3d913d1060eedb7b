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
            a=sys.argv[1]; s=socket.socket(socket.AF_UNIX); s.settimeout(\(hangLimit.components.seconds))
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
        try #require(try other.waitForExit() == .exited(0))
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    /// A process of a user that asks for sessions, and keeps those that it gets, until it is killed.
    private final class Holder {
        private static let python = """
            import json,os,socket,sys,time
            address,user,count,call=sys.argv[1],int(sys.argv[2]),int(sys.argv[3]),sys.argv[4].encode()+b'\\0'
            os.setgroups([]); os.setgid(user); os.setuid(user)
            held=[]
            for _ in range(count):
                s=socket.socket(socket.AF_UNIX); s.settimeout(\(hangLimit.components.seconds))
                s.connect(address); s.sendall(call)
                r=b''
                while b'\\0' not in r:
                    part=s.recv(65536)
                    if not part: break
                    r+=part
                reply=json.loads(r.split(b'\\0')[0]); held.append(s)
                print(reply['parameters']['reason'] if 'error' in reply else 'session',flush=True)
            print('done',flush=True)
            time.sleep(300)
            """
        private let child: ChildProcess
        private let file: String

        init(_ broker: BrokerProcess, user: Int, asking count: Int) throws {
            file = "\(broker.folder)/answers-\(user)-\(count)"
            let output = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            defer { close(output) }
            let call =
                "{\"method\":\"\(CreateCompressionSession.method)\",\"parameters\":\(TestClient.parameters()),\"upgrade\":true}"
            child = try ChildProcess(
                spawning: "/usr/bin/env",
                arguments: ["python3", "-c", Self.python, broker.socket, "\(user)", "\(count)", call],
                files: [.init(output, as: 1)])
        }

        deinit {
            try? child.kill(SIGKILL)
            _ = try? child.waitForExit()
        }

        /// What it got, once it has asked for all.
        func answers() throws -> [String] {
            var lines: [String] = []
            try waitFor("the answers") {
                lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
                return lines.last == "done"
            }
            return lines.dropLast()
        }
    }

    @Test func servesAFifthUserBesideFourAtTheirLimits() throws {
        // One in eight slots is for users without a session: 2 of 18; the others are 16.
        let broker = try BrokerProcess(["--max-sessions", "18", "--max-sessions-per-user", "4"])
        chmod(broker.socket, 0o666)
        let four = try (60_001...60_004).map { try Holder(broker, user: $0, asking: 5) }
        for (holder, user) in zip(four, 60_001...) {
            let answers = try holder.answers()
            #expect(answers.prefix(4).allSatisfy { $0 == "session" }, "\(answers)")
            #expect(answers.last?.contains("user \(user) has 4 sessions; the limit for one user is 4") == true)
        }
        let fifth = try Holder(broker, user: 60_005, asking: 2)
        let answers = try fifth.answers()
        #expect(answers.first == "session", "\(answers)")
        #expect(answers.last?.contains("kept for root and for users without a session") == true, "\(answers)")
        #expect(try Holder(broker, user: 60_006, asking: 1).answers() == ["session"])
        let sessions = try broker.connect().ask(ListSessions.method)["sessions"]
        guard case .array(let list)? = sessions else { throw ListMissing() }
        #expect(list.count >= 17)
    }

    private struct ListMissing: Error {}

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

    @Test(
        "hwctl says what a user without permission for the socket can do", arguments: [(0, "root"), (1, "daemon")])
    func remedy(_ group: gid_t, _ name: String) throws {
        let broker = try BrokerProcess()
        try #require(chown(broker.socket, 0, group) == 0)
        let python = """
            import os,sys
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
            os.execv(sys.argv[1],['hwctl','sessions'])
            """
        let file = "\(broker.folder)/said"
        let output = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(output) }
        let other = try ChildProcess(
            spawning: "/usr/bin/env", arguments: ["python3", "-c", python, "\(BrokerProcess.products)/hwctl"],
            environment: ["HWDAEMON_SOCKET": broker.socket], files: [.init(output, as: 2)])
        #expect(try other.waitForExit() == .exited(77))
        let said = try String(contentsOfFile: file, encoding: .utf8)
        let remedy = group == 0 ? "the socket belongs to root; see docs/admin.md" : "usermod -aG \(name)"
        #expect(said.contains(remedy) && said.split(separator: "\n").count == 1, "\(said)")
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
