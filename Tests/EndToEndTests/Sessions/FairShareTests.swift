// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDWire
import Testing

extension EndToEnd {
    /// Which sessions give way to others, and those that wait for a place.
    @Suite struct FairShares {
        /// The nice value and the scheduling class of a thread (proc(5)).
        struct Scheduling: Hashable {
            var nice: Int
            var policy: Int

            init?(_ path: String) {
                guard let data = FileManager.default.contents(atPath: path) else { return nil }
                let text = String(decoding: data, as: UTF8.self)
                guard let close = text.lastIndex(of: ")") else { return nil }
                let fields = text[text.index(after: close)...].split(separator: " ")
                guard fields.count > 38, let nice = Int(fields[16]), let policy = Int(fields[38]) else {
                    return nil
                }
                (self.nice, self.policy) = (nice, policy)
            }
        }

        /// The main thread of a process, and its other threads.
        static func threads(_ pid: Int32) throws -> (main: Scheduling, others: Set<Scheduling>) {
            let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")
            let main = try #require(Scheduling("/proc/\(pid)/task/\(pid)/stat"))
            return (
                main, Set(names.filter { $0 != "\(pid)" }.compactMap { Scheduling("/proc/\(pid)/task/\($0)/stat") })
            )
        }

        static let isIdle = Scheduling("/proc/self/stat").map { $0.policy != 0 || $0.nice > 0 } ?? true

        /// SCHED_OTHER and SCHED_BATCH of sched(7).
        static let (other, batch) = (0, 3)

        @Test(
            "Threads of a session have its priority, libx265's among them",
            .enabled(if: !isIdle, "these tests run at a low priority themselves"),
            arguments: [
                ([:], 10, batch), ([.priority: .string("background")], 19, batch),
                ([.realTime: .bool(true)], 0, other),
                ([.realTime: .bool(true), .priority: .string("background")], 0, other),
            ] as [([PropertyKey: PropertyValue], Int, Int)])
        func priority(_ properties: [PropertyKey: PropertyValue], _ added: Int, _ policy: Int) throws {
            let server = try TestDaemon()
            let encoder = try Encoder(server.daemon, .yu12, width: 320, height: 192, properties: properties)
            try encoder.session.prepare()
            let (main, others) = try Self.threads(try server.session(encoder.session.created.session).pid)
            #expect(main == Self.daemon(server))
            let expected = [min(19, main.nice + added), policy]
            #expect(others.map { [$0.nice, $0.policy] } == [expected])
            encoder.session.invalidate()
        }

        @Test(
            "All threads that share a picture take a priority that the session gets later",
            .enabled(if: !isIdle, "these tests run at a low priority themselves"))
        func laterPriority() throws {
            let server = try TestDaemon()
            let transfer = try Transferer(server.daemon, Transfers.pq, Transfers.halves, width: 1280, height: 720)
            let pid = try server.session(transfer.session.created.session).pid
            func niceness() throws -> Set<Int> { Set(try Self.threads(pid).others.map(\.nice)) }
            #expect(try transfer.convert().status == .ok)
            let main = try Self.threads(pid).main.nice
            #expect(try niceness() == [min(19, main + 10)])
            try transfer.session.setProperties([.priority: .string("background")])
            // A thread takes it with its next share; without pictures it would end after a second.
            let lowest = min(19, main + 19)
            #expect(try eventually { try transfer.convert().status == .ok && niceness() == [lowest] })
            #expect(transfer.session.restartCount == 0)
            transfer.session.invalidate()
        }

        static func daemon(_ server: TestDaemon) -> Scheduling? { Scheduling("/proc/\(server.pid)/stat") }

        @Test("Workers are in the daemon's session, so that the kernel compares their nice values")
        func session() throws {
            let server = try TestDaemon()
            let encoder = try Encoder(server.daemon, .yu12, width: 64, height: 64)
            let pid = try server.session(encoder.session.created.session).pid
            #expect(getsid(pid) == getsid(server.pid))
            // And not in its group, which the signals of a terminal's keys reach.
            #expect(getpgid(pid) == pid && getpgid(pid) != getpgid(server.pid))
            encoder.session.invalidate()
        }

