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
        if copy { try runCopy(file, interruption, report) } else { try encode(file, interruption, report) }
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

    /// Encodes; again in software where hardware that was not required fails in a session that no other process continues.
    private func encode(_ request: EncodeJob.Request, _ interruption: Interruption) throws {
        var request = request
        try SessionRequest.policy.run(
            repeatingIf: { remedy, error in
                guard try prepare(&request, for: remedy, error) else { return false }
                if interruption.isSet { throw CommandFailure.interrupted }
                return true
            },
            { try EncodeJob(request).run(interruption) })
    }

    /// Changes a request for another attempt; false where there is none, because the input cannot be read or the output written
    /// again, or because hardware is required.
    private func prepare(
        _ request: inout EncodeJob.Request, for remedy: ClientError.Remedy, _ error: ClientError
    ) throws -> Bool {
        guard request.file.input != "-", request.file.output != "-" else { return false }
        switch remedy {
        case .places: Console.detail("waiting for places of all sessions: \(error.reason)")
        case .software(.decompression):
            Console.note("the hardware decoder failed, starting again with a software decoder: \(error.reason)")
            request.parameters.allowsHardwareDecoder = false
        case .software(.compression):
            guard hardware == .prefer else { return false }
            Console.note("the hardware encoder failed, encoding again in software: \(error.reason)")
            request.parameters.specification = [.enableHardware: .bool(false)]
        case .software(.transfer): return false
        }
        request.segment = try request.segment?.restarted()
        return true
    }

    private var parameters: EncodeParameters {
        EncodeParameters(
            specification: specification, userProperties: properties,
            keepsAlpha: alpha != nil || exportPreset?.alpha ?? false,
            allowsHardwareDecoder: true, hdr: hdr, retags: retag,
            picture: picture.request, preset: exportPreset)
    }
}
