// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDEdits
internal import HWDExport
internal import HWDModel

extension EncodeCommand {
    var input: String { files.first ?? "-" }
    var output: String { files.count > 1 ? files[files.count - 1] : "-" }

    func run() throws {
        if check {
            return try report {
                try ExportCheck.run(
                    input, edits: edits, picture: picture.request,
                    frameRate: frameRate.flatMap { Rational(text: $0) }, json: json)
            }
        }
        if isStill { return try report(output: output) { try encodeStill() } }
        guard let folder = outputs.outputDir else {
            return try report(output: output) {
                let file = FilePair(input: input, output: output)
                guard try segment != nil || outputs.replacing.writes(file) else {
                    return Console.file("\(output): exists, skipped")
                }
                // Before any other thread starts: threads inherit the blocked signals.
                try write(file, try Interruption()) { try $0.report(json: json) }
            }
        }
        try report {
            var batch = try EncodeBatch(files, in: folder, outputs.format ?? .mov)
            let interruption = try Interruption()
            try batch.run(json: json) { file in
                if interruption.isSet { throw CommandFailure.interrupted }
                // That of the file before would cancel a reader that is closed.
                interruption.onSignal {}
                guard try outputs.replacing.writes(file) else { return nil }
                var summary: (any FileSummary)?
                try write(file, interruption) { summary = $0 }
                return summary
            }
        }
    }

    private func write(
        _ file: FilePair, _ interruption: Interruption, _ report: @escaping (any FileSummary) throws -> Void
    ) throws {
        if copy { return try runCopy(file, interruption, report) }
        try SessionRequest.retrying(canRepeat: file.input != "-" && file.output != "-", interruption) {
            try encode(file, interruption, report)
        }
    }

    /// The preset of `--preset-name`; nil without.
    var exportPreset: ExportPreset? { presetName.flatMap(PresetFiles.catalogue.preset) }

    /// What the output is asked to have of the input.
    private var edits: FileEdits {
        var edits = FileEdits()
        (edits.sound, edits.text) = (sound.options, sound.subtitle)
        if edits.sound.form == nil {
            edits.sound.form = exportPreset?.audio.flatMap { SoundOptions.Form(rawValue: $0.rawValue) }
        }
        (edits.range, edits.isExact) = (time.range, time.exact)
        return edits
    }

    private func runCopy(
        _ file: FilePair, _ interruption: Interruption, _ report: @escaping (any FileSummary) throws -> Void
    ) throws {
        let request = CopyJob.Request(
            file: file, stream: outputs.format, replaces: outputs.replacing.replaces,
            frameRate: frameRate.flatMap { Rational(text: $0) }, maxLevel: maxLevel, edits: edits,
            keepsPartial: keepPartial, report: report, asked: asked)
        try CopyJob(request).run(interruption)
    }

    private func encode(
        _ file: FilePair, _ interruption: Interruption, _ report: @escaping (any FileSummary) throws -> Void
    ) throws {
        let request = EncodeJob.Request(
            file: file, stream: outputs.format, replaces: outputs.replacing.replaces, parameters: parameters,
            frameRate: frameRate.flatMap { Rational(text: $0) }, maxLevel: maxLevel, edits: edits,
            keepsPartial: keepPartial, report: report, asked: asked)
        if let segment {
            return try runSegment(segment, request, interruption) { try encode($0, interruption) }
        }
        if let parallel {
            return try ParallelJob(request, codingWords + sessions.words, count: parallel).run(interruption)
        }
        try encode(request, interruption)
    }

    /// Encodes, and once more in software where hardware that was not required fails.
    private func encode(_ request: EncodeJob.Request, _ interruption: Interruption) throws {
        var request = request
        let (job, file) = (EncodeJob(request), request.file)
        do {
            try job.run(interruption)
        } catch let error as ClientError where decodesAgain(job, file, error) {
            Console.note("the hardware decoder failed, starting again with a software decoder: \(error.reason)")
            request.parameters.allowsHardwareDecoder = false
            request.segment = try request.segment?.restarted()
            try EncodeJob(request).run(interruption)
        } catch let error as ClientError where encodesAgain(job, file, error) {
            Console.note("the hardware encoder failed, encoding again in software: \(error.reason)")
            request.parameters.specification = [.enableHardware: .bool(false)]
            request.segment = try request.segment?.restarted()
            try EncodeJob(request).run(interruption)
        }
    }

    private var parameters: EncodeParameters {
        EncodeParameters(
            specification: specification, userProperties: properties,
            keepsAlpha: alpha != nil || exportPreset?.alpha ?? false,
            allowsHardwareDecoder: true, hdr: hdr, retags: retag,
            picture: picture.request, preset: exportPreset)
    }

    /// Whether the error is the hardware encoder's, which was not required, in a session that no other process continues,
    /// and everything can be read and written again.
    private func encodesAgain(_ job: EncodeJob, _ file: FilePair, _ error: ClientError) -> Bool {
        guard hardware == .prefer, job.encodesInHardware else { return false }
        guard file.input != "-", file.output != "-" else { return false }
        return error.code == .session(.videoEncoderMalfunction)
            || error.code == .session(.videoEncoderNotAvailableNow)
    }

    /// Whether the error is the hardware decoder's, which was not required, and everything can be read and written again.
    private func decodesAgain(_ job: EncodeJob, _ file: FilePair, _ error: ClientError) -> Bool {
        guard job.decodesInHardware, file.input != "-", file.output != "-" else { return false }
        return error.code == .session(.videoDecoderMalfunction)
    }
}
