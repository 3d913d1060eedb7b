// SPDX-License-Identifier: MIT
import CHWDLinux
import Glibc
import HWDTransport
import Testing

@Suite struct ChildProcessTests {
    /// Runs a shell script and returns its output and its exit.
    private func run(
        _ script: String, environment: [String: String] = [:], files: [ChildProcess.File] = [],
        group: ChildProcess.Group = .inherited
    ) throws -> (output: String, exit: ChildProcess.Exit?) {
        var ends: [Int32] = [-1, -1]
        let made = pipe(&ends)
        try #require(made == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let reader = OwnedFD(ends[0])
        let child: ChildProcess
        do {
            let writer = OwnedFD(ends[1])
            child = try ChildProcess(
                spawning: "/bin/sh", arguments: ["-c", script], environment: environment,
                files: [.init(writer.rawValue, as: 1)] + files, group: group)
        }
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(reader.rawValue, &buffer, buffer.count)
            if count <= 0 { break }
            output += buffer.prefix(count)
        }
        let exit = try child.waitForExit()
        return (String(decoding: output, as: UTF8.self), exit)
    }

    @Test func childHasExactlyTheRequestedDescriptors() throws {
        // Without close-on-exec, so that only the spawn can close it in the child.
        let stray = try memfd()
        _ = fcntl(stray.rawValue, F_SETFD, 0)
        let high = try OwnedFD.duplicate(stray.rawValue, atLeast: 300)
        _ = fcntl(high.rawValue, F_SETFD, 0)
        let (a, b) = (try memfd().take(), try memfd().take())
        defer {
            close(a)
            close(b)
        }
        let result = try run(
            "stat -Lc %i /proc/self/fd/3 /proc/self/fd/5; for n in $(seq 0 400); do [ -e /proc/$$/fd/$n ] && echo $n; done",
            files: [.init(a, as: 5), .init(b, as: 3)])
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.prefix(2) == ["\(inode(b))", "\(inode(a))"])
        #expect(lines.dropFirst(2) == ["0", "1", "2", "3", "5"])
        #expect(result.exit != nil)
    }

    /// In a separate process, whose descriptors have numbers that a child's may have: below 256.
    @Test func swapsDescriptorsThatAreEachOthersTargets() async {
        await #expect(processExitsWith: .success) {
            let (low, high) = (try memfd().take(), try memfd().take())
            let result = try ChildProcessTests().run(
                "stat -Lc %i /proc/self/fd/\(low) /proc/self/fd/\(high)",
                files: [.init(low, as: high), .init(high, as: low)])
            #expect(result.output.split(separator: "\n").map(String.init) == ["\(inode(high))", "\(inode(low))"])
        }
    }

    /// In a separate process, because setenv(3) is not safe beside threads that read the environment.
    @Test func extendsTheEnvironment() async {
        await #expect(processExitsWith: .success) {
            setenv("TRANSPORT_TEST_OLD", "old", 1)
            setenv("TRANSPORT_TEST_BOTH", "old", 1)
            let result = try ChildProcessTests().run(
                "echo $TRANSPORT_TEST_OLD $TRANSPORT_TEST_BOTH $TRANSPORT_TEST_NEW; env | grep -c ^TRANSPORT_TEST_BOTH",
                environment: ["TRANSPORT_TEST_BOTH": "new", "TRANSPORT_TEST_NEW": "a=b"])
            #expect(result.output == "old new a=b\n1\n")
        }
    }

    @Test func childHasDefaultUnblockedSignals() async {
        await #expect(processExitsWith: .success) {
            signal(SIGUSR2, SIG_IGN)
            ProcessControl.ignoreWriteSignals()
            _ = try SignalFD([SIGTERM, SIGINT, SIGCHLD])
            let result = try ChildProcessTests().run("grep -E '^Sig(Blk|Ign)' /proc/self/status")
            let masks = result.output.split(separator: "\n").map {
                $0.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
            }
            // posix_spawn ignores 32 and 33, which the C library uses internally.
            let internalSignals: UInt64 = 3 << 31
            #expect(masks.count == 2)
            #expect(masks.allSatisfy { $0.map { $0 & ~internalSignals } == 0 })
        }
    }

    @Test func startsANewSession() throws {
        let result = try run("set -- $(cat /proc/self/stat); echo $6; echo $$", group: .session)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 2 && lines.first == lines.last)
    }

    @Test func reportsExitStatuses() throws {
        #expect(try run("exit 0").exit == .exited(0))
        #expect(try run("exit 75").exit == .exited(75))
        #expect(try run("kill -ABRT $$").exit == .signaled(SIGABRT))
    }

    @Test func epollReportsAKilledChild() throws {
        let child = try ChildProcess(spawning: "/bin/sleep", arguments: ["60"])
        let epoll = try Epoll()
        try epoll.add(child.fileDescriptor, token: 77, events: .readable)
        #expect(try child.tryReap() == nil)
        #expect(try epoll.wait(timeout: .zero).isEmpty)
        try child.kill(SIGKILL)
        let events = try epoll.wait(timeout: hangLimit)
        #expect(events.map(\.token) == [77])
        #expect(try child.tryReap() == .signaled(SIGKILL))
        // After reaping, the result is repeated and a signal has no effect.
        #expect(try child.tryReap() == .signaled(SIGKILL))
        try child.kill(SIGTERM)
    }

    @Test func waitEndsAtTheDeadline() throws {
        let child = try ChildProcess(spawning: "/bin/sleep", arguments: ["60"])
        #expect(try child.wait(until: .now + .milliseconds(30)) == nil)
        try child.kill(SIGKILL)
        #expect(try child.wait() == .signaled(SIGKILL))
    }

    @Test func reportsErrnoOfFailedSpawns() throws {
        func failure(_ path: String, files: [ChildProcess.File] = []) -> Int32? {
            do throws(SystemError) {
                _ = try ChildProcess(spawning: path, files: files)
                return nil
            } catch {
                return error.errno
            }
        }
        #expect(failure("/nonexistent/program") == ENOENT)
        #expect(failure("/etc/passwd") == EACCES)
        #expect(failure("/bin/true", files: [.init(0, as: 3), .init(1, as: 3)]) == EINVAL)
        #expect(failure("/bin/true", files: [.init(0, as: 256)]) == EINVAL)
        #expect(failure("/bin/true", files: [.init(0, as: -1)]) == EINVAL)
        #expect(failure("/bin/true", files: [.init(9999, as: 3)]) == EBADF)
    }

    @Test func leavesNothingOpenInTheParent() async {
        await #expect(processExitsWith: .success) {
            let before = openFileCount()
            let file = try memfd().take()
            for _ in 0..<20 {
                let child = try ChildProcess(spawning: "/bin/true", files: [.init(file, as: 3)])
                _ = try child.wait()
                _ = try? ChildProcess(spawning: "/nonexistent", files: [.init(file, as: 3)])
            }
            close(file)
            #expect(openFileCount(settlingTo: before) <= before)
            // There is no zombie either.
            let left = waitpid(-1, nil, WNOHANG) == -1 ? errno : 0
            #expect(left == ECHILD)
        }
    }
}

