// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDComparison
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDWire

/// One run of `hwctl verify`, or of `hwctl encode --verify`: two files → receipt.
struct VerifyJob {
    let input: String
    let output: String
    let asked: AskedChanges

    /// The receipt of an output that a command completed, nil where it is not verified, or why that failed.
    ///
    /// - Throws: only for an interruption, which leaves the output as it is.
    static func receipt(
        _ asked: AskedChanges?, _ input: String, _ output: String, earlyEnd: EarlyEnd?, _ interruption: Interruption
    ) throws -> (receipt: Receipt?, failure: CommandFailure?) {
        guard let asked else { return (nil, nil) }
        guard earlyEnd == nil else {
            Console.note("\(output) is not verified: the input ends early")
            return (nil, nil)
        }
        do {
            let receipt = try VerifyJob(input: input, output: output, asked: asked)
                .run(interruption, daemon: SessionRequest.findDaemon)
            return (receipt, ReceiptReport(receipt: receipt).failure)
        } catch {
            let failure = CommandFailure(error)
            guard failure.exitCode == CommandFailure.interrupted.exitCode else { return (nil, failure.unverified) }
            throw CommandFailure.interruptedVerification
        }
    }

    /// Compares the files.
    ///
    /// - Parameter daemon: called only where an alpha layer must be decoded.
    func run(_ interruption: Interruption, daemon: () throws -> Daemon) throws -> Receipt {
        // Before one is opened: opening a FIFO waits for a writer.
        for path in [input, output] where InputFile.isReadOnce(path) {
            throw MediaError(.usage, "\(path) is no regular file: both files are read twice")
        }
        let (from, to) = (try InputFile(input), try InputFile(output))
        var known: Daemon?
        let daemon = {
            let found = try known ?? daemon()
            known = found
            return found
        }
        let asked = try asked.located(in: from) { interruption.isSet }
        let verification = try Verification(from, to, asked) { interruption.isSet }
        let alpha = verification.comparesAlpha
        let mode = verification.outputAlphaMode ?? asked.sourceAlphaMode
        let conversion = alpha ? AlphaConversion(source: asked.sourceAlphaMode, target: mode) : nil
        var options = Verification.options(asked, isInput: true)
        let first = try decoded(from, options, conversion, interruption, daemon)
        options = Verification.options(asked, isInput: false)
        let second = try decoded(to, options, conversion, interruption, daemon)
        let (old, new) = (first.reader, second.reader)
        interruption.onSignal {
            old.cancel()
            new.cancel()
        }
        var progress = Progress(total: asked.range.map { $0.frames(of: old) } ?? old.video.frameCount)
        var done = 0
        defer { progress.clear() }
        let isCut = (old.video.width, old.video.height) != (new.video.width, new.video.height)
        var request = PictureRequest()
        (request.crop, request.rotation) = (asked.crop, asked.rotation)
        let geometry =
            request == PictureRequest() ? nil : try PictureGeometry(request, old.video)
        let pictures = try SourcePictures(first, asked.range, geometry, showsAperture: isCut) {
            done += 1
            progress.update(done: done)
        }
        return try verification.compare(pictures, try SourcePictures(second, showsAperture: isCut) {})
    }

    /// Opens a file's video; only alpha layers need a session of the daemon.
    private func decoded(
        _ file: InputFile, _ options: MediaReader.Options, _ alpha: AlphaConversion?, _ interruption: Interruption,
        _ daemon: () throws -> Daemon
    ) throws -> DecodedInput {
        var options = options
        (options.alpha, options.isAlphaOptional) = (alpha, alpha != nil)
        options.decoding = .inProcess
        if alpha != nil {
            // A reader opens in a few milliseconds, and only it knows whether there is a layer.
            var plain = options
            (plain.alpha, plain.decoding) = (nil, .disabled)
            if try MediaReader(file, options: plain).video.alphaLayerMode != nil {
                options.decoding = .daemonIfPossible
            }
        }
        let reader = try MediaReader(file, options: options)
        return try DecodedInput(
            reader,
            SessionSource.Request(specification: [.enableHardwareDecoder: .bool(false)], pixelFormat: .yuva),
            daemon: daemon, isInterrupted: { interruption.isSet })
    }
}
