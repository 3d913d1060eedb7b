// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDTransport
import Testing

extension EndToEndFaults {
    /// Commands that write several files and are ended before these are complete.
    @Suite struct KilledOutputs {
        private let folder: Scratch

        init() throws {
            folder = try Scratch()
            for name in ["f-001.png", "f-002.png", "f-009.png"] {
                try Data("before \(name)".utf8).write(to: URL(fileURLWithPath: folder.path(name)))
            }
        }

        /// Whether the folder has only the earlier files, unchanged.
        private var isUnchanged: Bool {
            folder.contents == ["f-001.png", "f-002.png", "f-009.png"]
                && folder.contents.allSatisfy {
                    (try? String(contentsOfFile: folder.path($0), encoding: .utf8)) == "before \($0)"
                }
        }

        /// An `hwctl decode` to a series that has written pictures and waits for more.
        private func decode(_ ends: PipeEnds) throws -> Running {
            let hwctl = try Running(
                Programs.path("hwctl"), ["decode", "-", folder.path("f-%03d.png")], input: ends.readNumber)
            let frame = Data("FRAME\n".utf8) + Data(repeating: 128, count: 64 * 64 * 3 / 2)
            let film = Data("YUV4MPEG2 W64 H64 F25:1 Ip C420mpeg2\n".utf8) + frame + frame + frame
            try FileHandle(fileDescriptor: ends.writeNumber).write(contentsOf: film)
            let hidden = { folder.contents.first { $0.hasPrefix(".f-") }.map(folder.path) }
            let isWriting = eventually {
                let names = hidden().flatMap { try? FileManager.default.contentsOfDirectory(atPath: "\($0)/new") }
                return names?.contains("f-002.png") ?? false
            }
            try #require(isWriting, "\(hwctl.errorsSoFar)")
            return hwctl
        }

        @Test("A series that is interrupted leaves the pictures that were there", arguments: [SIGINT, SIGTERM])
        func interrupted(_ signal: Int32) throws {
            let ends = try PipeEnds()
            let hwctl = try decode(ends)
            try hwctl.child.kill(signal)
            let run = try hwctl.wait()
            #expect(run.status == 130, "\(run.errors)")
            #expect(run.complaints == ["hwctl: interrupted; nothing was written"], "\(run.errors)")
            #expect(isUnchanged, "\(folder.contents)")
        }

        @Test("A series that ends with an error leaves the pictures that were there")
        func failed() throws {
            let ends = try PipeEnds()
            let hwctl = try decode(ends)
            try FileHandle(fileDescriptor: ends.writeNumber).write(contentsOf: Data("FRAME\n123".utf8))
            ends.closeWriting()
            let run = try hwctl.wait()
            #expect(run.status == 65, "\(run.errors)")
            #expect(isUnchanged, "\(folder.contents)")
        }

        @Test("After SIGKILL the next command in the directory removes what is left")
        func killed() throws {
            let ends = try PipeEnds()
            let hwctl = try decode(ends)
            try hwctl.child.kill(SIGKILL)
            #expect(try hwctl.wait().exit == .signaled(SIGKILL))
            #expect(!isUnchanged)
            let run = try Programs.hwctl([
                "decode", "--no-overwrite", Clips.fixture("bframes.mp4").path, folder.path("f-001.png"),
            ])
            #expect(run.status == 73, "\(run.errors)")
            let next = try Programs.hwctl([
                "decode", "-q", Clips.fixture("bframes.mp4").path, folder.path("next.png"),
            ])
            #expect(next.status == 0, "\(next.errors)")
            try FileManager.default.removeItem(atPath: folder.path("next.png"))
            #expect(isUnchanged, "\(folder.contents)")
        }

        @Test("A series is not replaced where that is refused or left out")
        func refused() throws {
            let series = folder.path("f-%03d.png")
            let input = Clips.fixture("bframes.mp4").path
            let refusal = try Programs.hwctl(["decode", "--no-overwrite", input, series])
            let errors = refusal.errors
            #expect(refusal.status == 73 && errors.contains("f-001.png and 2 more exist"), "\(errors)")
            #expect(try Programs.hwctl(["decode", "--skip-existing", input, series]).status == 0)
            #expect(isUnchanged, "\(folder.contents)")
        }

        @Test(
            "A pipe is refused at once where a file is read twice",
            arguments: [
                "segments PIPE --count 2", "join out.mov PIPE --from FILE", "join out.mov FILE --from PIPE",
                "verify PIPE FILE", "verify FILE PIPE", "encode --segment 1/2 PIPE out.mov",
                "encode --parallel 2 PIPE out.mov", "encode --two-pass --bitrate 1M PIPE out.mov",
                "encode --verify PIPE out.mov", "live-photo PIPE FILE", "live-photo FILE PIPE",
            ])
        func pipes(_ line: String) throws {
            let pipe = folder.path("pipe.mov")
            try #require(mkfifo(pipe, 0o600) == 0)
            let names = [
                "PIPE": pipe, "FILE": Clips.fixture("bframes.mp4").path, "out.mov": folder.path("out.mov"),
            ]
            // open(2) of a FIFO without a writer blocks: hwctl would hang if it opened the pipe.
            let run = try Programs.hwctl(line.split(separator: " ").map { names[String($0)] ?? String($0) })
            #expect([64, 65].contains(run.status), "\(run.errors)")
            #expect(!folder.contents.contains("out.mov"))
        }
    }
}
