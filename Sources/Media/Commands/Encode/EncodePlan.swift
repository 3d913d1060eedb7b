// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDComparison
internal import HWDControlCommands
internal import HWDEdits
internal import HWDExport
internal import HWDModel

/// What the options of `hwctl encode` ask for, and the jobs that do it for one file.
struct EncodePlan {
    /// The format on standard output; nil is a byte stream.
    var stream: OutputFormat?
    var replacing: ReplaceArguments
    var parameters: EncodeParameters
    /// What the output is asked to have of the input.
    var edits = FileEdits()
    /// The rate of pictures and raw streams.
    var frameRate: Rational?
    var maxLevel: Int?
    var keepsPartial: Bool
    /// Whether the coded video is copied.
    var copies: Bool
    /// What the options change, where the output is verified; nil where it is not.
    var asked: AskedChanges?
    var segment: SegmentNumber?
    /// How many segments are encoded at a time; nil encodes the video as a whole.
    var parallel: Int?
    /// Whether software may do what hardware failed to.
    var fallsBack: Bool
    /// The given options that determine how pictures are coded, and those about sessions.
    var codingWords: [OptionWord]
    var sessionWords: [OptionWord]

    init(_ command: EncodeCommand) {
        let coding = command.coding
        (stream, replacing) = (command.outputs.format, command.outputs.replacing)
        parameters = EncodeParameters(
            specification: coding.specification, userProperties: coding.properties, keepsAlpha: coding.keepsAlpha,
            allowsHardwareDecoder: true, hdr: coding.hdr, retags: coding.retag, picture: command.picture.request,
            preset: coding.exportPreset)
        (edits.sound, edits.text) = (command.sound.options, command.sound.subtitle)
        if edits.sound.form == nil {
            edits.sound.form = coding.exportPreset?.audio.flatMap { SoundOptions.Form(rawValue: $0.rawValue) }
        }
        (edits.range, edits.isExact) = (command.time.range, command.time.exact)
        frameRate = command.frameRate.flatMap { Rational(text: $0) }
        (maxLevel, keepsPartial, copies) = (command.maxLevel, command.keepPartial, command.copy)
        asked = command.verify ? AskedChanges(command) : nil
        (segment, parallel) = (command.segment, command.parallel)
        fallsBack = coding.hardware == .prefer
        (codingWords, sessionWords) = (command.codingWords, command.sessions.words)
    }

    /// Writes one file, and once more where only some of its sessions found a place.
    ///
    /// - Parameter report: gets the result.
    func write(
        _ file: FilePair, _ interruption: Interruption, _ report: @escaping (any FileSummary) throws -> Void
    ) throws {
        if copies {
            let request = CopyJob.Request(
                file: file, stream: stream, replaces: replacing.replaces, frameRate: frameRate, maxLevel: maxLevel,
                edits: edits, keepsPartial: keepsPartial, report: report, asked: asked)
            return try CopyJob(request).run(interruption)
        }
        let request = EncodeJob.Request(
            file: file, stream: stream, replaces: replacing.replaces, parameters: parameters, frameRate: frameRate,
            maxLevel: maxLevel, edits: edits, keepsPartial: keepsPartial, report: report, asked: asked)
        try SessionRequest.retrying(canRepeat: file.input != "-" && file.output != "-", interruption) {
            if let segment {
                return try SegmentJob(segment, request, codingWords, replacing).run(interruption) {
                    try encode($0, interruption)
                }
            }
            if let parallel {
                return try ParallelJob(request, codingWords + sessionWords, count: parallel).run(interruption)
            }
            try encode(request, interruption)
        }
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

    /// Whether the error is the hardware encoder's, which was not required, in a session that no other process continues,
    /// and everything can be read and written again.
    private func encodesAgain(_ job: EncodeJob, _ file: FilePair, _ error: ClientError) -> Bool {
        guard fallsBack, job.encodesInHardware else { return false }
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
