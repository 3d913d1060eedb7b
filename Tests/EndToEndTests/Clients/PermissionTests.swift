// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDaemon
import Foundation
import Glibc
import HWClient
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// What the libraries say to a user who may not use the daemon's socket.
    @Suite(.enabled(if: getuid() == 0, "skipped: only root can become another user")) struct Permissions {
        /// Runs `body` in a thread of its own, whose accesses to files are those of user and group 65534 (setfsuid(2)).
        private func asNobody(_ body: @escaping @Sendable () -> String) throws -> String {
            // Swift's module of the C library lacks sys/fsuid.h.
            typealias Setter = @convention(c) (UInt32) -> Int32
            let names: [String] = ["setfsgid", "setfsuid"]
            let setters = try names.map { name in
                let symbol = try #require(dlsym(nil, name))
                return unsafeBitCast(symbol, to: Setter.self)
            }
            let result = Guarded("")
            let thread = try HWDTransport.Thread.spawn(name: "nobody") {
                for setter in setters { _ = setter(65534) }
                let text = body()
                result.change { $0 = text }
            }
            thread.join()
            return result.value
        }

        private func swift(_ address: String) throws -> String {
            try asNobody {
                do throws(ClientError) {
                    _ = try Daemon(address: address).features()
                    return "no error"
                } catch { return error.reason }
            }
        }

        private func c(_ address: String) throws -> String {
            try asNobody {
                var daemon: OpaquePointer?
                let status = hwd_open(address, 0, &daemon)
                defer { hwd_close(daemon) }
                return status == -EACCES ? String(cString: hwd_last_error()) : "status \(status)"
            }
        }

        private func python(_ address: String) throws -> String {
            let script = """
                import hwdaemon, os, sys
                os.setgroups([]); os.setgid(65534); os.setuid(65534)
                try: hwdaemon.Daemon(sys.argv[1]).info()
                except hwdaemon.NotPermitted as error: print(error, end='')
                """
            let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../../../Clients/python").standardizedFileURL.path
            let run = try Running(
                Programs.required("python3"), ["-B", "-c", script, address], environment: ["PYTHONPATH": package]
            ).wait()
            #expect(run.status == 0, "\(run.errors)")
            return run.text
        }

        @Test(
            "Swift, C and Python name the same group, and how to join it",
            arguments: [
                (5, "join the group tty (sudo usermod -aG tty $USER, then log in again)"),
                (0, "the socket belongs to root; see docs/admin.md"),
            ])
        func remedies(_ group: UInt32, _ remedy: String) throws {
            let server = try TestDaemon()
            try #require(chmod(server.folder.root, 0o755) == 0 && chown(server.socket, 0, group) == 0)
            try #require(chmod(server.socket, 0o660) == 0)
            let expected = "no permission to use \(server.socket): \(remedy)"
            #expect(try swift(server.socket) == expected)
            #expect(try c(server.socket) == expected)
            #expect(try python(server.socket) == expected)
            // A permitted user gets an answer.
            #expect(try server.daemon.features().features.isEmpty == false)
        }

        @Test("They send nothing to another user who listens, and say the same about it")
        func strangers() throws {
            let script = """
                import os, socket, sys
                os.setgroups([]); os.setgid(65533); os.setuid(65533)
                listener = socket.socket(socket.AF_UNIX); listener.bind('\\0' + sys.argv[1][1:]); listener.listen(8)
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        if received := connection.recv(65536): print(received.decode(), flush=True)
                """
            let address = "@hwdaemon-stranger-\(getpid())"
            let listener = try Running(Programs.required("python3"), ["-c", script, address])
            try #require(eventually { (try? UnixSocket.connect(to: address)) != nil })
            let expected =
                "user 65533 listens on \(address) and is not trusted: neither this user nor root, and others can replace the socket"
            #expect(try swift(address) == expected)
            #expect(try c(address) == expected)
            #expect(try python(address) == expected)
            // The listener reads connections in order: once it has read this one, it has read the earlier ones.
            let last = try UnixSocket.connect(to: address)
            let number = last.rawValue
            let sent = write(number, "last", 4)
            try #require(sent == 4)
            var byte: UInt8 = 0
            let isClosed = eventually { read(number, &byte, 1) == 0 }
            #expect(isClosed)
            withExtendedLifetime(last.rawValue) {}
            try listener.child.kill(SIGKILL)
            #expect(try listener.wait().text == "last\n")
        }
    }
}
