// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import Testing

extension EndToEndFaults {
    /// What hwctl says to somebody who tries it for the first time.
    @Suite struct FirstMinutes: CommandSuite {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        private func clip(_ name: String, frames: Int = 30, _ options: [String] = []) throws -> String {
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25", "-frames:v", "\(frames)"]
                    + options + [path(name)])
            return path(name)
        }

        @Test("A command line of ffmpeg is answered in one line, and nothing is written")
        func ffmpegLine() throws {
            let run = try hwctl(
                "encode", "-i", "in.mp4", "-c:v", "libx265", "-crf", "24", "-b:v", "6M", "-ss", "1", "-vf",
                "fps=30", "-n",
                path("out.mov"), status: 64)
            #expect(run.errorLines.count == 1, "\(run.errors)")
            for answer in [
                "-i is not needed", "the output is always HEVC", "ffmpeg's -crf 24 is --quality 0.42",
                "ffmpeg's -b:v 6M is --bitrate 6M", "ffmpeg's -ss 1 is --start 1",
                "ffmpeg's -vf fps=30 is --output-frame-rate 30", "ffmpeg's -n is --no-overwrite",
                "see hwctl encode --help",
            ] {
                #expect(run.errors.contains(answer), "\(run.errors)")
            }
            #expect(!FileManager.default.fileExists(atPath: path("out.mov")))
        }

        @Test("The command line that an answer ends with does the work")
        func answeredLine() throws {
            let refused = try hwctl(
                "encode", "-i", try clip("in.mp4"), "-c:v", "libx265", "-crf", "24", "-preset", "ultrafast", "-t",
                "0.4", path("out.mov"), status: 64)
            let line = try #require(refused.errorLines.first?.components(separatedBy: "; write: hwctl ").last)
            let run = try Programs.hwctl(line.components(separatedBy: " "), socket: server.socket)
            #expect(run.status == 0, "\(line): \(run.errors)")
            #expect(try Probe(path("out.mov")).frameTimes().count == 10)
        }

