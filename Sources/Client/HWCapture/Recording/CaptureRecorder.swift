// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWClient
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import HWDWire
internal import Synchronization

/// The thread of a `CaptureSession`, and what others may ask of it.
final class CaptureRecorder: Sendable {
    private struct State {
        /// Of the recording that runs, and what it has counted when it has ended.
        var queue: CaptureQueue?
        var timeline: CaptureTimeline?
        var counts = CaptureSession.Counts()
        var hasEnded = false
        var receipt: CaptureSession.Receipt?
        var failure: CaptureError?
        /// Tasks that wait for the end, and those that were canceled before they did.
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var canceled: Set<Int> = []
        var nextWaiter = 0
    }

    private let daemon: Daemon
    private let source: any CaptureSource
    private let path: String
    private let options: CaptureSession.Options
    private let copy: FrameCopy
    private let limit: UInt64?
    private let loop: CaptureLoop
    private let stopRequest: EventFD
    private let isStopRequested = Atomic<Bool>(false)
    private let state = Mutex(State())

    init(
        _ daemon: Daemon, _ source: any CaptureSource, _ path: String, _ options: CaptureSession.Options
    ) throws {
        guard let copy = FrameCopy(source.format), source.format.rate.map(\.isValid) ?? true else {
            throw CaptureError(.format, "the frames of the source have a format that is not recorded")
        }
        (self.daemon, self.source, self.path, self.options, self.copy) = (daemon, source, path, options, copy)
        limit = try options.duration.map(Self.nanoseconds)
        if let size = options.maxSize, size <= CaptureFiles.smallestSize {
            throw CaptureError(.format, "a recording does not fit in \(size) bytes")
        }
        if let sound = options.sound {
            do throws(MovieError) { try sound.settings.check() } catch { throw CaptureError(.format, error.reason) }
        }
        try Self.check(path, replaces: options.replaces)
        stopRequest = try EventFD()
        loop = try CaptureLoop(request: stopRequest.fileDescriptor)
    }

    private static func nanoseconds(_ duration: Duration) throws -> UInt64 {
        guard duration > .zero, duration <= .seconds(1_000_000_000) else {
            throw CaptureError(.format, "a recording cannot last for \(duration)")
        }
        let (seconds, attoseconds) = duration.components
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }

    /// Refuses a file that cannot be written, before anything is done for it.
    private static func check(_ path: String, replaces: Bool) throws {
        let name = FileName.printable(path)
        let exists = access(FileName.bytes(path), F_OK) == 0
        guard !exists || replaces else {
            throw CaptureError(.file(.cannotCreate), "\(name) exists and is not replaced")
        }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard access(FileName.bytes(exists ? path : folder), exists ? W_OK : W_OK | X_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            throw CaptureError(.file(.cannotCreate), "\(name) cannot be created: \(reason)")
        }
    }

    var counts: CaptureSession.Counts {
        let (queue, counts) = state.withLock { ($0.queue, $0.counts) }
        return queue.map { Self.counts($0.counts) } ?? counts
    }

    private static func counts(_ counts: CaptureQueue.Counts) -> CaptureSession.Counts {
        CaptureSession.Counts(captured: counts.captured, dropped: counts.log.counts, repeated: counts.repeated)
    }

