// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDTransport
import HWDWire
import Testing

extension EndToEnd {
    /// Daemons that a client starts for itself.
    @Suite struct PrivateDaemons {
        private static let hasOtherDaemon =
            FileManager.default.fileExists(atPath: Daemon.defaultAddress)
            || ProcessInfo.processInfo.environment["HWDAEMON_SOCKET"]?.isEmpty == false

        @Test(
            "The thread that starts it may end, and it ends with its object",
            .enabled(if: !hasOtherDaemon, "another daemon would be found"))
        func outlivesTheThread() throws {
            let found = Guarded<Daemon?>(nil)
            let thread = try HWDTransport.Thread.spawn(name: "starter") {
                do {
                    let daemon = try Daemon.find()
                    found.change { $0 = daemon }
                } catch { Issue.record(error) }
            }
            thread.join()
            #expect(try #require(found.value).isPrivate)
            // The kernel would send the signal of PR_SET_PDEATHSIG before it forgets the thread.
            try #require(eventually { !Self.hasStarter })
            // A daemon that was sent the signal could not answer. Before it answers, /proc/PID/cmdline may be empty:
            // posix_spawn returns once execve(2) has replaced the memory, and the arguments are set after that.
            #expect(try #require(found.value).features().features.contains("checked-members"))
            let child = try #require(ProcessEntry.children(of: getpid()).first { Self.isPrivate($0.pid) })
            #expect(child.isRunning)
            found.change { $0 = nil }
            #expect(eventually { !child.isRunning })
        }

        /// Whether a thread of this process is the one that starts a daemon.
        private static var hasStarter: Bool {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            return names.contains { name in
                FileManager.default.contents(atPath: "/proc/self/task/\(name)/comm") == Data("starter\n".utf8)
            }
        }

        /// Whether a process is a private daemon of the client library's; other suites start daemons at the same time.
        private static func isPrivate(_ pid: Int32) -> Bool {
            let data = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()
            let arguments = data.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            return arguments.dropFirst().elementsEqual([
                "--private", "--listen-fd", "3", "--lifetime-fd", "4", "--log-level", "error",
            ])
        }

        @Test(
            "hwctl sessions starts none", .enabled(if: !hasOtherDaemon, "another daemon would be found"),
            arguments: [[], ["--metrics"], ["--json"], ["--watch"]])
        func listsNone(_ options: [String]) throws {
            let folder = try Scratch()
            let (program, mark) = (folder.path("hwctl"), folder.path("started"))
            try FileManager.default.copyItem(atPath: Programs.path("hwctl"), toPath: program)
            // The program that it would start: the one beside it.
            try "#!/bin/sh\n: >\(mark)\n".write(
                toFile: folder.path("hwdaemon"), atomically: false, encoding: .utf8)
            chmod(folder.path("hwdaemon"), 0o755)
            func hwctl(_ arguments: [String]) throws -> Finished {
                try Running("/usr/bin/env", ["-u", "HWDAEMON_SOCKET", program] + arguments).wait()
            }
            let run = try hwctl(["sessions"] + options)
            // With --json, the failure is a document, too.
            #expect(run.status == 69 && run.output.isEmpty != options.contains("--json"))
            #expect(run.errorLines == ["hwctl: no daemon listens on \(Daemon.defaultAddress)"])
            #expect(!FileManager.default.fileExists(atPath: mark))
            // Other commands do.
            _ = try hwctl(["properties"])
            #expect(FileManager.default.fileExists(atPath: mark))
        }

        @Test("An app outside the prefix finds it in PATH")
        func inPath() throws {
            let folder = try Scratch()
            let program = folder.path("hwctl")
            try FileManager.default.copyItem(atPath: Programs.path("hwctl"), toPath: program)
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            let run = try Running(
                program, ["properties", "-v"], environment: ["PATH": "\(Programs.folder):\(path)"]
            )
            .wait()
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.errors.contains("using a private one"))
            let without = try Running(program, ["properties"], environment: ["PATH": "relative:/nonexistent"])
                .wait()
            #expect(without.status != 0)
            #expect(without.errors.contains("PATH"), "\(without.errors)")
        }
    }
}
