// SPDX-License-Identifier: MIT
import Foundation
import PackagePlugin

/// Embeds a text file as a Swift string, so that the file remains the single definition.
@main
struct HWDEmbedText: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        switch target.name {
        case "HWDWire":
            let folder = (target as? SourceModuleTarget)?.directoryURL ?? context.package.directoryURL
            return [embed(context, folder.appendingPathComponent("org.hwdaemon.varlink"), in: "Interface")]
        case "HWDProbing":
            let folder = (target as? SourceModuleTarget)?.directoryURL ?? context.package.directoryURL
            return [embed(context, folder.appendingPathComponent("trial-pictures.json"), in: "TrialPictures")]
        case "HWDPolicy":
            let file = context.package.directoryURL.appendingPathComponent("capabilities.json")
            return [embed(context, file, in: "Capabilities")]
        case "HWDExport":
            let file = context.package.directoryURL.appendingPathComponent("presets.json")
            return [embed(context, file, in: "ExportCatalogue")]
        default:
            return []
        }
    }

    /// The command that writes a file's text as the static member `text` of a type.
    private func embed(_ context: PluginContext, _ input: URL, in type: String) -> Command {
        let output = context.pluginWorkDirectoryURL.appendingPathComponent("\(type)Text.swift")
        let script = """
            { printf 'extension %s {\\n    static let text = ##\"\"\"\\n' "$3"; cat "$1"; \
            printf '\\n\"\"\"##\\n}\\n'; } > "$2.new" && mv "$2.new" "$2"
            """
        return .buildCommand(
            displayName: "Embedding \(input.lastPathComponent)",
            executable: URL(fileURLWithPath: "/bin/sh"),
            arguments: ["-c", script, "sh", input.path, output.path, type],
            inputFiles: [input], outputFiles: [output])
    }
}
