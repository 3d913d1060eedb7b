// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import Glibc
package import HWClient
package import HWDModel
internal import HWDSystem
internal import Synchronization

/// hwctl's output: results on standard output, everything else on standard error.
///
/// Texts of daemons, drivers and files must not control the terminal, so all but `write` clean what they print.
package enum Console {
    /// How much is written to standard error.
    package enum Verbosity: Int, Sendable {
        /// Errors and warnings.
        case quiet
        /// A line for each file too.
        case brief
        /// Notes too.
        case normal
        /// What the command does, too, and what a private daemon logs.
        case verbose
    }

    private static let level = Atomic<Int>(Verbosity.normal.rawValue)
    /// Whether failures have a JSON document too.
    private static let documentsFailures = Atomic<Bool>(false)
    /// Whether a JSON document was printed.
    private static let hasDocument = Atomic<Bool>(false)

    /// How much is written to standard error.
    package static var verbosity: Verbosity {
        get { Verbosity(rawValue: level.load(ordering: .relaxed)) ?? .normal }
        set { level.store(newValue.rawValue, ordering: .relaxed) }
    }

    /// Writes one line to standard error: a warning, or a note where notes are wanted.
    package static func note(_ text: String) {
        if verbosity.rawValue >= Verbosity.normal.rawValue || text.hasPrefix("warning: ") { error(text) }
    }

    /// Writes the line of one file to standard error, unless only errors and warnings are wanted.
    package static func file(_ text: String) { if verbosity != .quiet { error(text) } }

    /// Writes a line about what the command does to standard error, where that is wanted.
    package static func detail(_ text: String) { if verbosity == .verbose { error(text) } }

    /// Writes one line to standard error, whatever the text contains.
    package static func error(_ text: String) { write(2, errorLine(text)) }

    /// The line for a text, which may contain anything.
    package static func errorLine(_ text: String) -> String { "hwctl: \(FileName.printable(text))\n" }

    /// Writes a line to standard output.
    ///
    /// - Throws: an I/O error if it cannot be written; a closed pipe is no error.
    package static func result(_ text: String) throws(CommandFailure) { try Self.text(text + "\n") }

    /// Writes text to standard output without a line feed.
    package static func text(_ text: String) throws(CommandFailure) {
        if !write(1, FileName.withoutInvalidBytes(text.printableLines, prefix: "\\x")) {
            throw CommandFailure(.ioError, "standard output cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    /// Writes a value to standard output as one JSON document.
    ///
    /// - Parameter pretty: whether it has a line for each member; otherwise it is one line.
    package static func json(_ value: some Encodable, pretty: Bool = true) throws {
        hasDocument.store(true, ordering: .relaxed)
        try result(document(value, pretty: pretty))
    }

    /// A value as the JSON document that `json` writes.
    package static func document(_ value: some Encodable, pretty: Bool = true) throws -> String {
        let text = String(decoding: try JSON.encode(value, pretty: pretty), as: UTF8.self).printableJSON
        // JSON is Unicode: the backslash before a byte of a file name is one character of the string.
        return FileName.withoutInvalidBytes(text, prefix: "\\\\x")
    }

    /// Makes `report` print a JSON document of failures too.
    package static func documentFailures() { documentsFailures.store(true, ordering: .relaxed) }

    /// Writes the line of a failure to standard error, and its document to standard output where a document is expected and
    /// none was printed.
    package static func report(_ failure: CommandFailure) {
        guard !failure.reason.isEmpty else { return }
        error(failure.reason)
        guard documentsFailures.load(ordering: .relaxed), !hasDocument.load(ordering: .relaxed) else { return }
        // The line on standard error and the exit code say why; standard output may be what failed.
        try? json(FailureDocument(error: failure.reason, exitCode: failure.exitCode))
    }

    /// Writes text; false if it cannot be written, true for a closed pipe.
    @discardableResult
    package static func write(_ descriptor: Int32, _ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return errno == EPIPE }
            bytes = bytes.dropFirst(count)
        }
        return true
    }

    /// A number with its noun: `1 frame`, `2 frames`.
    package static func count(_ number: Int, _ noun: String) -> String {
        number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
    }

    /// Aligns rows in columns, two spaces apart, without spaces at the ends of rows.
    package static func table(_ rows: [[String]]) -> String {
        let rows = rows.map { row in row.map { $0.printable(maxBytes: .max) } }
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            var line = row.enumerated().map { index, cell in
                cell + String(repeating: " ", count: widths[index] - cell.count + 2)
            }.joined()
            while line.last == " " { line.removeLast() }
            return line
        }.joined(separator: "\n")
    }
}

/// The JSON document of a command that failed before it had a result.
private struct FailureDocument: Encodable {
    var schema = 1
    var error: String
    var exitCode: Int32

    private enum CodingKeys: String, CodingKey {
        case schema, error
        case exitCode = "exit_code"
    }
}