@Suite struct EventTests {
    @Test func addsModifiesAndRemovesDescriptors() throws {
        let epoll = try Epoll()
        let pair = try UnixSocket.pair()
        try epoll.add(pair.first.rawValue, token: .max, events: .writable)
        #expect(try epoll.wait(timeout: .zero) == [.init(token: .max, events: .writable)])
        try epoll.modify(pair.first.rawValue, token: 5, events: .readable)
        #expect(try epoll.wait(timeout: .zero).isEmpty)
        rawSend([1], to: pair.second.rawValue)
        #expect(try epoll.wait(timeout: hangLimit) == [.init(token: 5, events: .readable)])
        try epoll.remove(pair.first.rawValue)
        #expect(try epoll.wait(timeout: .zero).isEmpty)
        #expect(throws: SystemError.self) { try epoll.remove(pair.first.rawValue) }
    }

    @Test func eventWakesAnotherThread() throws {
        let epoll = try Epoll()
        let event = try EventFD()
        try epoll.add(event.fileDescriptor, token: 1, events: .readable)
        let waiting = currentThread()
        let thread = try Thread.spawn(name: "waker") {
            waitUntilAsleep(waiting)
            event.signal()
            event.signal()
        }
        #expect(try epoll.wait(timeout: hangLimit).map(\.token) == [1])
        thread.join()
        #expect(event.clear())
        #expect(!event.clear())
        #expect(try epoll.wait(timeout: .zero).isEmpty)
    }

    @Test func deliversSignalsAsEvents() async {
        await #expect(processExitsWith: .success) {
            let signals = try SignalFD([SIGTERM, SIGHUP])
            #expect(try signals.next() == nil)
            raise(SIGTERM)
            let epoll = try Epoll()
            try epoll.add(signals.fileDescriptor, token: 3, events: .readable)
            #expect(try epoll.wait(timeout: hangLimit).map(\.token) == [3])
            #expect(try signals.next() == SIGTERM)
            #expect(try signals.next() == nil)
        }
    }

    @Test func confinesTheProcess() async {
        await #expect(processExitsWith: .success) {
            #expect(try ProcessControl.setParentDeathSignal(SIGKILL, parent: getppid()))
            #expect(try !ProcessControl.setParentDeathSignal(0, parent: 0))
            try ProcessControl.confine()
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(4), &limit)
            #expect(limit.rlim_cur == 0 && limit.rlim_max == 0)
            for ignored in [SIGPIPE, SIGXFSZ] { raise(ignored) }
            let result = try ChildProcessTests().statusOfChild()
            #expect(result.contains("NoNewPrivs:\t1"))
        }
    }
}

extension ChildProcessTests {
    fileprivate func statusOfChild() throws -> String { try run("cat /proc/self/status").output }
}
