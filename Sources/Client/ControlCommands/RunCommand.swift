// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import Glibc
internal import HWDModel
internal import HWDSystem

/// `hwctl run`.
package struct RunCommand: ParsableCommand {
    /// The command's name and help.
    package static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Execute a program whose libx265 encoders are to use hardware.",
        usage: "hwctl run [--log] -- <program> [<argument> ...]",
        discussion: """
            EXAMPLES
              hwctl run -- ffmpeg -i in.mp4 -c:v libx265 -b:v 6M out.mp4
              hwctl run --log -- HandBrakeCLI -i in.mkv -o out.mp4 -e x265

            Preloads libhwdaemon-x265.so and executes the program: ffmpeg, gst-launch-1.0, HandBrakeCLI, or any other that is linked \
            with libx265 as a shared library. Each encoder that it opens asks the daemon for verified hardware; where there is none, or \
            an option has no counterpart in hardware, libx265 itself encodes, with every option as it was given. \
            No private daemon is started. docs/x265.md lists what becomes of the options.

            EXIT STATUS
              The program's, or:
              64  wrong usage
              66  the library is not installed beside hwctl
             126  the program cannot be executed
             127  the program is not found

            ENVIRONMENT
              HWDAEMON_SOCKET    the daemon's socket (a path, or @name)
              HWDAEMON_X265_LOG  1: as --log
              LD_PRELOAD         libraries that are preloaded after this one
            """)

    @Flag(help: "Print a line on standard error for each encoder: the hardware, or why it is libx265.")
    var log = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program, by path or found in $PATH, and its arguments.", valueName: "program"))
    var command: [String] = []

    /// Rejects a command line without a program.
    package func validate() throws {
        if command.isEmpty { throw ValidationError("There is no program: write hwctl run -- PROGRAM ...") }
    }

    /// Created by the parser.
    package init() {}

    /// Executes the program in place of this one.
    package func run() throws {
        try report {
            let preloaded = [try Self.library(), Environment.value("LD_PRELOAD")].compactMap { $0 }
            setenv("LD_PRELOAD", preloaded.joined(separator: ":"), 1)
            if log { setenv("HWDAEMON_X265_LOG", "1", 1) }
            throw Self.execute(command)
        }
    }

    private static let name = "libhwdaemon-x265.so"

    /// The library of the prefix that this program is installed in, or of the same build.
    private static func library() throws(CommandFailure) -> String {
        #if arch(x86_64)
            let machine = "x86_64"
        #elseif arch(arm64)
            let machine = "aarch64"
        #else
            let machine = "unknown"
        #endif
        let folder = Program.folder
        let folders = [
            "\(folder)/../lib/hwdaemon", "\(folder)/../lib/\(machine)-linux-gnu/hwdaemon",
            "\(folder)/../../clients/x265",
        ]
        guard let path = folders.lazy.compactMap({ resolved("\($0)/\(name)") }).first else {
            throw CommandFailure(
                .noInput, "\(name) is not installed: it is in none of \(folders.joined(separator: ", "))")
        }
        // ld.so(8): spaces and colons separate libraries, and $ begins a name that is replaced.
        guard !path.contains(where: { " :$".contains($0) }) else {
            throw CommandFailure(
                .noInput, "\(path) cannot be preloaded: its path contains a space, a colon or a dollar sign")
        }
        return path
    }

    /// The path without links; nil if there is no such file.
    private static func resolved(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }

    /// Returns only if the program cannot be executed.
    private static func execute(_ command: [String]) -> CommandFailure {
        var arguments = command.map { strdup(FileName.bytes($0)) } + [nil]
        execvp(FileName.bytes(command[0]), &arguments)
        return .cannotExecute(command[0], errno)
    }
}
