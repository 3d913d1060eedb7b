// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWClient
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import Synchronization

/// The thread of a `CaptureSession`, and what others may ask of it.
final class CaptureRecorder: Sendable {
    private struct State {
        /// Of the recording that runs, and what it has counted when it has ended.
        var queue: CaptureQueue?
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
    private let epoll: Epoll
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
        try Self.check(path, replaces: options.replaces)
        epoll = try Epoll()
        stopRequest = try EventFD()
        try epoll.add(stopRequest.fileDescriptor, token: 0, events: .readable)
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

    var receipt: CaptureSession.Receipt? { state.withLock { $0.receipt } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// After the end.
    func result() throws(CaptureError) -> CaptureSession.Receipt {
        let (receipt, failure) = state.withLock { ($0.receipt, $0.failure) }
        if let failure { throw failure }
        guard let receipt else { throw CaptureError(.noFrames, "the source sent no frame: no file was written") }
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
            state.queue = nil
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
        let format = source.format
        var settings = CaptureSettings(
            format, copy.format, specification: options.encoderSpecification, properties: options.properties)
        let requiresHardware = options.encoderSpecification[.requireHardware] == .bool(true)
        if options.triesPresets, !settings.hasSpeed, !requiresHardware {
            var trial = CaptureTrial()
            settings.preset = try trial.run(daemon, settings)
        }
        let session = try settings.session(daemon)
        defer { session.invalidate() }
        let held = max(0, session.created.maxFramesHeld ?? 0) + session.created.maxFramesInFlight
        let queue = try CaptureQueue(format, copy, held: held, limit: limit)
        let frames = try RecordedFrames(
            session, queue, settings, copy, path: path, replaces: options.replaces, limit: limit)
        try epoll.add(queue.wake.fileDescriptor, token: 1, events: .readable)
        try epoll.add(session.fileDescriptor, token: 2, events: .readable)
        do { try source.start(OneFormat(queue)) } catch {
            source.stop()
            throw error
        }
        state.withLock { $0.queue = queue }
        hasBegun()
        let (end, cause) = run(frames)
        var failure = cause
        do throws(CaptureError) { try frames.finish() } catch { failure = failure ?? error }
        guard frames.settled.frames > 0 else { return self.end(nil, failure) }
        self.end(receipt(frames, session, settings, failure.map { .failed($0) } ?? end), failure)
    }

    /// The loop: until the end, and until every frame that was taken is coded.
    private func run(_ frames: RecordedFrames) -> (CaptureSession.End, CaptureError?) {
        var end: CaptureSession.End?
        var failure: CaptureError?
        do {
            while end == nil {
                _ = try epoll.wait(until: .now + .milliseconds(250))
                frames.queue.wake.clear()
                try frames.step()
                end = isStopRequested.load(ordering: .acquiring) ? .stopped : try frames.end()
            }
        } catch { failure = CaptureError(error) }
        source.stop()
        do throws(CaptureError) { if frames.isCoding { try frames.drain() } } catch {
            // What ended the recording is what is reported.
            failure = failure ?? error
        }
        return (end ?? .stopped, failure)
    }

    private func receipt(
        _ frames: RecordedFrames, _ session: CompressionSession, _ settings: CaptureSettings,
        _ end: CaptureSession.End
    ) -> CaptureSession.Receipt {
        let (counts, created) = (frames.queue.counts, session.created)
        return CaptureSession.Receipt(
            file: path, size: frames.size, duration: frames.duration, captured: counts.captured,
            coded: frames.settled.frames, dropped: counts.log.total, droppedByCause: counts.log.counts,
            drops: counts.log.drops, dropsCut: counts.log.isCut, repeated: counts.repeated,
            halvings: counts.halvings.map { CaptureSession.Halving(time: $0.time, divisor: $0.divisor) },
            longestGap: frames.seconds(frames.longestGap), restarts: session.restartCount,
            encoderID: created.encoderID, usesHardware: created.usingHardware,
            fallbackReason: created.fallbackReason, preset: created.usingHardware ? nil : settings.preset, end: end)
    }
}

/// A source's frames for a queue, up to the first of another format: that ends the recording.
private final class OneFormat: CaptureSink {
    private let queue: CaptureQueue

    init(_ queue: CaptureQueue) { self.queue = queue }

    func frame(_ planes: [CapturePlane], at time: UInt64, sequence: UInt64?) {
        queue.frame(planes, at: time, sequence: sequence)
    }

    func coded(_ unit: UnsafeRawBufferPointer, isKeyFrame: Bool, at time: UInt64, sequence: UInt64?) {
        queue.coded(unit, isKeyFrame: isKeyFrame, at: time, sequence: sequence)
    }

    func lost(_ count: Int, at time: UInt64, cause: String) { queue.lost(count, at: time, cause: cause) }

    func changed(_ format: CaptureFormat) {
        guard format != queue.format else { return }
        let size = "\(format.width)x\(format.height)"
        queue.ended(.gone("the frames of the source have another size or format (\(size))"))
    }

    func ended(_ end: CaptureEnd) { queue.ended(end) }
}
