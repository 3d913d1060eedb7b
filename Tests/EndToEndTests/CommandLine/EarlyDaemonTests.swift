// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import HWDModel
import HWDTransport
import Testing

extension EndToEnd {
    /// The private daemon that hwctl starts before it executes hwctl-media.
    @Suite struct EarlyDaemons {
        private static let hasOtherDaemon = FileManager.default.fileExists(atPath: "/run/hwdaemon/hwdaemon.sock")

        /// An `hwctl decode` that waits for its input, with its daemon and the process of the session to come.
        final class Decode {
            let hwctl: Running
            let folder: Scratch
            let pipe: PipeEnds
            private(set) var processes: [ProcessEntry] = []

            init() throws {
                folder = try Scratch()
                pipe = try PipeEnds()
                hwctl = try Running(
                    Programs.path("hwctl"), ["decode", "-", folder.path("out.y4m")], input: pipe.readNumber)
                let pid = hwctl.child.pid
                let found = eventually {
                    let daemons = ProcessEntry.children(of: pid).filter { $0.name == "hwdaemon" }
                    let workers = daemons.flatMap { ProcessEntry.children(of: $0.pid) }
                    processes = daemons + workers.filter { $0.name.hasPrefix("hwdaemon-dec") }
                    return processes.count > 1 && ProcessEntry(pid)?.name == "hwctl-media"
                }
                try #require(found, "\(processes): \(hwctl.errorsSoFar)")
            }

            /// Expects that the daemon and the session's process end and that there is no output.
            func expectNothingLeft() {
                #expect(eventually { !processes.contains(where: \.isRunning) })
                #expect(folder.contents.isEmpty)
            }
        }

        @Test(
            "It runs once, with a decoder, and ends with hwctl", .enabled(if: !hasOtherDaemon, "one runs already"))
        func killed() throws {
            let decode = try Decode()
            #expect(decode.processes.map(\.name) == ["hwdaemon", "hwdaemon-decode"])
            try decode.hwctl.child.kill(SIGKILL)
            #expect(try decode.hwctl.wait().exit == .signaled(SIGKILL))
            decode.expectNothingLeft()
        }

        @Test("It ends with a command that has no use for it", .enabled(if: !hasOtherDaemon, "one runs already"))
        func unused() throws {
            let decode = try Decode()
            try FileHandle(fileDescriptor: decode.pipe.writeNumber).write(contentsOf: Data("no film".utf8))
            decode.pipe.closeWriting()
            let run = try decode.hwctl.wait()
            #expect(run.status == HWDModel.ExitStatus.badInput.rawValue, "\(run.errors)")
            #expect(run.complaints.count == 1, "\(run.errors)")
            decode.expectNothingLeft()
        }

        @Test("A command that is refused has the same exit code and one line")
        func refused() throws {
            let folder = try Scratch()
            let missing = try Programs.hwctl(
                ["decode", folder.path("missing.mov"), folder.path("out.y4m")])
            #expect(missing.status == HWDModel.ExitStatus.noInput.rawValue, "\(missing.errors)")
            #expect(missing.complaints.count == 1, "\(missing.errors)")
            #expect(folder.contents.isEmpty)
        }

        @Test("With a daemon that runs, none is started")
        func running() throws {
            let server = try TestDaemon()
            let pipe = try PipeEnds()
            let hwctl = try Running(
                Programs.path("hwctl"), ["decode", "-", server.folder.path("out.y4m")],
                environment: ["HWDAEMON_SOCKET": server.socket], input: pipe.readNumber)
            let pid = hwctl.child.pid
            try #require(eventually { ProcessEntry(pid)?.name == "hwctl-media" })
            #expect(ProcessEntry.children(of: pid).isEmpty)
        }

        @Test(
            "A variable that names no daemon of this process is ignored",
            arguments: sampled(
                [
                    "x", "1 2 @x", "0 0 @", "-1 -1 @x", "99999999999 3 @x", "1 3 @x", "1 400 @x",
                    "\(getpid()) 3 /tmp/x",
                    "\(getpid()) 3 @\(String(repeating: "x", count: 200))", "3 3 @x 3",
                ], oneIn: 3))
        func wrongVariable(_ value: String) throws {
            let folder = try Scratch()
            let (clip, own, theirs) = (folder.path("clip.mp4"), folder.path("own.yuv"), folder.path("theirs.yuv"))
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25", "-frames:v", "5",
                    "-pix_fmt",
                    "yuv420p", "-c:v", "libx265", "-x265-params", "log-level=error", clip,
                ])
            try Programs.tool("ffmpeg", ["-v", "error", "-i", clip, "-f", "rawvideo", theirs])
            let run = try Running(
                Programs.path("hwctl-media"), ["decode", "-q", clip, own], environment: ["HWDAEMON_STARTED": value]
            ).wait()
            #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
            #expect(FileManager.default.contentsEqual(atPath: own, andPath: theirs))
        }
    }
}