        @Test("The encoder is named before the first frame, and a preset of settings may be --preset")
        func encoderLine() throws {
            let run = try hwctl("encode", "--preset", "hevc-1080p", try clip("a.mp4"), path("a.mov"))
            #expect(
                run.errorLines.first?.hasPrefix("hwctl: encoding in software (x265): ") == true, "\(run.errors)")
            #expect(run.errorLines.first?.hasSuffix("; see hwctl doctor") == true, "\(run.errors)")
            let asked = try hwctl("encode", "--hardware", "off", "-y", path("a.mp4"), path("a.mov"))
            #expect(asked.errorLines.first == "hwctl: encoding in software (x265), as requested", "\(asked.errors)")
        }

        @Test("One frame is one frame, and a rate that is missed is said")
        func counts() throws {
            let one = try hwctl("encode", "--preset", "ultrafast", try clip("one.mp4", frames: 1), path("one.mov"))
            #expect(one.errors.contains(": 1 frame of 128x96"), "\(one.errors)")
            let flat = try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "color=gray:size=128x96:rate=1", "-frames:v", "100",
                    path("flat.mp4"),
                ])
            #expect(flat.status == 0)
            let missed = try hwctl("encode", "--bitrate", "8M", path("flat.mp4"), path("flat.mov"))
            #expect(missed.errors.contains(" less than requested (8.00 Mbit/s)"), "\(missed.errors)")
        }

        @Test("Alpha that is dropped is said, with the option that keeps it")
        func alpha() throws {
            let title = try clip(
                "title.mov", frames: 3, ["-vf", "format=yuva444p10le", "-c:v", "prores_ks", "-profile:v", "4444"])
            let run = try hwctl("encode", "--preset", "ultrafast", title, path("t.mov"))
            #expect(run.errors.contains("alpha is dropped; --alpha premultiplied keeps it"), "\(run.errors)")
            let kept = try hwctl(
                "encode", "--preset", "ultrafast", "--alpha", "premultiplied", title, path("kept.mov"))
            #expect(!kept.errors.contains("alpha is dropped"), "\(kept.errors)")
        }
    }

    /// A user without permission for the machine's daemon, which a namespace of its own has at the default address.
    @Suite(.enabled(if: getuid() == 0, "skipped: only root can become another user")) struct LockedOut {
        private static let canMount =
            (try? Running(Programs.required("unshare"), ["-m", "mount", "-t", "tmpfs", "none", "/mnt"]).wait()
                .status) == 0

        /// Whether user 65534 can run the programs and what they link.
        private static let canRun =
            (try? Running(
                Programs.required("unshare"),
                ["-m", Programs.required("bash"), "-c", versionScript, Programs.folder]
            ).wait().status) == 0
        private static let versionScript = "set -e; \(mounting); \(becoming) --version"

        /// Mounts the programs where every user can read them.
        private static let mounting =
            "mount -t tmpfs none /run; mkdir -m 755 /run/hwdaemon /run/programs; mount --bind \"$0\" /run/programs"
        /// Runs hwctl as user 65534.
        private static let becoming =
            "exec setpriv --reuid 65534 --regid 65534 --clear-groups /run/programs/hwctl"

        /// Runs hwctl as user 65534, with the programs where this user can read them, beside a daemon's socket of a group
        /// without a name, which is taken for the daemon's.
        private func hwctl(_ folder: Scratch, _ arguments: [String], socket: String = "") throws -> Finished {
            let numbers: ClosedRange<gid_t> = 60_000...60_999
            let unnamed = numbers.first { getgrgid($0) == nil }
            let group = try #require(unnamed)
            let script = """
                set -e
                \(Self.mounting)
                python3 -c 'import os, socket, sys
                path = "/run/hwdaemon/hwdaemon.sock"
                listener = socket.socket(socket.AF_UNIX); listener.bind(path + ".new"); listener.listen()
                os.chown(path + ".new", 0, \(group)); os.chmod(path + ".new", 0o660); os.rename(path + ".new", path)
                sys.stdout.close(); os.close(1); os.close(2); os.read(0, 1)' <&3 &
                while [ ! -S /run/hwdaemon/hwdaemon.sock ]; do sleep 0.01; done
                \(Self.becoming) "$@" 3<&-
                """
            let pipe = try PipeEnds()
            defer { pipe.closeWriting() }
            return try Running(
                Programs.required("unshare"),
                ["-m", Programs.required("bash"), "-c", "exec 3<&0; \(script)", Programs.folder] + arguments,
                environment: ["HWDAEMON_SOCKET": socket], input: pipe.readNumber
            ).wait()
        }

        @Test(
            "They encode with a private daemon, unless hardware or the socket is demanded",
            .enabled(if: canMount, "needs permission to mount a file system"),
            .enabled(if: canRun, "needs programs and libraries that user 65534 can run"))
        func privateDaemon() throws {
            let folder = try Scratch()
            let clip = folder.path("clip.mp4")
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25", "-frames:v", "5", clip])
            try #require(chmod(folder.root, 0o777) == 0 && chmod(clip, 0o644) == 0)
            let refusal =
                "hwctl: no permission to use /run/hwdaemon/hwdaemon.sock: join the group hwdaemon (sudo usermod -aG hwdaemon $USER, then log in again)"
            let run = try hwctl(folder, ["encode", "--preset", "ultrafast", clip, folder.path("out.mov")])
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.errors.hasPrefix(refusal + "; using a private one for this command\n"), "\(run.errors)")
            #expect(try Probe(folder.path("out.mov")).frameTimes().count == 5)
            let before = folder.contents
            for arguments in [
                ["encode", "--hardware", "require", clip, folder.path("no.mov")], ["sessions"],
            ] {
                let refused = try hwctl(folder, arguments)
                #expect(refused.status == 77 && refused.errors == refusal + "\n", "\(arguments): \(refused.errors)")
            }
            let explicit = try hwctl(
                folder, ["encode", clip, folder.path("no.mov")], socket: "/run/hwdaemon/hwdaemon.sock")
            #expect(explicit.status == 77 && explicit.errors == refusal + "\n", "\(explicit.errors)")
            #expect(folder.contents == before)
            for command in ["probe", "properties", "doctor"] {
                let errors = try hwctl(folder, [command]).errors
                #expect(
                    errors.hasPrefix(
                        refusal + "; this describes a private one, which may open what this user may\n"),
                    "\(command): \(errors)")
            }
            let doctor = try hwctl(folder, ["doctor"])
            #expect(doctor.status == 1, "\(doctor.errors)")
            #expect(doctor.text.contains("usermod") && !doctor.text.contains("No problem"), "\(doctor.text)")
        }
    }
}
