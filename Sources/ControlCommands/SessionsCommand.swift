// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import HWClient
internal import HWDModel
internal import HWDWire

/// `hwctl sessions`.
package struct SessionsCommand: ParsableCommand {
    /// The command's name and help.
    package static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "List the daemon's running sessions: your own, or all of them for root.",
        discussion: """
            EXAMPLES
              hwctl sessions
              hwctl sessions --metrics
            """)

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    @Flag(help: "Print the daemon's counters as OpenMetrics text instead.")
    var metrics = false

    /// Rejects options that exclude each other.
    package func validate() throws {
        if json, metrics { throw ValidationError("--json and --metrics exclude each other.") }
    }

    private struct Document: Encodable {
        var schema = 1
        var sessions: [SessionInfo]
    }

    /// Created by the parser.
    package init() {}

    /// Asks the daemon and prints the answer.
    package func run() throws {
        try report {
            let daemon = try Daemon.findAndReport()
            if metrics { return try Console.text(daemon.call(GetMetrics.self, Empty()).metrics) }
            let sessions = try daemon.call(ListSessions.self, Empty()).sessions
            if json { return try Console.json(Document(sessions: sessions)) }
            try Console.result(sessions.isEmpty ? "no sessions" : Self.table(sessions))
        }
    }

    private static func table(_ sessions: [SessionInfo]) -> String {
        var rows = [
            ["SESSION", "KIND", "PID", "UID", "SIZE", "FORMAT", "ENCODER", "IN", "OUT", "KIB", "MEMORY", "AGE"]
        ]
        for session in sessions {
            rows.append([
                session.session, session.kind.rawValue, "\(session.pid)", "\(session.uid)",
                "\(session.width)x\(session.height)", session.pixelFormat, session.codecID ?? "-",
                "\(session.framesIn)", "\(session.framesOut)", "\(session.bytesOut / 1024)",
                session.memoryBytes.map { "\($0 >> 20) MiB" } ?? "-", "\(session.ageMs / 1000) s",
            ])
        }
        return Console.table(rows)
    }
}