        @Test("hwctl waits for a place, as long as it may")
        func waits() throws {
            let server = try TestDaemon("--max-sessions", "1")
            let first = try Encoder(server.daemon, .yu12, width: 64, height: 64)
            let y4m = try StandardStreams.y4m("yuv420p", in: server.folder)
            let output = server.folder.path("out.mov")
            let refused = try Programs.hwctl(["encode", "--max-wait", "0.4", y4m, output], socket: server.socket)
            #expect(refused.status == HWDModel.ExitStatus.tryLater.rawValue, "\(refused.errors)")
            #expect(refused.errors.contains("(max_wait_ms)"))
            #expect(!FileManager.default.fileExists(atPath: output))

            let waiting = try Running(
                Programs.path("hwctl"), ["encode", "--wait", y4m, output],
                environment: ["HWDAEMON_SOCKET": server.socket])
            #expect(eventually { server.log.components(separatedBy: "session waits").count > 2 })
            first.session.invalidate()
            let run = try waiting.wait()
            #expect(run.status == 0, "\(run.errors)")
            #expect(try Probe(output).decodingMessages() == "")
        }

        /// A proxy between hwctl and the daemon: it refuses the first N Create calls (hwctl exits with 75), then links its
        /// address to the daemon's socket.
        static let refusing = """
            import json, os, socket, sys, threading
            own, place, other, reason, count, queue = sys.argv[1:]
            left, lock = int(count), threading.Lock()
            def message(connection):
                text = b''
                while not text.endswith(b'\\0'):
                    part = connection.recv(65536)
                    if not part: return b''
                    text += part
                return text
            def serve(connection):
                global left
                text = message(connection)
                if not text: return connection.close()
                call = json.loads(text[:-1])
                if 'Create' in call['method']:
                    with lock:
                        left -= 1
                        if left == 0:
                            os.symlink(other, place + '.new')
                            os.rename(place + '.new', place)
                        print('max_wait_ms' in call['parameters'], flush=True)
                    answer = {'error': 'org.hwdaemon.VideoEncoderNotAvailableNow',
                              'parameters': {'code': -12915, 'reason': reason}}
                else:
                    real = socket.socket(socket.AF_UNIX)
                    real.connect(other)
                    real.sendall(text)
                    answer = json.loads(message(real)[:-1])
                    if call['method'].endswith('GetFeatures') and queue != 'queue':
                        answer['parameters']['features'].remove('waiting-sessions')
                connection.sendall(json.dumps(answer).encode() + b'\\0')
                connection.close()
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(own)
            listener.listen(64)
            os.symlink(own, place)
            while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
            """

        @Test(
            "hwctl --wait asks again where the daemon has no queue for its call",
            arguments: [
                ("the daemon is shutting down", "queue"),
                ("the daemon uses all of its 40 file descriptors (LimitNOFILE)", "queue"),
                ("the daemon serves 1 session; its limit is 1 (MaxSessions)", "no queue"),
            ])
        func asksAgain(_ reason: String, _ queue: String) throws {
            let server = try TestDaemon()
            let folder = server.folder
            let y4m = try StandardStreams.y4m("yuv420p", in: folder)
            func encode(refusals: Int, _ options: [String]) throws -> (Finished, calls: [Substring]) {
                let place = folder.path("place-\(refusals)")
                let refusing = try Running(
                    Programs.required("python3"),
                    [
                        "-c", Self.refusing, folder.path("own-\(refusals)"), place, server.socket, reason,
                        "\(refusals)", queue,
                    ]
                )
                #expect(eventually { access(place, F_OK) == 0 }, "\(refusing.errorsSoFar)")
                let run = try Programs.hwctl(
                    ["encode", "-v"] + options + [y4m, folder.path("out-\(refusals).mov")], socket: place)
                try refusing.child.kill(SIGKILL)
                return (run, try refusing.wait().text.split(separator: "\n"))
            }
            let (run, calls) = try encode(refusals: 2, ["--wait"])
            #expect(run.status == 0, "\(run.errors)")
            #expect(calls == [Substring](repeating: queue == "queue" ? "True" : "False", count: 2))
            #expect(run.errors.contains("waiting for a place: \(reason)"))
            #expect(try Probe(folder.path("out-2.mov")).decodingMessages() == "")
            // Shorter than any pause between two calls, and no wait at all.
            for (number, options) in [(98, ["--max-wait", "0.3"]), (99, [])] {
                let (refused, calls) = try encode(refusals: number, options)
                #expect(
                    refused.status == HWDModel.ExitStatus.tryLater.rawValue && calls.count == 1, "\(refused.errors)"
                )
                #expect(refused.errors.contains(reason))
            }
        }

        @Test(
            "Options of sessions that make no sense are refused",
            arguments: [
                ["--max-wait", "-1"], ["--max-wait", "3601"], ["--priority", "high"], ["--copy", "--wait"],
            ])
        func wrongOptions(_ options: [String]) throws {
            let run = try Programs.hwctl(["encode"] + options + ["in.mov", "out.mov"])
            #expect(run.status == HWDModel.ExitStatus.usage.rawValue, "\(run.errors)")
        }
    }
}
