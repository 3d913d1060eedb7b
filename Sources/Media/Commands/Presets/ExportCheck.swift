// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDEdits
internal import HWDExport
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel

/// `hwctl encode --check`: which presets and containers fit a file, and why others do not; nothing is encoded.
struct ExportCheck {
    /// A container, and what it would not hold as it is.
    private struct Container: Encodable {
        var format: String
        var reason: String?
        var fits: Bool { reason == nil }
        var conversions: [String]
        var losses: [String]

        private enum CodingKeys: String, CodingKey { case format, fits, reason, conversions, losses }

        func encode(to encoder: any Encoder) throws {
            var fields = encoder.container(keyedBy: CodingKeys.self)
            try fields.encode(format, forKey: .format)
            try fields.encode(fits, forKey: .fits)
            try fields.encodeIfPresent(reason, forKey: .reason)
            try fields.encode(conversions, forKey: .conversions)
            try fields.encode(losses, forKey: .losses)
        }

        var text: String {
            let facts = [reason].compactMap { $0 } + conversions + losses
            return facts.isEmpty ? "holds everything" : facts.joined(separator: "\n  ")
        }
    }

    private struct Document: Encodable {
        var schema = 1
        var input: String
        var presets: PresetDocument
        var containers: [Container]
    }

    private static let formats: [OutputFormat] = [.mov, .mp4, .matroska, .mpegts, .nut, .hevc]

    /// Prints the answer.
    ///
    /// - Parameters:
    ///   - edits: what an output is asked to have of the file.
    ///   - picture: what becomes of the pictures.
    static func run(
        _ input: String, edits: FileEdits, picture: PictureRequest, frameRate: Rational?, json: Bool
    ) throws {
        var (reader, source) = try ExportSource.open(input, frameRate: frameRate)
        // Refuses sizes and parts that `encode` would refuse.
        _ = try PictureGeometry(picture, reader.video)
        source.apply(picture)
        let catalogue = PresetFiles.catalogue
        let verdicts = ExportCompatibility.all(for: source, in: catalogue)
        let containers = formats.map { container($0, reader, edits) }
        guard !json else {
            return try Console.json(
                Document(
                    input: input, presets: PresetDocument(presets: catalogue.presets, verdicts: verdicts),
                    containers: containers))
        }
        try Console.result(PresetDocument.table(verdicts))
        for container in containers {
            try Console.result("\n.\(container.format)\n  \(container.text)")
        }
    }

    private static func container(_ format: OutputFormat, _ reader: MediaReader, _ edits: FileEdits) -> Container {
        do throws(MediaError) {
            let plan = try OutputPlan(format, source: reader, edits: edits)
            return Container(format: format.fileExtension, conversions: plan.conversions, losses: plan.notes)
        } catch {
            return Container(format: format.fileExtension, reason: error.reason, conversions: [], losses: [])
        }
    }
}
