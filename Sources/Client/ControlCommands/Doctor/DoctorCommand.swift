// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import HWClient
internal import HWDModel
internal import HWDWire

/// `hwctl doctor`.
package struct DoctorCommand: ParsableCommand {
    /// The command's name and help.
    package static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Say what works in hardware, what does not and why, and how to cure it.",
        discussion: """
            EXAMPLES
              hwctl doctor
              hwctl doctor --json | jq -r '.problems[].command // empty'

            The daemon that sessions would use is asked to try everything again that failed. The exit code is 0 where no \
            problem was found, and 1 otherwise. A problem's command cures it, or shows more about it; commands are \
            for root on Debian. Limits that no known later version of a driver lifts are listed, and are no problem.
            """)

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    /// Created by the parser.
    package init() {}

    /// Asks the daemon and prints the diagnosis.
    package func run() throws {
        try report {
            let (daemon, refusal) = try Daemon.findWithRefusal(describes: true)
            let snapshot = try daemon.call(
                Probe.self, Probe.Parameters(device: nil, verify: nil), timeout: .seconds(60))
            let machine = Machine.present(
                nodes: snapshot.nodes.map(\.node), socket: daemon.isPrivate ? nil : daemon.address)
            var diagnosis = Diagnosis(snapshot, machine)
            // Sessions of this user do not have what the machine's daemon may use.
            if let refusal { diagnosis.problems.insert(Diagnosis.Problem(nil, refusal.reason), at: 0) }
            if json { try Console.json(diagnosis) } else { try Console.result(Self.text(diagnosis)) }
            if !diagnosis.problems.isEmpty { throw CommandFailure.problemsFound }
        }
    }

    /// The verdict, then each problem with its cure.
    static func text(_ diagnosis: Diagnosis) -> String {
        var lines = [
            ability("Encoding", diagnosis.encode), ability("Decoding", diagnosis.decode),
        ]
        if let convert = diagnosis.convert { lines.append(ability("Colors", convert)) }
        if diagnosis.problems.isEmpty { lines += ["", "No problem was found."] }
        for (index, problem) in diagnosis.problems.enumerated() {
            lines += [""] + Self.lines("\(index + 1).", problem)
        }
        for (index, limit) in diagnosis.limits.enumerated() {
            if index == 0 { lines += ["", "Limits that no known later version of a driver lifts:"] }
            lines += Self.lines(" -", limit)
        }
        return lines.joined(separator: "\n")
    }

    private static func lines(_ title: String, _ problem: Diagnosis.Problem) -> [String] {
        var lines = [Paragraphs.paragraph(title, problem.subject + problem.problem, indent: 3)]
        if let remedy = problem.remedy { lines.append(Paragraphs.paragraph("   Cure:", remedy, indent: 9)) }
        lines += problem.command.map { ["      \($0)"] } ?? []
        let more = problem.link.map { link in problem.quirk.map { "\(link) (quirk \($0))" } ?? link }
        return lines + (more.map { [Paragraphs.paragraph("   More:", $0, indent: 9)] } ?? [])
    }

    private static func ability(_ title: String, _ ability: Diagnosis.Ability) -> String {
        let place =
            ability.by.map { ability.hardware ? "in hardware: \($0)" : "in software: \($0)" } ?? "not possible"
        let reason = ability.reason.map { ", because \($0)" } ?? ""
        return Paragraphs.paragraph(title, place + reason, indent: 10)
    }
}
