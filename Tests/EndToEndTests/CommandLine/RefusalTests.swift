// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import Testing

extension EndToEndFaults {
    /// Refusals of `hwctl encode`: the exit code, one line with the reason, and no output.
    @Suite struct Refusals {
        /// A command line that cannot work.
        struct Case: CustomTestStringConvertible {
            let name: String
            let status: HWDModel.ExitStatus
            /// With `IN8` and `IN10` for clips and `DIR` for a scratch directory.
            let arguments: [String]
            /// Part of the line.
            let says: String

            init(_ name: String, _ status: HWDModel.ExitStatus, _ arguments: String..., says: String) {
                self.name = name
                self.status = status
                self.arguments = arguments
                self.says = says
            }

            var testDescription: String { name }
        }

        static let cases = [
            Case(
                "10 bits through Main", .usage, "--profile", "main", "IN10", "DIR/out.mov",
                says: "leave --profile out"),
            Case(
                "hardware that is not there", .unavailable, "--hardware", "require", "IN8", "DIR/out.mov",
                says: "hardware is required"),
            Case("a missing input", .noInput, "DIR/missing.mp4", "DIR/out.mov", says: "No such file"),
            Case("a directory as input", .noInput, "DIR", "DIR/out.mov", says: "directory"),
            Case("text called .mov", .badInput, "DIR/text.mov", "DIR/out.mov", says: "text.mov"),
            Case("an empty file", .badInput, "DIR/empty.mp4", "DIR/out.mov", says: "empty"),
            Case(
                "an output folder that is not there", .cannotCreate, "IN8", "DIR/none/out.mov",
                says: "No such file"),
            Case("an output where no file can be", .cannotCreate, "IN8", "/proc/out.mov", says: "/proc/out.mov"),
            Case("a folder as output", .cannotCreate, "IN8", "DIR/folder.mov", says: "directory"),
            Case("the input as output", .usage, "DIR/film.mp4", "DIR/film.mp4", says: "film.mp4"),
            Case("an unknown ending", .usage, "IN8", "DIR/out.avi", says: ".hevc"),
            Case("an unknown property", .usage, "--property", "Nonsense=1", "IN8", "DIR/out.mov", says: "Nonsense"),
            Case(
                "a read-only property", .usage, "--property", "OutputBitDepth=10", "IN8", "DIR/out.mov",
                says: "OutputBitDepth"),
            Case("a value out of range", .usage, "--qp", "99", "IN8", "DIR/out.mov", says: "QP"),
            Case(
                "contradictory properties", .usage, "--quality", "0.5", "--property", "QP=20", "IN8",
                "DIR/out.mov", says: "contradict"),
            Case(
                "contradictory x265 options", .usage, "--qp", "20", "--property", "X265Params=crf=20", "IN8",
                "DIR/out.mov", says: "contradict"),
            Case(
                "an x265 option that names a file", .usage, "--property", "X265Params=stats=/tmp/x", "IN8",
                "DIR/out.mov", says: "stats"),
            Case(
                "a property in lower case", .usage, "--property", "quality=0.5", "IN8", "DIR/out.mov",
                says: "did you mean Quality?"),
            Case(
                "an unknown preset", .usage, "--preset", "warp", "IN8", "DIR/out.mov",
                says: "there is no preset 'warp'"),
        ]

        @Test("Refused with its exit code, one line and no output", arguments: cases)
        func refused(_ refusal: Case) throws {
            let folder = try Scratch()
            let clips = [
                "IN8": try StandardStreams.y4m("yuv420p", in: folder),
                "IN10": try StandardStreams.y4m("yuv420p10le", in: folder),
            ]
            try Programs.tool("ffmpeg", ["-v", "error", "-i", clips["IN8"] ?? "", folder.path("film.mp4")])
            try Data("no film".utf8).write(to: URL(fileURLWithPath: folder.path("text.mov")))
            try Data().write(to: URL(fileURLWithPath: folder.path("empty.mp4")))
            try FileManager.default.createDirectory(
                atPath: folder.path("folder.mov"), withIntermediateDirectories: false)
            let before = folder.contents
            let arguments = refusal.arguments.map {
                clips[$0] ?? $0.replacing("DIR", with: folder.root)
            }
            let run = try Programs.hwctl(["encode"] + arguments)
            #expect(run.status == refusal.status.rawValue, "\(run.errors)")
            #expect(run.complaints.count == 1, "\(run.errors)")
            #expect(run.errors.contains(refusal.says), "\(run.errors)")
            #expect(run.output.isEmpty)
            #expect(folder.contents == before)
        }

