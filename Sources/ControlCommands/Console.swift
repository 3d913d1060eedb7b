// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import Glibc
package import HWClient
package import HWDModel
internal import HWDWire

/// Where hwctl writes: results to standard output, everything else to standard error.
package enum Console {
    /// A line on standard error; the progress bar, if there is one, makes room first.
    package static func note(_ text: String) { write(2, "hwctl: \(text)\n") }

    /// A line on standard output.
    ///
    /// - Throws: an I/O error when it cannot be written; a reader that has gone is no fault.
    package static func result(_ text: String) throws(CommandFailure) { try Self.text(text + "\n") }

    /// Text on standard output, as it is.
    package static func text(_ text: String) throws(CommandFailure) {
        if !write(1, text) {
            throw CommandFailure(.ioError, "standard output cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    /// A value as one JSON document on standard output.
    package static func json(_ value: some Encodable) throws {
        try result(String(decoding: try JSON.encode(value, pretty: true), as: UTF8.self))
    }

    /// Text as it is; false when it cannot be written, unless because the reader has gone.
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

    /// Aligns rows in columns, two spaces apart; no row ends in spaces.
    package static func table(_ rows: [[String]]) -> String {
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

/// A failure of a command: what is said on standard error, and the exit code.
package struct CommandFailure: Error {
    /// The sentence.
    package let reason: String
    /// The exit code.
    package let exitCode: Int32

    /// Fails with one of the codes there are.
    package init(_ status: ExitStatus, _ reason: String) {
        self.reason = reason
        exitCode = status.rawValue
    }

    /// 128 + SIGINT, as shells count.
    package static let interrupted = CommandFailure(exitCode: 130, reason: "interrupted; nothing was written")

    private init(exitCode: Int32, reason: String) {
        self.exitCode = exitCode
        self.reason = reason
    }

    /// What an error comes to.
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

/// An error of a module that this one does not know.
package protocol CommandError: Error {
    /// What it comes to.
    var commandFailure: CommandFailure { get }
}

extension ParsableCommand {
    /// Runs a command's body; its failure becomes one line on standard error and the exit code.
    package func report(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            let failure = CommandFailure(error)
            Console.note(failure.reason)
            throw ExitCode(failure.exitCode)
        }
    }
}

extension Daemon {
    /// The machine's daemon or a private one, which standard error is told about.
    package static func findAndReport() throws -> Daemon {
        let daemon = try find()
        if daemon.isPrivate { Console.note("no daemon on \(defaultAddress): using a private one for this command") }
        return daemon
    }
}
