// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDSystem
import HWDTransport
import Testing

/// How long a test waits for anything before it fails.
///
/// It ends a test of something that hangs, and is far above what a slow or busy machine takes.
let hangLimit = Duration.seconds(120)

/// A program that `make deps` installs is not there: tests fail then, they are not skipped.
struct MissingTool: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The programs under test, and the environment that each is started with.
enum Programs {
    /// Where the build put them: beside the test runner.
    static let folder = Program.folder

    /// Keeps the machine's own devices, its own daemon and its configuration out of the tests.
    static let environment = [
        "HWDAEMON_DEVICES": "/dev/null/none", "HWDAEMON_SOCKET": "", "VK_DRIVER_FILES": "/dev/null/none",
        "HWDAEMON_CAPABILITIES_DIR": "/dev/null/none", "HWDAEMON_PRESETS_DIR": "/dev/null/none",
    ]

    /// A folder of configuration that has none, for `--config`.
    static let noConfiguration = repository("Tests/NoConfiguration")

    /// A file of the repository by its path in it.
    static func repository(_ path: String) -> String {
        URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../\(path)").standardizedFileURL.path
    }

    /// A program of the project by its name.
    static func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// The path of a program that `make deps` installs, by one of its names.
    static func required(_ names: String...) throws -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        for name in names {
            for folder in folders where access("\(folder)/\(name)", X_OK) == 0 { return "\(folder)/\(name)" }
        }
        throw MissingTool("\(names.joined(separator: " or ")) is not installed; run 'make deps'")
    }

    /// Whether a program that `make deps` does not install is there.
    static func has(_ name: String) -> Bool { (try? required(name)) != nil }

    /// Runs a program found on PATH to its successful end.
    @discardableResult
    static func tool(_ name: String, _ arguments: [String]) throws -> Finished {
        if name == "ffmpeg", let run = try GeneratedClips.copy(arguments) { return run }
        let finished = try Running(required(name), arguments).wait()
        try #require(finished.status == 0, "\(name) \(arguments.joined(separator: " ")): \(finished.errors)")
        if name == "ffmpeg" { GeneratedClips.keep(arguments, finished) }
        return finished
    }

    /// Runs hwctl to its end; a file that it encodes is verified.
    static func hwctl(_ arguments: [String], socket: String = "", input: Int32? = nil) throws -> Finished {
        let run = try Running(path("hwctl"), arguments, environment: ["HWDAEMON_SOCKET": socket], input: input)
            .wait()
        try OutputCheck.check(arguments, run, socket: socket)
        return run
    }
}

/// A process that has ended.
struct Finished: Sendable {
    var exit: ChildProcess.Exit
    var output: [UInt8]
    var errors: String

    /// The exit status; nil when a signal ended it.
    var status: Int32? { if case .exited(let status) = exit { status } else { nil } }
    var text: String { String(decoding: output, as: UTF8.self) }
    var errorLines: [Substring] { errors.split(separator: "\n") }
    /// Lines of standard error except hwctl's remarks that it runs a private daemon, and what encodes.
    var complaints: [Substring] {
        errorLines.filter { !$0.contains("using a private one") && !$0.hasPrefix("hwctl: encoding in ") }
    }
}

/// A process that was started, its output collected in files that have no name.
final class Running: Sendable {
    let child: ChildProcess
    private let output: OwnedFD
    private let errors: OwnedFD

    /// Starts a program; standard input is empty unless it is given.
    init(
        _ path: String, _ arguments: [String], environment: [String: String] = [:], input: Int32? = nil,
        output given: Int32? = nil
    ) throws {
        let out = try Self.nameless()
        let err = try Self.nameless()
        let null = OwnedFD(open("/dev/null", O_RDONLY))
        child = try ChildProcess(
            spawning: path, arguments: arguments,
            environment: Programs.environment.merging(environment) { $1 },
            files: [
                ChildProcess.File(input ?? null.rawValue, as: 0),
                ChildProcess.File(given ?? out.rawValue, as: 1), ChildProcess.File(err.rawValue, as: 2),
            ])
        // The bare number does not keep the descriptor open until the child has it.
        _ = consume null
        output = out
        errors = err
    }

    deinit {
        if (try? child.tryReap()) == nil {
            try? child.kill(SIGKILL)
            _ = try? child.wait()
        }
    }

    /// Waits for the end; fails the test and kills the process when that takes longer.
    func wait(within limit: Duration = hangLimit) throws -> Finished {
        var exit = try child.wait(until: MonotonicTime.now + limit)
        if exit == nil {
            try child.kill(SIGKILL)
            exit = try child.wait()
            Issue.record("a process ran for more than \(limit); its standard error: \(errorsSoFar)")
        }
        return Finished(exit: try #require(exit), output: Self.contents(output), errors: errorsSoFar)
    }

    /// What it has written to standard error up to now.
    var errorsSoFar: String { String(decoding: Self.contents(errors), as: UTF8.self) }

    private static func nameless() throws -> OwnedFD {
        var name = Array("/tmp/hwd-output-XXXXXX".utf8CString)
        let number = mkstemp(&name)
        try #require(number >= 0)
        unlink(name)
        return OwnedFD(number)
    }

    private static func contents(_ file: borrowing OwnedFD) -> [UInt8] {
        var status = stat()
        guard fstat(file.rawValue, &status) == 0, status.st_size > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = pread(file.rawValue, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(0, count)))
    }
}

/// Both ends of a pipe, close-on-exec.
final class PipeEnds {
    private(set) var reading: OwnedFD?
    private(set) var writing: OwnedFD?

    init() throws {
        var ends: [Int32] = [-1, -1]
        let made = pipe(&ends)
        try #require(made == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reading = OwnedFD(ends[0])
        writing = OwnedFD(ends[1])
    }

    var readNumber: Int32 { reading?.rawValue ?? -1 }
    var writeNumber: Int32 { writing?.rawValue ?? -1 }
    func closeReading() { reading = nil }
    func closeWriting() { writing = nil }
}

/// Polls `condition` every 5 ms until it holds; false after `limit`.
func eventually(within limit: Duration = hangLimit, _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = MonotonicTime.now + limit
    while MonotonicTime.now < deadline {
        if try condition() { return true }
        usleep(5000)
    }
    return try condition()
}

extension Trait where Self == ConditionTrait {
    /// For what libheif's programs judge.
    static var needsLibHEIF: Self {
        .enabled(if: Programs.has("heif-convert") && Programs.has("heif-info"), "needs heif-info and heif-convert")
    }

    /// For what exiftool judges.
    static var needsExifTool: Self { .enabled(if: Programs.has("exiftool"), "needs exiftool") }
}