        @Test(
            "With --json a failure is one document, even with wrong arguments",
            arguments: [
                (["encode", "--json", "DIR/missing.mp4", "DIR/out.mov"], HWDModel.ExitStatus.noInput),
                (["decode", "--json", "DIR/missing.mp4", "DIR/out.y4m"], .noInput),
                (["info", "--json", "DIR/missing.mp4"], .noInput),
                (["verify", "--json", "DIR/missing.mp4", "DIR/other.mp4"], .noInput),
                (
                    ["convert", "--json", "DIR/a", "DIR/b", "--size", "0x0", "--from", "nv12", "--to", "bgra8"],
                    .usage
                ),
                (["encode", "--json", "--crf", "23", "DIR/missing.mp4", "DIR/out.mov"], .usage),
                (["sessions", "--json", "--nonsense"], .usage),
                (["encode", "--json", "-dash.mp4", "DIR/out.mov"], .usage),
            ])
        func failedDocument(_ arguments: [String], _ status: HWDModel.ExitStatus) throws {
            let folder = try Scratch()
            let run = try Programs.hwctl(arguments.map { $0.replacing("DIR", with: folder.root) })
            #expect(run.status == status.rawValue && run.complaints.count == 1, "\(run.errors)")
            let document = try #require(try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            #expect(Set(document.keys) == ["schema", "error", "exit_code"])
            #expect(document["schema"] as? Int == 1 && document["exit_code"] as? Int == Int(status.rawValue))
            #expect(try run.errors == "hwctl: \(#require(document["error"] as? String))\n")
            #expect(folder.contents.isEmpty)
        }

        @Test("Without hwctl-media there is a document too")
        func documentWithoutMedia() throws {
            let folder = try Scratch()
            let program = folder.path("hwctl")
            try FileManager.default.copyItem(atPath: Programs.path("hwctl"), toPath: program)
            let run = try Running(program, ["info", "--json", "in.mp4"]).wait()
            #expect(run.status == HWDModel.ExitStatus.software.rawValue, "\(run.errors)")
            let document = try #require(try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            #expect(try run.errors == "hwctl: \(#require(document["error"] as? String))\n")
            #expect(run.errors.contains("hwctl-media cannot be run"), "\(run.errors)")
        }

        @Test("Contradictory options are refused before anything is started")
        func contradictoryOptions() throws {
            let run = try Programs.hwctl(["encode", "--qp", "20", "--quality", "0.5", "in.mp4", "out.mov"])
            #expect(run.status == HWDModel.ExitStatus.usage.rawValue)
            #expect(run.errors.contains("contradict"))
            #expect(!run.errors.contains("private"))
        }

        @Test("A private daemon never replaces an explicit socket without a listener")
        func explicitSocket() throws {
            let folder = try Scratch()
            let y4m = try StandardStreams.y4m("yuv420p", in: folder)
            let before = folder.contents
            for command in [["encode", y4m, folder.path("out.mov")], ["sessions"], ["probe"]] {
                let run = try Programs.hwctl(command, socket: folder.path("no-listener"))
                #expect(run.status == HWDModel.ExitStatus.unavailable.rawValue)
                #expect(run.errorLines.count == 1, "\(run.errors)")
                #expect(run.errors.contains(folder.path("no-listener")))
                #expect(run.output.isEmpty)
            }
            #expect(folder.contents == before)
        }

        @Test("A folder without write permission", .enabled(if: geteuid() != 0, "root may write everywhere"))
        func unwritable() throws {
            let folder = try Scratch()
            let y4m = try StandardStreams.y4m("yuv420p", in: folder)
            let closed = folder.path("closed")
            try FileManager.default.createDirectory(
                atPath: closed, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o555])
            let run = try Programs.hwctl(["encode", y4m, "\(closed)/out.mov"])
            #expect(run.status == HWDModel.ExitStatus.cannotCreate.rawValue, "\(run.errors)")
        }

        @Test("A session over the daemon's limit ends with 'try later'")
        func limit() throws {
            let server = try TestDaemon("--max-sessions", "1")
            let first = try Encoder(server.daemon, .yu12, width: 64, height: 64)
            let y4m = try StandardStreams.y4m("yuv420p", in: server.folder)
            let run = try Programs.hwctl(["encode", y4m, server.folder.path("out.mov")], socket: server.socket)
            #expect(run.status == HWDModel.ExitStatus.tryLater.rawValue, "\(run.errors)")
            #expect(run.errorLines.count == 1, "\(run.errors)")
            first.session.invalidate()
        }

        @Test(
            "A damaged file ends in time with an exit code and leaves output only when it worked",
            arguments: Clips.damaged)
        func damaged(_ url: URL) throws { try Self.checkDamaged(url) }

        static func checkDamaged(_ url: URL) throws {
            let folder = try Scratch()
            let output = folder.path("out.mov")
            let run = try Programs.hwctl(["encode", "--preset", "ultrafast", url.path, output])
            let status = try #require(run.status, "ended by \(run.exit)")
            #expect(status == 0 || (64...78).contains(status))
            #expect(run.errorLines.count <= 6, "\(run.errors)")
            #expect(folder.contents == (status == 0 ? ["out.mov"] : []))
            if status == 0 { #expect(try Probe(output).decodingMessages() == "") }
        }

        /// The large set of clips.
        @Suite(.enabled(if: Clips.hasShared, Clips.needsShared)) struct Long {
            @Test("A shared damaged file ends in time with an exit code", arguments: Clips.sharedDamaged)
            func damaged(_ url: URL) throws { try checkDamaged(url) }
        }
    }
}
