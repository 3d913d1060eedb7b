// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDExport
internal import HWDModel

/// `hwctl presets`.
struct PresetsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presets",
        abstract: "List the presets of hwctl encode, and which of them fit a file.",
        discussion: """
            EXAMPLES
              hwctl presets
              hwctl presets --for clip.mov
              hwctl encode --preset-name hevc-1080p clip.mov out.mov

            Names are AVFoundation's, without AVAssetExportPreset, and short ones; capitals do not matter. Files in \
            /etc/hwdaemon/presets.d, in the form of presets.json, add presets and replace those of the same name.
            """)

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Say which presets fit this file, and why others do not.", valueName: "file"))
    var file: String?

    @Flag(help: "Print only the short names, one a line.")
    var names = false

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    func validate() throws {
        if names, json || file != nil { throw ValidationError("--names excludes --for and --json.") }
    }

    func run() throws {
        try report {
            let catalogue = PresetFiles.catalogue
            if names { return try catalogue.presets.forEach { try Console.result($0.short ?? $0.name) } }
            let verdicts = try file.map { file in
                ExportCompatibility.all(for: try ExportSource.open(file).1, in: catalogue)
            }
            if json {
                return try Console.json(PresetDocument(presets: catalogue.presets, verdicts: verdicts))
            }
            guard let verdicts else {
                let rows = catalogue.presets.map { [$0.name, $0.short ?? "", $0.summary] }
                return try Console.result(Console.table([["PRESET", "SHORT", "FOR"]] + rows))
            }
            try Console.result(PresetDocument.table(verdicts))
        }
    }
}

/// Presets, and where a file was named, what they make of it.
struct PresetDocument: Encodable {
    /// A preset with its verdict.
    private struct Entry: Encodable {
        let preset: ExportPreset
        let verdict: ExportCompatibility?

        private enum CodingKeys: String, CodingKey { case fits, size, reason }

        func encode(to encoder: any Encoder) throws {
            try preset.encode(to: encoder)
            guard let verdict else { return }
            var fields = encoder.container(keyedBy: CodingKeys.self)
            try fields.encode(verdict.fits, forKey: .fits)
            try fields.encode(verdict.size, forKey: .size)
            try fields.encodeIfPresent(verdict.reason, forKey: .reason)
        }
    }

    private var schema = 1
    private var presets: [Entry]

    /// - Parameter verdicts: in the order of the presets.
    init(presets: [ExportPreset], verdicts: [ExportCompatibility]?) {
        self.presets = presets.enumerated().map { Entry(preset: $1, verdict: verdicts?[$0]) }
    }

    /// The verdicts in columns.
    static func table(_ verdicts: [ExportCompatibility]) -> String {
        Console.table(
            [["PRESET", "SHORT", "FITS", "SIZE", "WHY NOT"]]
                + verdicts.map {
                    [
                        $0.preset.name, $0.preset.short ?? "", $0.fits ? "yes" : "no", $0.fits ? "\($0.size)" : "",
                        $0.reason ?? "",
                    ]
                })
    }
}