/// A failure of a command: the line on standard error and the exit code.
package struct CommandFailure: Error {
    /// One sentence; empty where nothing is printed.
    package let reason: String
    /// The exit code.
    package let exitCode: Int32

    /// A failure with one of hwctl's exit codes.
    package init(_ status: ExitStatus, _ reason: String) {
        self.reason = reason
        exitCode = status.rawValue
    }

    /// 128 + SIGINT, as shells count.
    package static let interrupted = CommandFailure(exitCode: 130, reason: "interrupted")

    /// 128 + SIGPIPE: standard output is a pipe that nobody reads any more.
    ///
    /// No line reports it, as of other filters.
    package static let closedPipe = CommandFailure(exitCode: 141, reason: "")

    /// An interruption after the output is complete.
    package static let interruptedVerification = CommandFailure(
        exitCode: 130, reason: "interrupted; the output is complete and was not verified")

    /// An interruption between or within several files.
    package static func interruptedBatch(written: Int) -> CommandFailure {
        CommandFailure(
            exitCode: 130, reason: "interrupted; \(written == 1 ? "1 file is" : "\(written) files are") written")
    }

    /// Exit codes of files, the worst first: what concerns all files comes before what concerns one.
    private static let severity: [ExitStatus] = [
        .software, .protocolError, .unavailable, .noPermission, .tryLater, .cannotCreate, .ioError, .usage,
        .noInput, .badInput,
    ]

    /// The failure with the worst exit code, the first of several; nil without any.
    package static func worst(of failures: [CommandFailure]) -> CommandFailure? {
        func rank(_ failure: CommandFailure) -> Int {
            severity.firstIndex { $0.rawValue == failure.exitCode } ?? severity.count
        }
        // min(by:) returns the first of equal ones.
        return failures.min { rank($0) < rank($1) }
    }

    /// The failure of several files, of which this is the worst.
    package func inBatch(_ summary: String) -> CommandFailure {
        CommandFailure(exitCode: exitCode, reason: summary)
    }

    /// The same failure, with the status to try again where the cause may pass, or may be this machine's alone: the daemon or
    /// its hardware, a fault of a driver or of a process, and input and output.
    package var retriable: CommandFailure {
        let passing: [ExitStatus] = [.unavailable, .software, .protocolError, .ioError]
        guard passing.contains(where: { $0.rawValue == exitCode }) else { return self }
        return CommandFailure(exitCode: ExitStatus.tryLater.rawValue, reason: reason)
    }

    /// A failure to verify an output that is complete.
    package var unverified: CommandFailure {
        CommandFailure(exitCode: exitCode, reason: "the output is complete and was not verified: \(reason)")
    }

    /// The same with what is left of the output; unchanged for other failures.
    func describing(output: String?) -> CommandFailure {
        guard exitCode == Self.interrupted.exitCode, reason == Self.interrupted.reason, let output else {
            return self
        }
        let rest = output == "-" ? "standard output is incomplete" : "nothing was written"
        return CommandFailure(exitCode: exitCode, reason: "\(reason); \(rest)")
    }

    /// The exit code of a failure whose line was printed, and no line.
    package static func reported(_ failure: CommandFailure) -> CommandFailure {
        CommandFailure(exitCode: failure.exitCode, reason: "")
    }

    /// Files differ: 1, as of cmp(1).
    package static func differs(_ reason: String) -> CommandFailure { CommandFailure(exitCode: 1, reason: reason) }

    /// Files differ, and standard output says how: 1, and no line.
    package static let reportedDifference = differs("")

    /// A machine has problems, which standard output names: 1, and no line.
    static let problemsFound = CommandFailure(exitCode: 1, reason: "")

    /// A program that cannot be executed: 127 if it is not found, otherwise 126, as of env(1).
    static func cannotExecute(_ program: String, _ number: Int32) -> CommandFailure {
        CommandFailure(
            exitCode: number == ENOENT ? 127 : 126,
            reason: "\(program) cannot be executed: \(String(cString: strerror(number)))")
    }

    private init(exitCode: Int32, reason: String) {
        self.exitCode = exitCode
        self.reason = reason
    }

    /// Converts any error to a failure.
    package init(_ error: any Error) {
        switch error {
        case let error as CommandFailure: self = error
        case let error as any CommandError: self = error.commandFailure
        case let error as ClientError: self.init(error.exitStatus, error.reason)
        case let error as SessionError: self.init(ExitStatus(error.status), error.reason)
        default: self.init(.software, "\(error)")
        }
    }
}

/// An error of a module that this one does not import.
package protocol CommandError: Error {
    /// This error as a failure.
    var commandFailure: CommandFailure { get }
}

extension ParsableCommand {
    /// Runs a command's body and reports its failure as one line on standard error and the exit code, and with `--json` as
    /// a document.
    ///
    /// - Parameter output: the command's output, which an interruption leaves incomplete; nil without one.
    package func report(output: String? = nil, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            let failure = CommandFailure(error).describing(output: output)
            Console.report(failure)
            throw ExitCode(failure.exitCode)
        }
    }
}

extension Daemon {
    /// The machine's daemon, or a private one, which a line announces where details are wanted.
    ///
    /// - Parameter requiresHardware: whether the command ends without hardware: a user without permission for the machine's
    ///   daemon then gets no private one, and learns how to get the permission.
    package static func findAndReport(requiresHardware: Bool = false) throws -> Daemon {
        try findWithRefusal(requiresHardware: requiresHardware).daemon
    }

    /// The same, and the error for which a private daemon replaces the machine's; nil where none does.
    ///
    /// - Parameter describes: whether the command describes what the daemon has, which differs where this user may not open
    ///   what the machine's may.
    static func findWithRefusal(
        requiresHardware: Bool = false, describes: Bool = false
    ) throws -> (daemon: Daemon, refusal: ClientError?) {
        let isVerbose = Console.verbosity == .verbose
        let daemon: Daemon
        do throws(ClientError) {
            daemon = try find(logs: isVerbose)
        } catch {
            guard error.code == .permissionDenied, !requiresHardware,
                let own = try startWherePermissionIsMissing(logs: isVerbose)
            else { throw error }
            let use =
                describes
                ? "this describes a private one, which may open what this user may"
                : "using a private one for this command"
            Console.file("\(error.reason); \(use)")
            return (own, error)
        }
        if daemon.isPrivate {
            Console.detail("no daemon on \(defaultAddress): using a private one for this command")
        }
        return (daemon, nil)
    }
}
