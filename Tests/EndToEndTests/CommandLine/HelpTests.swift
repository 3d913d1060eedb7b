// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

/// The help of commands, compared with what their parsers say of themselves.
@Suite struct HelpTests {
    private struct Dump: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
        }
        struct Argument: Decodable {
            var shouldDisplay: Bool
            var names: [Name]?
        }
        struct Command: Decodable {
            var commandName: String
            var discussion: String?
            var arguments: [Argument]?
            var subcommands: [Command]?
        }
        var command: Command
    }

    private func hwctl(_ arguments: String...) throws -> Finished {
        let run = try Running(Programs.path("hwctl"), arguments).wait()
        try #require(run.status == 0, "\(arguments): \(run.errors)")
        return run
    }

    private func program() throws -> Dump.Command {
        let run = try hwctl("--experimental-dump-help")
        return try JSONDecoder().decode(Dump.self, from: Data(run.output)).command
    }

    private func commands() throws -> [Dump.Command] { try program().subcommands ?? [] }

    @Test("The help of encode fits on two screens and names every option")
    func encode() throws {
        let text = try hwctl("encode", "--help").text
        #expect(try hwctl("encode", "-h").text == text)
        #expect(try hwctl("help", "encode").text == text)
        #expect(try hwctl("encode", "a.mov", "--help").text == text)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 48 && lines.allSatisfy { $0.count <= 80 }, "\(lines.count) lines")
        let command = try #require(try commands().first { $0.commandName == "encode" })
        let options = Set(
            (command.arguments ?? []).filter(\.shouldDisplay).flatMap { $0.names ?? [] }
                .filter { $0.kind == "long" && !["help", "version"].contains($0.name) }.map { "--\($0.name)" })
        try #require(options.count > 40)
        let named = Set(
            text.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init).filter { $0.hasPrefix("--") }
        )
        #expect(options.subtracting(named).isEmpty, "not named: \(options.subtracting(named).sorted())")
        #expect(named.subtracting(options) == ["--help-all"], "\(named.subtracting(options))")
        let all = try hwctl("encode", "--help-all").text
        #expect(options.allSatisfy(all.contains) && all.count > 4 * text.count)
    }

    @Test("Usage and examples come first in the help of the program and of every command")
    func examples() throws {
        #expect(try program().discussion?.hasPrefix("EXAMPLES\n  hwctl encode ") == true)
        let help = try hwctl("--help").text
        #expect(help.hasPrefix("USAGE: hwctl "))
        #expect(
            try #require(help.range(of: "EXAMPLES")).lowerBound < #require(help.range(of: "SUBCOMMANDS")).lowerBound
        )
        for command in try commands() where command.commandName != "help" {
            let first = command.discussion?.split(separator: "\n").prefix(2).joined(separator: " ") ?? ""
            #expect(
                first.hasPrefix("EXAMPLES") && first.contains("hwctl \(command.commandName)"),
                "\(command.commandName)")
            let lines = try hwctl(command.commandName, "--help").text.split(separator: "\n")
            #expect(lines.first?.hasPrefix("USAGE: hwctl \(command.commandName)") == true, "\(command.commandName)")
            let examples = try #require(lines.firstIndex(of: "EXAMPLES"), "\(command.commandName)")
            #expect(examples < 12, "\(command.commandName)")
        }
    }
}