    /// What is asked of the recording that runs; nil before it, and after its end.
    var timeline: CaptureTimeline? { state.withLock { $0.timeline } }
    var receipt: CaptureSession.Receipt? { state.withLock { $0.receipt } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// After the end.
    func result() throws(CaptureError) -> CaptureSession.Receipt {
        let (receipt, failure) = state.withLock { ($0.receipt, $0.failure) }
        if let failure { throw failure }
        guard let receipt else { throw Self.failure(.stopped, hasPauses: false) }
        return receipt
    }

    func requestStop() {
        isStopRequested.store(true, ordering: .releasing)
        stopRequest.signal()
    }

    // MARK: - Tasks that wait

    /// Returns when the recording has ended, or its task is canceled.
    func waitForEnd(isCancelable: Bool = false) async {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.hasEnded || state.canceled.remove(number) != nil { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            guard isCancelable else { return }
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: number)
                if waiter == nil { state.canceled.insert(number) }
                return waiter
            }
            waiter?.resume()
        }
    }

    private func end(_ receipt: CaptureSession.Receipt?, _ failure: CaptureError?) {
        let waiters = state.withLock { state in
            (state.hasEnded, state.receipt, state.failure) = (true, receipt, failure)
            state.counts = state.queue.map { Self.counts($0.counts) } ?? state.counts
            (state.queue, state.timeline) = (nil, nil)
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: - The thread

    /// Starts the thread, and returns when the source has begun.
    func start() async throws(CaptureError) {
        let failure: CaptureError? = await withCheckedContinuation { continuation in
            do {
                _ = try Thread.spawn(name: "capture") { [self] in
                    do { try record { continuation.resume(returning: nil) } } catch {
                        continuation.resume(returning: CaptureError(error))
                    }
                }
            } catch { continuation.resume(returning: CaptureError(error)) }
        }
        if let failure { throw failure }
    }

    /// - Parameter hasBegun: called when the source has begun.
    /// - Throws: before that, and never after it.
    private func record(_ hasBegun: () -> Void) throws {
        var trial = CaptureTrial()
        var settings = self.settings(source.format, copy.format)
        let requiresHardware = options.encoderSpecification[.requireHardware] == .bool(true)
        if options.triesPresets, !settings.hasSpeed, !requiresHardware {
            settings.preset = try trial.run(daemon, settings)
        }
        let session = try settings.session(daemon)
        let created = session.created
        let held = max(0, created.maxFramesHeld ?? 0) + created.maxFramesInFlight
        let queue = try CaptureQueue(source.format, copy, held: held, limit: limit)
        let plan = CaptureFiles.Plan(
            path: path, replaces: options.replaces, isNumbered: false, maxSize: options.maxSize,
            color: settings.color, sound: options.sound?.settings)
        let writer = try CaptureWriter(plan, wake: queue.wake)
        let frames = CaptureRecording(
            (session, settings), queue, writer, options.sound, limit: limit,
            renew: { [self] format, pixelFormat in
                var settings = self.settings(format, pixelFormat)
                settings.preset = trial.preset(for: settings)
                return (try settings.session(daemon), settings)
            }, watch: { [loop] in try loop.watch($0, isOpen: $1) })
        defer { frames.close() }
        do { try loop.begin(frames, source, options.sound) } catch {
            _ = writer.finish()
            throw error
        }
        let timeline = CaptureTimeline(queue, writer, options.sound)
        state.withLock { ($0.queue, $0.timeline) = (queue, timeline) }
        hasBegun()
        let cause = loop.run(
            frames, source,
            follow: {
                stopRequest.clear()
                return isStopRequested.load(ordering: .acquiring)
            }, stepped: timeline.step, ended: timeline.close
        ).cause
        let written = writer.finish()
        frames.settle(written.frames)
        var (end, failure) = Self.outcome(cause)
        if let error = written.failure { (end, failure) = (.failed(error), error) }
        guard let file = written.reports.first?.file else {
            return self.end(nil, failure ?? Self.failure(end, hasPauses: !timeline.pauses.isEmpty))
        }
        var receipt = CaptureSession.Receipt(file, written, queue.counts, created, end)
        receipt.preset = created.usingHardware ? nil : settings.preset
        (receipt.restarts, receipt.newSizes) = (frames.restartCount, Array(frames.sizes.dropFirst()))
        (receipt.pauses, receipt.marks, receipt.sound) = (timeline.pauses, timeline.marks, options.sound?.counts)
        self.end(receipt, failure)
    }

    private func settings(_ format: CaptureFormat, _ pixelFormat: PixelFormat) -> CaptureSettings {
        CaptureSettings(
            format, pixelFormat, specification: options.encoderSpecification, properties: options.properties)
    }

    /// Why a recording that has not failed has no file.
    private static func failure(_ end: CaptureSession.End, hasPauses: Bool) -> CaptureError {
        if case .maxSize = end {
            return CaptureError(.format, "the greatest size has no room for the first frame: no file was written")
        }
        let reason = hasPauses ? "the source sent no frame outside of pauses" : "the source sent no frame"
        return CaptureError(.noFrames, "\(reason): no file was written")
    }

    private static func outcome(_ cause: CaptureStop) -> (CaptureSession.End, CaptureError?) {
        switch cause {
        case .request: return (.stopped, nil)
        case .duration: return (.duration, nil)
        case .maxSize: return (.maxSize, nil)
        case .source(let reason): return (.source(reason), nil)
        case .failed(let error):
            let failure = CaptureError(error)
            return (.failed(failure), failure)
        }
    }
}

extension CaptureSession.Receipt {
    fileprivate init(
        _ file: String, _ written: CaptureWriter.Result, _ counts: CaptureQueue.Counts,
        _ created: CreateCompressionSession.Reply, _ end: CaptureSession.End
    ) {
        self.init(
            file: file, furtherFiles: written.reports.dropFirst().map(\.file),
            size: written.reports.reduce(0) { $0 + $1.bytes },
            duration: written.reports.reduce(0) { $0 + $1.duration }, captured: counts.captured,
            coded: written.frames, dropped: counts.log.total, droppedByCause: counts.log.counts,
            drops: counts.log.drops, dropsCut: counts.log.isCut, repeated: counts.repeated,
            halvings: counts.halvings.map { CaptureSession.Halving(time: $0.time, divisor: $0.divisor) },
            newSizes: [], pauses: [], marks: [], sound: nil, longestGap: written.longestGap, restarts: 0,
            encoderID: created.encoderID, usesHardware: created.usingHardware,
            fallbackReason: created.fallbackReason, preset: nil, end: end)
    }
}
