// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import HWDModel

/// The help of commands: the parser's, in another order, and the options that it knows.
package enum CommandHelp {
    /// The parser's help in another order; nil for other messages.
    ///
    /// What people look for is first: usage, what the command does, examples, options; then the rest
    /// of the discussion.
    package static func text(_ message: String) -> String? {
        guard message.hasPrefix("OVERVIEW: ") else { return nil }
        let blocks = message.dropFirst("OVERVIEW: ".count).split(separator: "\n\n").map(String.init)
        guard let usage = blocks.firstIndex(where: { $0.hasPrefix("USAGE: ") }) else { return nil }
        let (overview, discussion) = (blocks[0], blocks[1..<max(1, usage)])
        let isExample = { (block: String) in block.hasPrefix("EXAMPLES\n") }
        let ordered =
            [blocks[usage], overview] + discussion.filter(isExample) + blocks[(usage + 1)...]
            + discussion.filter { !isExample($0) }
        return ordered.map { $0.trimmingNewlines }.joined(separator: "\n\n") + "\n"
    }

    /// The long options of a command, with their hyphens.
    package static func options(of root: any ParsableCommand.Type, command: String) -> Set<String> {
        let tree = try? JSON.decode(Tree.self, from: Array(root._dumpHelp().utf8))
        let found = tree?.command.subcommands?.first { $0.commandName == command }
        let names = (found?.arguments ?? []).flatMap { $0.names ?? [] }.filter { $0.kind == "long" }.map {
            "--\($0.name)"
        }
        return Set(names).union(["--help", "--version"])
    }

    /// The parser's description of its commands.
    private struct Tree: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
        }
        struct Argument: Decodable { var names: [Name]? }
        struct Command: Decodable {
            var commandName: String
            var arguments: [Argument]?
            var subcommands: [Command]?
        }
        var command: Command
    }
}

extension String {
    /// The text without line feeds at its ends.
    fileprivate var trimmingNewlines: Substring {
        var text = self[...]
        while text.first == "\n" { text.removeFirst() }
        while text.last == "\n" { text.removeLast() }
        return text
    }
}
