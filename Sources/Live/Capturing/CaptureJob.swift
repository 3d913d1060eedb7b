// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
package import HWDControlCommands
internal import HWDCaptureSound
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import HWMovies

/// One run of `hwctl capture`: source → queue → session → files.
package final class CaptureJob {
    private let arguments: CaptureArguments
    private let name: String
    private let source: any CaptureSource
    private let sound: CaptureSound?
    /// How its frames are copied for a session; nil for those that it has coded itself.
    private let copy: FrameCopy?
    private let plan: CaptureFiles.Plan
    private let receiptFile: CaptureReceiptFile?
    private let stillPlan: CaptureStills.Plan?
    private var stills: CaptureStills?
    private let signals: CaptureSignals
    private let loop: CaptureLoop
    private var settings: CaptureSettings
    private var receipt: CaptureReceipt

    /// Looks whether the file can be written, and opens the source.
    package init(_ arguments: CaptureArguments, kinds: [CaptureKind], sound kind: CaptureSoundKind?) throws {
        // First, so that no thread takes a signal.
        signals = try CaptureSignals()
        loop = try CaptureLoop(request: signals.fileDescriptor)
        self.arguments = arguments
        var plan = CaptureFiles.Plan(
            path: arguments.file ?? "", replaces: arguments.yes,
            isNumbered: arguments.segmentTime != nil || arguments.last != nil,
            maxSize: arguments.maxSize.flatMap(ScaledNumber.whole).map { UInt64($0) }, color: nil)
        try Self.check(plan.path, replaces: plan.replaces, isNumbered: plan.isNumbered)
        receiptFile = arguments.receipt.map { CaptureReceiptFile(path: $0, replaces: arguments.yes) }
        if let receiptFile { try Self.check(receiptFile.path, replaces: receiptFile.replaces) }
        stillPlan = arguments.still.map { path in
            CaptureStills.Plan(
                path: path, replaces: arguments.yes,
                limit: arguments.stillBuffer.flatMap(ScaledNumber.whole).map { Int($0) })
        }
        try stillPlan?.check()
        (name, source) = try Self.source(arguments, kinds)
        let format = source.format
        copy = FrameCopy(format)
        if case .raw = format.content, copy == nil {
            throw CommandFailure(.badInput, "the frames of \(name) have a format that is not recorded")
        }
        settings = CaptureSettings(arguments, format, copy?.format ?? .nv12)
        sound = try CaptureSound(arguments, kind, test: (source as? TestSource)?.sound)
        (plan.color, plan.sound) = (settings.color, sound?.settings)
        self.plan = plan
        receipt = CaptureReceipt(source: name, format)
    }

    private static func source(
        _ arguments: CaptureArguments, _ kinds: [CaptureKind]
    ) throws(CommandFailure) -> (String, any CaptureSource) {
        let name = arguments.source ?? ""
        let (kind, part) = try CaptureKind.find(name, in: kinds)
        let size = arguments.pictureSize
        let rate = arguments.rate.map { CaptureRate(Int($0.numerator), Int($0.denominator)) }
        var request = CaptureRequest(part: part, width: size?.width, height: size?.height, rate: rate)
        request.copies = arguments.copy
        (request.cursor, request.choosesAgain) = (arguments.cursor, arguments.choose)
        let source = try open(request, of: kind, arguments)
        for line in request.differences(from: source.format) { Console.file("warning: \(name) \(line)") }
        return (name, source)
    }

    private static func open(
        _ request: CaptureRequest, of kind: CaptureKind, _ arguments: CaptureArguments
    ) throws(CommandFailure) -> any CaptureSource {
        guard request.copies == false || kind.hasCoded else {
            throw CommandFailure(
                .usage, "--copy is for cameras that code themselves, not for the source \(kind.name)")
        }
        guard let wait = arguments.reconnect.flatMap(PlayArguments.nanoseconds) else {
            return try kind.open(request)
        }
        guard kind.comesBack else {
            throw CommandFailure(.usage, "--reconnect is for cameras and nodes, not for the source \(kind.name)")
        }
        let source = try kind.open(request)
        let again = try kind.again(request, source)
        return try ReconnectingSource(source, wait: UInt64(wait)) { () throws(CommandFailure) in
            try kind.open(again)
        }
    }

    /// Refuses an output that cannot be written, before anything is done for it; it is created with the first frame.
    private static func check(
        _ name: String, replaces: Bool, isNumbered: Bool = false
    ) throws(CommandFailure) {
        let path = FileName.printable(name)
        let exists = !isNumbered && access(FileName.bytes(name), F_OK) == 0
        guard !exists || replaces else {
            throw CommandFailure(.cannotCreate, "\(path) exists and is not replaced: -y replaces it")
        }
        let slash = name.lastIndex(of: "/")
        let folder = slash.map { name[...$0] }.map(String.init) ?? "."
        let target = exists ? name : folder
        guard access(FileName.bytes(target), exists ? W_OK : W_OK | X_OK) == 0 else {
            throw CommandFailure(.cannotCreate, "\(path) cannot be created: \(String(cString: strerror(errno)))")
        }
    }

    /// Records until the end, prints and writes the receipt, and fails where the recording did.
    package func run() throws {
        var failure: (any Error)?
        do { try perform() } catch {
            failure = error
            if receipt.files.isEmpty, receipt.unsaved.isEmpty, receipt.endedBy != "failure" {
                (receipt.endedBy, receipt.reason) = ("failure", CommandFailure(error).reason)
            }
        }
        do { try receiptFile?.write(receipt) } catch {
            guard failure != nil else { throw error }
            Console.note("warning: \(CommandFailure(error).reason)")
        }
        if let failure { throw failure }
    }

    private func perform() throws {
        let limit = arguments.duration.flatMap(PlayArguments.nanoseconds).map { UInt64($0) }
        let segment = arguments.segmentTime.flatMap(PlayArguments.nanoseconds).map { UInt64($0) }
        let saver = try arguments.lastTime.map { try CaptureSaver(plan, duration: CaptureFiles.ticks($0)) }
        guard let copy else { return try copyStream(limit: limit, segment: segment, saver) }
        let daemon = try Daemon.findAndReport(requiresHardware: arguments.hardware == .require)
        var trial = CaptureTrial()
        if !settings.hasSpeed, arguments.hardware != .require {
            settings.preset = try trial.run(daemon, settings)
        }
        let session = try settings.session(daemon)
        announce(session, trial)
        let held = max(0, session.created.maxFramesHeld ?? 0) + session.created.maxFramesInFlight
        try openStills(daemon, copy)
        let queue = try CaptureQueue(
            settings.format, copy, held: held, limit: limit, constant: settings.constantRate,
            keepsNewest: stills != nil)
        let writer = try CaptureWriter(plan, saver: saver, wake: queue.wake)
        let recording = CaptureRecording(
            (session, settings), queue, writer, sound, segment: segment, limit: limit,
            renew: { [arguments] format, pixelFormat in
                var settings = CaptureSettings(arguments, format, pixelFormat)
                settings.preset = trial.preset(for: settings)
                return (try settings.session(daemon), settings)
            },
            watch: { [loop] in try loop.watch($0, isOpen: $1) })
        recording.note = Self.report
        try run(recording, writer, saver)
    }

    /// Records what the source has coded itself.
    private func copyStream(limit: UInt64?, segment: UInt64?, _ saver: CaptureSaver?) throws {
        guard case .coded(let codec) = source.format.content else { return }
        guard stillPlan == nil else {
            throw CommandFailure(.usage, "--still needs pictures, and \(name) sends coded frames")
        }
        let queue = try CopyQueue(source.format, limit: limit)
        let writer = try CaptureWriter(plan, saver: saver, wake: queue.wake)
        receipt.copied = codec.rawValue
        Console.file("copying the \(codec == .hevc ? "HEVC" : "H.264") of \(FileName.printable(name))")
        try run(
            CopyRecording(
                codec, queue, writer, sound, frameDuration: settings.frameDuration, color: settings.color,
                segment: segment, limit: limit), writer, saver)
    }

    private func run(_ recording: any CaptureStream, _ writer: CaptureWriter, _ saver: CaptureSaver?) throws {
        let actions = CaptureActions(recording.frames, writer, sound, stills, canSave: saver != nil)
        signals.beginRecording(arguments.control)
        defer { signals.endRecording() }
        let end = record(recording, actions)
        actions.performLast(signals.takeControls(), end: end.time)
        actions.finish()
        let written = writer.finish()
        recording.settle(written.frames)
        receipt.add(recording.counts, written)
        receipt.restarts = recording.restartCount
        receipt.sound = sound?.receipt
        if let size = recording.sizes.first { (receipt.width, receipt.height) = (size.width, size.height) }
        receipt.newSizes = recording.sizes.dropFirst().map { CaptureReceipt.Size($0) }
        receipt.marks = actions.timeline.marks.map { CaptureReceipt.Mark($0) }
        receipt.pauses = actions.timeline.pauses.map { CaptureReceipt.Pause($0) }
        receipt.unsaved = saver?.faults ?? []
        recording.close()
        receipt.stills = finishStills()
        try finish(end.cause, written, saver)
    }

    private func openStills(_ daemon: Daemon, _ copy: FrameCopy) throws {
        guard let stillPlan else { return }
        let opened = try CaptureStills(
            stillPlan, CaptureStills.Coders(daemon), slotSize: copy.slotSize, rate: settings.rate)
        Console.file(
            opened.summary(
                width: settings.format.width, height: settings.format.height, slotSize: copy.slotSize))
        stills = opened
    }

    /// Waits for stills that are still being coded, unless they are given up.
    private func finishStills() -> [CaptureStills.Report]? {
        guard let stills else { return nil }
        signals.beginWaitingForStills()
        var said: Int?
        while case let pending = stills.pending, pending > 0, !stills.hasGivenUp {
            let count = signals.signalsToGiveUp
            if said != count, count > 0 {
                said = count
                Console.file(
                    "waiting for \(Console.count(pending, "still")), which Ctrl-C \(count > 1 ? "twice " : "")gives up"
                )
            }
            usleep(20_000)
            guard signals.givesUpStills else { continue }
            stills.giveUp()
            Console.note("warning: \(Console.count(pending, "still")) not written: given up")
        }
        let reports = stills.finish()
        receipt.stillsCut = stills.isCut
        return reports
    }

    /// Records until the end, and until every frame that was taken is coded.
    /// - Returns: why the recording ended, and when, in nanoseconds of CLOCK_MONOTONIC.
    private func record(
        _ recording: any CaptureStream, _ actions: CaptureActions
    ) -> (cause: CaptureStop, time: UInt64) {
        do { try loop.begin(recording, source, sound) } catch {
            return (.failed(error), MonotonicTime.now.nanoseconds)
        }
        let keys =
            ", p pauses and resumes, m begins a chapter" + (actions.canSave ? ", s saves" : "")
            + (stills == nil ? "" : ", c takes a still")
        Console.note("recording; Ctrl-C ends it" + (signals.hasKeys ? keys : ""))
        return loop.run(
            recording, source,
            follow: {
                // First, so that all that was asked for before the end is done.
                let isOver = signals.hasRequest
                for request in signals.takeControls() { actions.perform(request) }
                return isOver
            }, stepped: actions.step)
    }

    private static func report(_ news: CaptureRecording.News) {
        switch news {
        case .rate(let time, let divisor, let isLess):
            Console.note(
                (isLess ? "warning: more than 5 % of the frames were dropped in 5 s" : "no more frames are dropped")
                    + (divisor > 1 ? ": one of \(divisor) is" : ": all are")
                    + " recorded from \(DecimalText.text(time, 1)) s on")
        case .size(let size):
            Console.note(
                "the source sends \(size.width)x\(size.height) from \(DecimalText.text(size.time, 1)) s on")
        }
    }

    private func announce(_ session: CompressionSession, _ trial: CaptureTrial) {
        let created = session.created
        let isTried = !created.usingHardware && settings.preset != nil
        receipt.encoder = CaptureReceipt.Encoder(
            name: created.encoderID, isHardware: created.usingHardware, reason: created.fallbackReason,
            preset: isTried ? settings.preset : nil, trial: isTried ? trial.speeds : [])
        guard !created.usingHardware else { return Console.file("encoding in hardware: \(created.encoderID)") }
        let rate = DecimalText.text(settings.rate, 2)
        guard isTried, let preset = settings.preset else { return Console.file("encoding in software") }
        let speeds = trial.speeds.map { "\($0.preset) \(DecimalText.text($0.framesPerSecond, 0))" }
        let line =
            "encoding in software, preset \(preset): frames a second in a trial: "
            + speeds.joined(separator: ", ")
        let isSlow = (trial.speeds.first?.framesPerSecond ?? .infinity) < settings.rate
        Console.file((isSlow ? "warning: the trial coded fewer than \(rate) frames a second: " : "") + line)
    }

    /// Prints the receipt.
    /// - Throws: why the recording failed.
    private func finish(_ end: CaptureStop, _ written: CaptureWriter.Result, _ saver: CaptureSaver?) throws {
        var failure: CommandFailure?
        switch end {
        case .duration: receipt.endedBy = "duration"
        case .request: receipt.endedBy = "signal"
        case .maxSize: receipt.endedBy = "max-size"
        case .source(let reason): (receipt.endedBy, receipt.reason) = ("source", reason)
        case .failed(let cause): failure = CommandFailure(cause)
        }
        failure = written.failure.map { CommandFailure($0) } ?? failure
        if let failure { (receipt.endedBy, receipt.reason) = ("failure", failure.reason) }
        guard !receipt.files.isEmpty || saver != nil && receipt.captured > 0 else {
            if failure == nil, case .maxSize = end {
                throw CommandFailure(.usage, "--max-size has no room for the first frame: no file was written")
            }
            let reason =
                receipt.pauses.isEmpty ? "\(name) sent no frame" : "\(name) sent no frame outside of pauses"
            throw failure ?? CommandFailure(.noInput, "\(reason): no file was written")
        }
        if failure == nil, let reason = receipt.reason { Console.file("the recording ends: \(reason)") }
        for file in receipt.files where receipt.files.count > 1 {
            Console.note("\(FileName.printable(file.file)): \(DecimalText.text(file.duration, 1)) s")
        }
        if saver != nil, receipt.files.isEmpty { Console.file("nothing was saved: no file was written") }
        try receipt.print(json: arguments.json)
        if let failure {
            Console.error(failure.reason + (saver == nil ? "; the file has what was coded before" : ""))
            throw CommandFailure.reported(failure)
        }
        // It was reported when it happened.
        if let failure = saver?.failure { throw CommandFailure.reported(failure) }
        if stills?.hasGivenUp == true { throw CommandFailure.reported(.interrupted) }
    }
}
