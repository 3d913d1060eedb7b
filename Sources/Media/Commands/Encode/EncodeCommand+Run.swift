// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDEdits
internal import HWDModel

extension EncodeCommand {
    var input: String { files.first ?? "-" }
    var output: String { files.count > 1 ? files[files.count - 1] : "-" }

    /// The given options that determine how pictures are coded.
    var codingWords: [OptionWord] { coding.words + picture.words }

    func run() throws {
        let plan = EncodePlan(self)
        if check {
            return try report {
                try ExportCheck.run(
                    input, edits: plan.edits, picture: picture.request, frameRate: plan.frameRate, json: json)
            }
        }
        if isStill, !BatchInputs.isFolder(input) { return try report(output: output) { try encodeStill() } }
        guard let folder = outputs.outputDir else {
            return try report(output: output) {
                try checkFolders()
                let file = FilePair(input: input, output: output)
                guard try segment != nil || outputs.replacing.writes(file) else {
                    return Console.file("\(output): exists, skipped")
                }
                // Before any other thread starts: threads inherit the blocked signals.
                try plan.write(file, try Interruption()) { try $0.report(json: json) }
            }
        }
        try report {
            var batch = try EncodeBatch(BatchInputs.files(files), in: folder, outputs.format ?? .mov)
            let interruption = try Interruption()
            try batch.run(json: json) { file in
                if interruption.isSet { throw CommandFailure.interrupted }
                // That of the file before would cancel a reader that is closed.
                interruption.onSignal {}
                guard try outputs.replacing.writes(file) else { return nil }
                try BatchInputs.createFolder(folder)
                var summary: (any FileSummary)?
                try plan.write(file, interruption) { summary = $0 }
                return summary
            }
        }
    }

    /// Refuses folders where files are expected, with what takes them.
    private func checkFolders() throws(CommandFailure) {
        if BatchInputs.isFolder(input) {
            throw CommandFailure(
                .noInput, "\(input) is a directory: hwctl encode --output-dir DIR \(input) encodes the videos in it"
            )
        }
        if BatchInputs.isFolder(output) || output.hasSuffix("/") {
            throw CommandFailure(
                .cannotCreate,
                "\(output) is a directory: hwctl encode --output-dir \(output) \(input) writes into it")
        }
    }
}
