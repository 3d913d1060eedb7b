// SPDX-License-Identifier: MIT
import Foundation
import PackagePlugin

/// Turns `org.hwdaemon.varlink` into a Swift string, so that the file stays the one definition of the interface.
@main
struct EmbedInterface: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let target = target as? SourceModuleTarget else { return [] }
        let input = target.directoryURL.appendingPathComponent("org.hwdaemon.varlink")
        let output = context.pluginWorkDirectoryURL.appendingPathComponent("InterfaceText.swift")
        let script = """
            { printf 'extension Interface {\\n    static let text = ##\"\"\"\\n'; cat "$1"; \
            printf '\\n\"\"\"##\\n}\\n'; } > "$2.new" && mv "$2.new" "$2"
            """
        return [
            .buildCommand(
                displayName: "Embedding org.hwdaemon.varlink",
                executable: URL(fileURLWithPath: "/bin/sh"),
                arguments: ["-c", script, "sh", input.path, output.path],
                inputFiles: [input], outputFiles: [output])
        ]
    }
}
