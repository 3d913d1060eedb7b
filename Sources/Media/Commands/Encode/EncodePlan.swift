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
    /// What happens to files that exist.
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
        (edits.range, edits.isExact, edits.isCopy) = (command.time.range, command.time.exact, command.copy)
        frameRate = command.frameRate.flatMap { Rational(text: $0) }
        (maxLevel, keepsPartial, copies) = (command.maxLevel, command.keepPartial, command.copy)
        asked = command.verify ? AskedChanges(command) : nil
        (segment, parallel) = (command.segment, command.parallel)
        fallsBack = coding.hardware == .prefer
        (codingWords, sessionWords) = (command.codingWords, command.sessions.words)
    }

    /// Writes one file.
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

    /// Encodes, and begins again where the error's remedy allows it: in software where hardware that was not required failed in a
    /// session that no other process continues, or once there are slots for all sessions.
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
        guard request.canRepeat else { return false }
        switch remedy {
        case .slots: Console.detail("waiting for slots of all sessions: \(error.reason)")
        case .software(.decompression):
            Console.note("the hardware decoder failed, starting again with a software decoder: \(error.reason)")
            request.parameters.allowsHardwareDecoder = false
        case .software(.compression):
            guard fallsBack else { return false }
            Console.note("the hardware encoder failed, encoding again in software: \(error.reason)")
            request.parameters.specification = [.enableHardware: .bool(false)]
        case .software(.transfer): return false
        }
        request.segment = try request.segment?.restarted()
        return true
    }
}
