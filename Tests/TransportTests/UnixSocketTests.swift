// SPDX-License-Identifier: MIT
import Glibc
import HWDTransport
import HWDWire
import Testing

@Suite struct UnixSocketTests {
    private func withDirectory(_ body: (String) throws -> Void) throws {
        let directory = try temporaryDirectory()
        defer {
            unlink(directory + "/socket")
            rmdir(directory)
        }
        try body(directory + "/socket")
    }

    private func failure(_ body: () throws(SystemError) -> OwnedFD) -> Int32? {
        do throws(SystemError) {
            _ = try body()
            return nil
        } catch {
            return error.errno
        }
    }

    @Test(arguments: [UInt32(0o600), 0o660, 0o666])
    func createsTheSocketWithTheRequestedMode(_ mode: UInt32) throws {
        try withDirectory { path in
            let listener = try UnixSocket.listen(path: path, mode: mode)
            var status = stat()
            #expect(lstat(path, &status) == 0)
            #expect(status.st_mode & 0o7777 == mode)
            #expect(try UnixSocket.address(of: listener.rawValue) == path)
        }
    }

    @Test func acceptsConnectionsWithPeerCredentials() throws {
        try withDirectory { path in
            let listener = try UnixSocket.listen(path: path)
            #expect(try UnixSocket.accept(listener.rawValue) == nil)
            let client = try UnixSocket.connect(to: path)
            guard let server = try UnixSocket.accept(listener.rawValue) else {
                Issue.record("no connection waits")
                return
            }
            rawSend([5], to: client.rawValue)
            var byte: UInt8 = 0
            #expect(read(server.rawValue, &byte, 1) == 1 && byte == 5)
            let peer = try PeerCredentials(of: server.rawValue)
            #expect(peer.pid == getpid() && peer.uid == geteuid() && peer.gid == getegid())
            #expect(fcntl(server.rawValue, F_GETFD) == FD_CLOEXEC)
            #expect(fcntl(client.rawValue, F_GETFL) & O_NONBLOCK != 0)
        }
    }

    @Test func replacesAStaleSocket() throws {
        try withDirectory { path in
            let old = try UnixSocket.listen(path: path)
            _ = consume old
            #expect(failure { () throws(SystemError) in try UnixSocket.connect(to: path) } == ECONNREFUSED)
            let listener = try UnixSocket.listen(path: path)
            #expect(failure { () throws(SystemError) in try UnixSocket.connect(to: path) } == nil)
            withExtendedLifetime(listener.rawValue) {}
        }
    }

    @Test func replacesTheSocketOfAKilledListenerThatAChildStillHolds() throws {
        try withDirectory { path in
            // The child stands for one that was killed's, between fork and exec: it has the descriptor until its
            // standard input ends.
            let input = try UnixSocket.pair()
            try input.first.setNonblocking(false)
            let other = input.second.rawValue
            let script = """
                import os, socket, sys
                s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(8)
                if os.fork() == 0:
                    os.read(0, 1); os._exit(0)
                os.kill(os.getpid(), 9)
                """
            let owner = try ChildProcess(
                spawning: "/usr/bin/env", arguments: ["python3", "-c", script, path],
                files: [.init(input.first.rawValue, as: 0)])
            #expect(try owner.waitForExit() == .signaled(SIGKILL))
            // It still takes connections, which nobody will accept.
            #expect(failure { () throws(SystemError) in try UnixSocket.connect(to: path) } == nil)
            let listening = currentThread()
            let thread = try Thread.spawn(name: "closer") {
                waitUntilAsleep(listening)
                shutdown(other, Int32(SHUT_RDWR))
            }
            #expect(failure { () throws(SystemError) in try UnixSocket.listen(path: path) } == nil)
            thread.join()
            withExtendedLifetime(input.second.rawValue) {}
        }
    }

    @Test func doesNotReplaceAnActiveListener() throws {
        try withDirectory { path in
            let listener = try UnixSocket.listen(path: path)
            #expect(failure { () throws(SystemError) in try UnixSocket.listen(path: path) } == EADDRINUSE)
            #expect(failure { () throws(SystemError) in try UnixSocket.connect(to: path) } == nil)
            withExtendedLifetime(listener.rawValue) {}
        }
    }

    @Test func leavesOtherFilesAlone() throws {
        try withDirectory { path in
            close(open(path, O_CREAT | O_WRONLY, 0o600))
            #expect(failure { () throws(SystemError) in try UnixSocket.listen(path: path) } == ENOTSOCK)
            #expect(access(path, F_OK) == 0)
        }
    }

