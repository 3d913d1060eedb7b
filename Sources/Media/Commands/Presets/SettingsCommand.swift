// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDExport
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDWire

/// `hwctl settings`.
struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Recommend session properties for a file, as one JSON document.",
        discussion: """
            EXAMPLES
              hwctl settings clip.mov
              hwctl settings --preset-name hevc-2160p clip.mov

            The size is never larger than the file's. The bit rate follows from the size, the frame rate, the bit depth \
            and alpha, by the rates of presets.json. The properties are those that hwctl encode and sessions take.
            """)

    @Argument(help: "The video.")
    var file: String

    @Option(help: ArgumentHelp("Recommend what this preset would set.", valueName: "name"))
    var presetName: String?

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    private struct Document: Encodable {
        var schema = 1
        var input: String
        var preset: String?
        var width: Int
        var height: Int
        var codec: String
        var properties: [String: PropertyValue]
    }

    func run() throws {
        try report {
            let preset = try presetName.map(PresetFiles.preset)
            let (reader, source) = try ExportSource.open(file)
            let (rates, alpha) = (PresetFiles.catalogue.rates, preset?.alpha ?? source.hasAlpha)
            if let preset, let reason = ExportCompatibility(preset, source).reason {
                throw CommandFailure(.badInput, "\(reader.path): the preset \(preset.name) does not fit: \(reason)")
            }
            let size = preset?.size(of: source.size) ?? source.size
            var properties: [String: PropertyValue] = [:]
            let parameters = EncodeParameters(
                specification: [:], userProperties: [:], keepsAlpha: alpha, allowsHardwareDecoder: true)
            let created = parameters.create(reader.video, reader.video.format, layerMode: nil)
            properties.merge(created.properties ?? [:]) { _, new in new }
            properties[PropertyKey.sourceAlphaMode.rawValue] = nil
            let profile = source.bitDepth > 8 && !alpha ? "HEVC_Main10_AutoLevel" : "HEVC_Main_AutoLevel"
            properties[PropertyKey.profileLevel.rawValue] = .string(profile)
            let own =
                preset?.properties(for: source, rates) ?? [
                    PropertyKey.averageBitRate.rawValue: .int(
                        rates.bitsPerSecond(
                            size, frameRate: source.frameRate, bitDepth: source.bitDepth, alpha: alpha))
                ]
            properties.merge(own) { _, new in new }
            try Console.json(
                Document(
                    input: file, preset: preset?.name, width: size.width, height: size.height,
                    codec: alpha ? "hevc-with-alpha" : "hevc", properties: properties))
        }
    }
}
