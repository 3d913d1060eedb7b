// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDTransport
import HWDWire
import Testing

extension EndToEndFaults {
    /// An interrupted hwctl leaves no file and no process.
    @Suite struct Interruptions {
        /// Where hwctl is when the signal comes.
        enum Moment: String, CaseIterable, CustomTestStringConvertible {
            /// Waiting for a slow encoder.
            case encoding
            /// Reading from a pipe without a writer.
            case reading

            var testDescription: String { rawValue }
        }

        /// An `hwctl encode` with a private daemon, in the middle of its work.
        final class Encode {
            let folder: Scratch
            let hwctl: Running
            /// The daemon and its worker.
            private(set) var processes: [ProcessEntry] = []
            private let pipe: PipeEnds?

            init(_ moment: Moment) throws {
                folder = try Scratch()
                let output = folder.path("out.mov")
                // Big frames, a slow preset: minutes of work.
                let y4m = "in.y4m"
                try Programs.tool(
                    "ffmpeg",
                    [
                        "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30", "-frames:v",
                        moment == .encoding ? "150" : "40", "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe",
                        folder.path(y4m),
                    ])
                let preset = ["encode", "--preset", moment == .encoding ? "placebo" : "ultrafast"]
                switch moment {
                case .encoding:
                    pipe = nil
                    hwctl = try Running(Programs.path("hwctl"), preset + [folder.path(y4m), output])
                case .reading:
                    let ends = try PipeEnds()
                    pipe = ends
                    hwctl = try Running(Programs.path("hwctl"), preset + ["-", output], input: ends.readNumber)
                    let film = try Data(contentsOf: URL(fileURLWithPath: folder.path(y4m)))
                    // Half a frame is missing: hwctl waits for it.
                    try FileHandle(fileDescriptor: ends.writeNumber).write(contentsOf: film.dropLast(100_000))
                }
                let pid = hwctl.child.pid
                var worker: ProcessEntry?
                let found = eventually {
                    let daemons = ProcessEntry.children(of: pid).filter { $0.name == "hwdaemon" }
                    let workers = daemons.flatMap { ProcessEntry.children(of: $0.pid) }
                        .filter { $0.name.hasPrefix("hwdaemon-enc") }
                    processes = daemons + workers
                    worker = workers.first
                    return worker != nil
                }
                try #require(found, "no worker runs: \(hwctl.errorsSoFar)")
                // The daemon starts while hwctl still loads, and on a busy machine long before hwctl waits for signals.
                let isReady = eventually { Self.awaitsInterrupt(pid) }
                try #require(isReady, "no signal is handled: \(hwctl.errorsSoFar)")
                let encoder = try #require(worker)
                let isWorking = eventually { isInTheMiddle(encoder) }
                try #require(isWorking, "\(hwctl.errorsSoFar)")
                try #require(try hwctl.child.tryReap() == nil, "hwctl was done too soon: \(hwctl.errorsSoFar)")
                #expect(!processes.contains { !$0.isRunning })
            }

            /// Whether the encoder has worked for a while, or hwctl has read all that there is.
            private func isInTheMiddle(_ worker: ProcessEntry) -> Bool {
                if let pipe {
                    var unread: Int32 = 0
                    return ioctl(pipe.readNumber, UInt(FIONREAD), &unread) == 0 && unread == 0
                }
                // Half a second of processor time, of which its start takes a small part.
                return ProcessEntry.processorTime(of: worker.pid) ?? 0 > 50
            }

            /// Whether a process handles SIGINT, or blocks it to read it from a descriptor (proc(5): SigCgt, SigBlk).
            private static func awaitsInterrupt(_ pid: Int32) -> Bool {
                let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
                return status.split(separator: "\n").contains { line in
                    guard line.hasPrefix("SigCgt:") || line.hasPrefix("SigBlk:"),
                        let mask = line.split(separator: "\t").last.flatMap({ UInt64($0, radix: 16) })
                    else { return false }
                    return mask & 1 << UInt64(SIGINT - 1) != 0
                }
            }

            /// Expects the daemon and its worker to end and nothing to be left in the folder.
            func expectNothingLeft() {
                #expect(eventually { !processes.contains(where: \.isRunning) })
                #expect(folder.contents == ["in.y4m"])
            }
        }

        @Test(
            "Ctrl-C ends it with 130, no file and no process",
            arguments: [(Moment.encoding, SIGINT), (.encoding, SIGTERM), (.reading, SIGINT)])
        func interrupted(_ moment: Moment, _ signal: Int32) throws {
            let encode = try Encode(moment)
            try encode.hwctl.child.kill(signal)
            let run = try encode.hwctl.wait()
            #expect(run.status == 130, "\(run.exit): \(run.errors)")
            // hwctl's last resort, an abrupt exit after five seconds, says nothing.
            #expect(run.complaints == ["hwctl: interrupted; nothing was written"], "\(run.errors)")
            encode.expectNothingLeft()
        }

        @Test("SIGKILL of hwctl ends its private daemon and the worker")
        func killed() throws {
            let encode = try Encode(.encoding)
            try encode.hwctl.child.kill(SIGKILL)
            #expect(try encode.hwctl.wait().exit == .signaled(SIGKILL))
            encode.expectNothingLeft()
        }

        @Test("Several files that are interrupted have a document of those before")
        func batch() throws {
            let server = try TestDaemon()
            let folder = server.folder
            let out = folder.path("out")
            try FileManager.default.createDirectory(atPath: out, withIntermediateDirectories: false)
            for (name, size, frames) in [("a.y4m", "64x64", "5"), ("b.y4m", "640x360", "150")] {
                try Programs.tool(
                    "ffmpeg",
                    [
                        "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30", "-frames:v", frames,
                        "-pix_fmt", "yuv420p", folder.path(name),
                    ])
            }
            let hwctl = try Running(
                Programs.path("hwctl"),
                [
                    "encode", "--preset", "placebo", "--json", "--output-dir", out, folder.path("a.y4m"),
                    folder.path("b.y4m"),
                ], environment: ["HWDAEMON_SOCKET": server.socket])
            let isInSecond = try eventually {
                try server.sessions().contains { $0.width == 640 && $0.framesIn > 0 }
            }
            try #require(isInSecond, "\(hwctl.errorsSoFar)")
            try hwctl.child.kill(SIGINT)
            let run = try hwctl.wait()
            #expect(run.status == 130, "\(run.errors)")
            let document = try #require(try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            let files = try #require(document["files"] as? [[String: Any]])
            #expect(files.count == 2 && files[0]["frames"] as? Int == 5)
            #expect(files.last?["exit_code"] as? Int == 130)
            #expect(try FileManager.default.contentsOfDirectory(atPath: out) == ["a.mov"])
        }

        @Test("An existing output is left unchanged")
        func previousOutput() throws {
            let encode = try Encode(.encoding)
            let output = encode.folder.path("out.mov")
            try Data("older".utf8).write(to: URL(fileURLWithPath: output))
            try encode.hwctl.child.kill(SIGINT)
            let run = try encode.hwctl.wait()
            #expect(run.status == 130, "\(run.errors)")
            #expect(try String(contentsOfFile: output, encoding: .utf8) == "older")
        }
    }
}
