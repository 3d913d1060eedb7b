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
    /// Why a recording ends, as the receipt has it.
    enum End {
        case duration, signal, maxSize
        case source(String)
        case failure(CommandFailure)
    }

    private let arguments: CaptureArguments
    private let name: String
    private let source: any CaptureSource
    private let sound: CaptureSound?
    private let copy: FrameCopy
    private let plan: CaptureFiles.Plan
    private let stillPlan: CaptureStills.Plan?
    private var stills: CaptureStills?
    private let signals: CaptureSignals
    private let epoll: Epoll
    private var settings: CaptureSettings
    private var receipt: CaptureReceipt

    /// Looks whether the file can be written, and opens the source.
    package init(_ arguments: CaptureArguments, kinds: [CaptureKind], sound kind: CaptureSoundKind?) throws {
        // First, so that no thread takes a signal.
        signals = try CaptureSignals()
        epoll = try Epoll()
        try epoll.add(signals.fileDescriptor, token: 0, events: .readable)
        self.arguments = arguments
        var plan = CaptureFiles.Plan(
            path: arguments.file ?? "", replaces: arguments.yes, isNumbered: arguments.segmentTime != nil,
            maxSize: arguments.maxSize.flatMap(CaptureArguments.bytes).map { UInt64($0) }, color: nil)
        try Self.check(plan)
        stillPlan = arguments.still.map { path in
            CaptureStills.Plan(
                path: path, replaces: arguments.yes,
                limit: arguments.stillBuffer.flatMap(CaptureArguments.bytes).map { Int($0) })
        }
        try stillPlan?.check()
        (name, source) = try Self.source(arguments, kinds)
        let format = source.format
        guard let copy = FrameCopy(format) else {
            throw CommandFailure(.badInput, "the frames of \(name) have a format that is not recorded")
        }
        self.copy = copy
        settings = CaptureSettings(arguments, format, copy.format)
        sound = try CaptureSound(arguments, kind, test: (source as? TestSource)?.sound)
        (plan.color, plan.sound) = (settings.color, sound?.track.settings)
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
        let request = CaptureRequest(part: part, width: size?.width, height: size?.height, rate: rate)
        let source = try kind.open(request)
        for line in request.differences(from: source.format) { Console.file("warning: \(name) \(line)") }
        return (name, source)
    }

    /// Refuses an output that cannot be written, before anything is done for it; it is created with the first frame.
    private static func check(_ plan: CaptureFiles.Plan) throws(CommandFailure) {
        let path = FileName.printable(plan.path)
        let exists = !plan.isNumbered && access(FileName.bytes(plan.path), F_OK) == 0
        guard !exists || plan.replaces else {
            throw CommandFailure(.cannotCreate, "\(path) exists and is not replaced: -y replaces it")
        }
        let slash = plan.path.lastIndex(of: "/")
        let folder = slash.map { plan.path[...$0] }.map(String.init) ?? "."
        let target = exists ? plan.path : folder
        guard access(FileName.bytes(target), exists ? W_OK : W_OK | X_OK) == 0 else {
            throw CommandFailure(.cannotCreate, "\(path) cannot be created: \(String(cString: strerror(errno)))")
        }
    }

    /// Records until the end, prints the receipt, and fails where the recording did.
    package func run() throws {
        let daemon = try Daemon.findAndReport(requiresHardware: arguments.hardware == .require)
        var trial = CaptureTrial()
        if !settings.hasSpeed, arguments.hardware != .require {
            settings.preset = try trial.run(daemon, settings)
        }
        let session = try settings.session(daemon)
        defer { session.invalidate() }
        announce(session, trial)
        let limit = arguments.duration.flatMap(PlayArguments.nanoseconds).map { UInt64($0) }
        let held = max(0, session.created.maxFramesHeld ?? 0) + session.created.maxFramesInFlight
        try openStills(daemon)
        let queue = try CaptureQueue(
            settings.format, copy, held: held, limit: limit, keepsNewest: stills != nil)
        let writer = try CaptureWriter(plan, wake: queue.wake)
        let segment = arguments.segmentTime.flatMap(PlayArguments.nanoseconds).map { UInt64($0) }
        let recording = CaptureRecording(session, queue, writer, settings, sound, segment: segment, limit: limit)
        try epoll.add(queue.wake.fileDescriptor, token: 1, events: .readable)
        try epoll.add(session.fileDescriptor, token: 2, events: .readable)
        signals.beginRecording()
        let end = record(recording, session.fileDescriptor)
        // What was asked for while the last frames were coded.
        for _ in 0..<signals.takeStills() { takeStill(recording) }
        let written = writer.finish()
        recording.settle(written.frames)
        receipt.add(queue.counts, written)
        receipt.restarts = session.restartCount
        receipt.sound = sound?.receipt
        session.invalidate()
        receipt.stills = finishStills()
        try finish(end, written)
    }

    private func openStills(_ daemon: Daemon) throws {
        guard let stillPlan else { return }
        let opened = try CaptureStills(
            stillPlan, CaptureStills.Coders(daemon), slotSize: copy.slotSize, rate: settings.rate,
            color: CapturedPicture.color(of: settings.format, copy.format))
        Console.file(
            opened.summary(
                width: settings.format.width, height: settings.format.height, slotSize: copy.slotSize))
        stills = opened
    }

    /// Takes a still of the newest frame.
    private func takeStill(_ recording: CaptureRecording) {
        guard let stills else { return Console.note("warning: no still is taken: --still names the files") }
        stills.take(recording.queue)
    }

    /// Waits for stills that are still being coded, unless they are given up.
    private func finishStills() -> [CaptureStills.Report]? {
        guard let stills else { return nil }
        signals.beginWaitingForStills()
        var isSaid = false
        var wasAsked = signals.hasRequest
        while case let pending = stills.pending, pending > 0, !stills.hasGivenUp {
            if !isSaid || wasAsked != signals.hasRequest {
                (isSaid, wasAsked) = (true, signals.hasRequest)
                Console.file(
                    "waiting for \(Console.count(pending, "still")), which Ctrl-C \(wasAsked ? "" : "twice ")gives up"
                )
            }
            usleep(20_000)
            guard signals.givesUpStills else { continue }
            stills.giveUp()
            Console.note("warning: \(Console.count(pending, "still")) not written: given up")
        }
        return stills.finish()
    }

    /// The loop: until the end, and until every frame that was taken is coded.
    private func record(_ recording: CaptureRecording, _ session: Int32) -> End {
        do {
            try recording.prepare()
            try sound?.start()
            try source.start(recording.queue)
        } catch {
            sound?.stop()
            return .failure(CommandFailure(error))
        }
        Console.note("recording; Ctrl-C ends it")
        var end: End?
        var isReceiving = true
        do {
            while end == nil {
                // Packets that stay in the session would end every wait at once.
                if isReceiving != recording.isReceiving {
                    isReceiving.toggle()
                    try epoll.modify(session, token: 2, events: isReceiving ? .readable : [])
                }
                _ = try epoll.wait(until: recording.deadline)
                recording.queue.wake.clear()
                signals.clear()
                if signals.hasRequest { end = .signal }
                for _ in 0..<signals.takeStills() { takeStill(recording) }
                try recording.step()
                end = end ?? recording.end
            }
        } catch { end = .failure(CommandFailure(error)) }
        source.stop()
        do { if recording.isCoding { try recording.drain() } } catch {
            // What ended the recording is what is reported.
            if case .failure = end {} else { end = .failure(CommandFailure(error)) }
        }
        do throws(CommandFailure) { try recording.endSound() } catch {
            if case .failure = end {} else { end = .failure(error) }
        }
        return end ?? .signal
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
    private func finish(_ end: End, _ written: CaptureWriter.Result) throws {
        var failure: CommandFailure?
        switch end {
        case .duration: receipt.endedBy = "duration"
        case .signal: receipt.endedBy = "signal"
        case .maxSize: receipt.endedBy = "max-size"
        case .source(let reason): (receipt.endedBy, receipt.reason) = ("source", reason)
        case .failure(let cause): failure = cause
        }
        failure = written.failure ?? failure
        if let failure { (receipt.endedBy, receipt.reason) = ("failure", failure.reason) }
        guard !receipt.files.isEmpty else {
            throw failure ?? CommandFailure(.noInput, "\(name) sent no frame: no file was written")
        }
        if failure == nil, let reason = receipt.reason { Console.file("the recording ends: \(reason)") }
        for file in receipt.files where receipt.files.count > 1 {
            Console.note("\(FileName.printable(file.file)): \(DecimalText.text(file.duration, 1)) s")
        }
        try receipt.print(json: arguments.json)
        if failure == nil, stills?.hasGivenUp == true { throw CommandFailure.reported(.interrupted) }
        guard let failure else { return }
        Console.error("\(failure.reason); the file has what was coded before")
        throw CommandFailure.reported(failure)
    }
}
