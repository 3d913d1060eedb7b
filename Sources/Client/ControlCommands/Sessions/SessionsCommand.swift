// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import Glibc
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
              hwctl sessions --watch
              hwctl sessions --metrics > /var/lib/prometheus/node-exporter/hwdaemon.prom

            BY is the library, or the node of the GPU. FPS and MBIT/S are what a session has put out since it was created; with --watch, since the line before. \
            Where no daemon runs the exit code is 69, and none is started.
            """)

    @Flag(help: "Show all columns: formats, ids, frames in and out.")
    var long = false

    @Flag(help: "List them again every few seconds, until interrupted; on a terminal in the same place.")
    var watch = false

    @Option(
        help: ArgumentHelp("Seconds between two lists, 0.2…3600.", valueName: "seconds"))
    var interval = 2.0

    @Flag(help: "Print the daemon's counters instead, as text for Prometheus.")
    var metrics = false

    @Option(
        help: ArgumentHelp("The format of --metrics: prometheus (0.0.4) or openmetrics (1.0.0).", valueName: "name")
    )
    var format = MetricsFormat.prometheus

    @Flag(help: "Print JSON on standard output: one document, or one for each line with --watch.")
    var json = false

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    /// Rejects options that exclude each other.
    package func validate() throws {
        if metrics, json || watch || long {
            throw ValidationError("--metrics excludes --json, --long and --watch.")
        }
        if !(0.2...3600 ~= interval) { throw ValidationError("--interval takes 0.2…3600 seconds.") }
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
            let daemon = try Daemon.findRunning()
            if metrics { return try Console.text(format.text(daemon.call(GetMetrics.self, Empty()).metrics)) }
            var list = SessionList(isLong: long)
            try show(daemon, &list)
            while watch {
                try pause()
                try show(daemon, &list)
            }
        }
    }

    private func show(_ daemon: Daemon, _ list: inout SessionList) throws {
        let sessions = try daemon.call(ListSessions.self, Empty()).sessions
        if json { return try Console.json(Document(sessions: sessions), pretty: !watch) }
        let isRedrawn = watch && isatty(STDOUT_FILENO) == 1
        if isRedrawn { Console.write(STDOUT_FILENO, "\u{1B}[H\u{1B}[2J") }
        try Console.result(list.table(sessions) + (watch && !isRedrawn ? "\n" : ""))
    }

    /// Waits for the next list.
    ///
    /// - Throws: `closedPipe` where nobody reads standard output any more.
    private func pause() throws {
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        if poll(&output, 1, Int32(interval * 1000)) > 0 { throw CommandFailure.closedPipe }
    }
}

/// The text formats of the daemon's counters.
enum MetricsFormat: String, ExpressibleByArgument, CaseIterable {
    case prometheus, openmetrics

    /// The daemon's OpenMetrics text in this format.
    func text(_ openMetrics: String) -> String {
        self == .openmetrics ? openMetrics : PrometheusText.text(openMetrics)
    }
}