    @Test func aLockOnItsFolderKeepsNobodyOut() throws {
        try withDirectory { path in
            // Any user who can read the folder can hold this.
            let folder = OwnedFD(open(String(path.dropLast("/socket".count)), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
            try #require(flock(folder.rawValue, LOCK_EX) == 0)
            #expect(failure { () throws(SystemError) in try UnixSocket.listen(path: path) } == nil)
            #expect(access(path + ".lock", F_OK) != 0)
            withExtendedLifetime(folder.rawValue) {}
        }
    }

    @Test(arguments: [mode_t(0o640), 0o604, 0o666, 0o620, 0o601])
    func refusesALockFileThatOthersCanOpen(_ mode: mode_t) throws {
        try withDirectory { path in
            let lock = path + ".lock"
            defer { unlink(lock) }
            close(open(lock, O_CREAT | O_WRONLY, 0o600))
            try #require(chmod(lock, mode) == 0)
            #expect(failure { () throws(SystemError) in try UnixSocket.listen(path: path) } == EPERM)
            // It is not removed, because another user's daemon may hold it.
            #expect(access(lock, F_OK) == 0)
            try #require(chmod(lock, 0o600) == 0)
            #expect(failure { () throws(SystemError) in try UnixSocket.listen(path: path) } == nil)
        }
    }

    @Test func refusesALockFileThatIsNone() throws {
        try withDirectory { path in
            let lock = path + ".lock"
            defer { unlink(lock) }
            try #require(symlink(path, lock) == 0)
            #expect(failure { () throws(SystemError) in try UnixSocket.listen(path: path) } == ELOOP)
            try #require(unlink(lock) == 0 && mkfifo(lock, 0o600) == 0)
            #expect(failure { () throws(SystemError) in try UnixSocket.listen(path: path) } == EPERM)
        }
    }

    @Test(.enabled(if: getuid() == 0, "skipped: only root can give a file away"))
    func refusesAnotherUsersLockFile() throws {
        try withDirectory { path in
            let lock = path + ".lock"
            defer { unlink(lock) }
            close(open(lock, O_CREAT | O_WRONLY, 0o600))
            try #require(chown(lock, 65534, 65534) == 0)
            #expect(failure { () throws(SystemError) in try UnixSocket.listen(path: path) } == EPERM)
        }
    }

    @Test func concurrentStartsLeaveOneListener() throws {
        try withDirectory { path in
            // All threads find this stale socket.
            _ = try UnixSocket.listen(path: path)
            let winners = WorkQueue<Int32>(capacity: 8)
            let threads = try (0..<8).map { index in
                try Thread.spawn(name: "starter\(index)") {
                    do throws(SystemError) {
                        _ = winners.push(try UnixSocket.listen(path: path).take())
                    } catch {
                        #expect(error.errno == EADDRINUSE)
                    }
                }
            }
            for thread in threads { thread.join() }
            let listeners = winners.removeAll()
            #expect(listeners.count == 1)
            for listener in listeners { close(listener) }
        }
    }

    @Test func reportsErrnoOfFailedConnects() throws {
        try withDirectory { path in
            #expect(failure { () throws(SystemError) in try UnixSocket.connect(to: path) } == ENOENT)
        }
        #expect(failure { () throws(SystemError) in try UnixSocket.connect(to: "@no-such-name") } == ECONNREFUSED)
        let long = "/tmp/" + String(repeating: "x", count: 200)
        #expect(failure { () throws(SystemError) in try UnixSocket.connect(to: long) } == ENAMETOOLONG)
        #expect(failure { () throws(SystemError) in try UnixSocket.connect(to: "") } == ENAMETOOLONG)
        #expect(failure { () throws(SystemError) in try UnixSocket.connect(to: "/tmp/a\0b") } == EINVAL)
        #expect(failure { () throws(SystemError) in try UnixSocket.listen(path: "/nonexistent/socket") } == ENOENT)
    }

    @Test func autobindListenerIsReachableByItsAddress() throws {
        let listener = try UnixSocket.listenAbstractAutobind()
        let address = try UnixSocket.address(of: listener.rawValue)
        #expect(address.hasPrefix("@") && address.utf8.count > 1)
        let client = try UnixSocket.connect(to: address)
        #expect(try UnixSocket.accept(listener.rawValue) != nil)
        withExtendedLifetime(client.rawValue) {}
    }

    @Test func connectTimesOutIfTheListenerDoesNotAccept() throws {
        let listener = try UnixSocket.listenAbstractAutobind()
        let address = try UnixSocket.address(of: listener.rawValue)
        var waiting: [Int32] = []
        defer { for fd in waiting { close(fd) } }
        var result: Int32?
        let start = MonotonicTime.now
        for _ in 0..<400 where result == nil {
            do throws(SystemError) {
                waiting.append(try UnixSocket.connect(to: address, timeout: .milliseconds(100)).take())
            } catch {
                result = error.errno
            }
        }
        #expect(result == ETIMEDOUT)
        #expect(MonotonicTime.now.nanoseconds(since: start) >= 90_000_000)
    }

    @Test func leavesNothingOpen() async {
        await #expect(processExitsWith: .success) {
            let directory = try temporaryDirectory()
            let path = directory + "/socket"
            let before = openFileCount()
            for _ in 0..<20 {
                let listener = try UnixSocket.listen(path: path)
                let client = try MessageChannel(try UnixSocket.connect(to: path))
                guard let accepted = try UnixSocket.accept(listener.rawValue) else { continue }
                _ = try? UnixSocket.listen(path: path)
                let server = try MessageChannel(accepted)
                let file = try memfd()
                for sequence in 0..<4 {
                    try client.send(
                        opcode: 1, sequence: UInt32(sequence), fds: [file.rawValue, file.rawValue])
                }
                // Two messages are read and the rest stays buffered; then a forged message ends the channel.
                _ = try server.nextCopy()
                _ = try server.next { _, _, _ in 0 }
                withExtendedLifetime(client) {
                    _ = rawSend(rawHeader(length: .max), fds: [file.rawValue], to: $0.fileDescriptor)
                }
                for _ in 0..<2 { _ = try server.nextCopy() }
                #expect(throws: TransportError.self) { try server.nextCopy() }
            }
            #expect(openFileCount(settlingTo: before) <= before)
            unlink(path)
            rmdir(directory)
        }
    }
}
