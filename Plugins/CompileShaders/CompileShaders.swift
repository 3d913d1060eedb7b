// SPDX-License-Identifier: MIT
import Foundation
import PackagePlugin

/// Compiles compute shaders (`*.comp`) to SPIR-V with glslc and embeds each as hexadecimal digits in Swift.
@main
struct HWDCompileShaders: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let folder = (target as? SourceModuleTarget)?.directoryURL else { return [] }
        let sources = folder.appendingPathComponent("Vulkan/GLSL")
        let files = try FileManager.default.contentsOfDirectory(at: sources, includingPropertiesForKeys: nil)
            .sorted { $0.path < $1.path }
        let included = files.filter { $0.pathExtension == "glsl" }
        return files.filter { $0.pathExtension == "comp" }.map { file in
            compile(context, file, included: included)
        }
    }

    /// The command that writes a shader as the static member `name` of `SPIRV`; it depends on the included files.
    private func compile(_ context: PluginContext, _ input: URL, included: [URL]) -> Command {
        let name = input.deletingPathExtension().lastPathComponent
        let output = context.pluginWorkDirectoryURL.appendingPathComponent("\(name).spv.swift")
        // Without optimization: drivers optimize, and glslc would inline every call, which makes a shader eight times as
        // large. Hexadecimal digits in a string, because the compiler needs minutes for array literals of this length.
        let script = """
            set -e; glslc --target-env=vulkan1.1 -o "$2.spv" "$1"
            { printf 'extension SPIRV {\\n    static let %s: StaticString = "' "$3"
            od -An -v -tx4 "$2.spv" | tr -d ' \\n'; printf '"\\n}\\n'; } > "$2.new"
            rm "$2.spv"; mv "$2.new" "$2"
            """
        return .buildCommand(
            displayName: "Compiling \(input.lastPathComponent)",
            executable: URL(fileURLWithPath: "/bin/sh"),
            arguments: ["-c", script, "sh", input.path, output.path, name],
            inputFiles: [input] + included, outputFiles: [output])
    }
}
