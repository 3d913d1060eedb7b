// SPDX-License-Identifier: MIT
internal import Glibc
package import HWClient
package import HWDModel
package import HWDTransport
internal import HWDWire

/// The frames of a recording in the session, for one thread.
package final class CaptureRecording: CaptureStream {
    /// A session for frames of a format, and its settings.
    package typealias Coder = (session: CompressionSession, settings: CaptureSettings)

    /// What has changed while the recording runs.
    package enum News {
        /// One of so many frames is recorded from a time on, in seconds: fewer than before, or more.
        case rate(time: Double, divisor: Int, isLess: Bool)
        case size(CaptureSession.Size)
    }

    private let queue: CaptureQueue
    private var session: CompressionSession
    private let writer: CaptureWriter
    private var settings: CaptureSettings
    /// The frames that the session codes.
    private var stage: CaptureQueue.Stage
    /// Creates the session for frames of another format.
    private let renew: (CaptureFormat, PixelFormat) throws -> Coder
    /// Called before a session's descriptor is closed, and with that of the next one.
    private let watch: (_ descriptor: Int32, _ isOpen: Bool) throws -> Void
    private var pastRestarts = 0
    package private(set) var sizes: [CaptureSession.Size] = []
    /// Called with what has changed.
    package var note: (News) -> Void = { _ in }
    private let sound: (any RecordedSound)?
    /// Nanoseconds of a file, and of the recording; nil without an end.
    private let segment: UInt64?
    private let limit: UInt64?
    /// When the file being written began, in nanoseconds of the recording.
    private var segmentStart: UInt64 = 0
    private var sent: UInt64 = 0
    private var slots: [UInt64: FramePool.Slot] = [:]
    /// Frames with which a file begins.
    private var cuts: Set<UInt64> = []
    /// The times of frames whose packets have not come, in nanoseconds, by their numbers.
    private var times: [UInt64: UInt64] = [:]
    private var lastTime: UInt64 = 0
    private var isFailed = false
    private var isCompleted = false
    private var halvings = 0
    private var lastPTS: Int64 = -1

    private static let poolID: UInt32 = 1
    /// Nanoseconds after the duration in which a frame of it may still arrive.
    private static let longestDelay: UInt64 = 1_000_000_000

    package init(
        _ coder: Coder, _ queue: CaptureQueue, _ writer: CaptureWriter, _ sound: (any RecordedSound)?,
        segment: UInt64? = nil, limit: UInt64?,
        renew: @escaping (CaptureFormat, PixelFormat) throws -> Coder,
        watch: @escaping (_ descriptor: Int32, _ isOpen: Bool) throws -> Void
    ) {
        (session, settings, self.queue, self.writer) = (coder.session, coder.settings, queue, writer)
        (self.segment, self.limit, self.sound) = (segment, limit, sound)
        (self.renew, self.watch, stage) = (renew, watch, queue.stage)
        sizes = [CaptureSession.Size(time: 0, width: stage.format.width, height: stage.format.height)]
    }

    deinit { session.invalidate() }

    package var frames: any PausableQueue { queue }
    package var wake: EventFD { queue.wake }
    package var descriptor: Int32? { session.fileDescriptor }
    package var counts: CaptureQueue.Counts { queue.counts }
    package var restartCount: Int { pastRestarts + session.restartCount }

    /// Whether the session still codes what it has.
    package var isCoding: Bool { !isFailed && !isCompleted }

    /// Opens the encoder, so that the first frame does not wait for it.
    package func prepare() throws {
        try session.addPool(stage.pool, id: Self.poolID, sparing: max(0, session.created.maxFramesHeld ?? 0))
        try session.prepare()
    }

    /// Whether `step` takes what the session has: packets wait there while the disk is slow.
    package var isReceiving: Bool { writer.isReady }

    /// When `step` has something to do without an event.
    package var deadline: MonotonicTime { .now + (isReceiving ? .milliseconds(250) : .milliseconds(20)) }

    /// Sends and receives what can be.
    package func step() throws {
        repeatLast(at: .now)
        var isMoving = true
        while isMoving {
            isMoving = try receive()
            while session.framesInFlight < session.created.maxFramesInFlight, let frame = queue.next() {
                try send(frame)
                isMoving = true
            }
        }
        try writeSound()
        let counts = queue.counts.halvings
        for index in halvings..<counts.count {
            let (time, divisor) = counts[index]
            note(.rate(time: time, divisor: divisor, isLess: divisor > (index > 0 ? counts[index - 1].divisor : 1)))
        }
        halvings = counts.count
    }

    /// Codes what has been heard.
    private func writeSound() throws {
        guard let sound, let origin = queue.origin else { return }
        try sound.write(from: origin, to: writer)
    }

    /// Codes the rest of the sound, up to the end of the last frame.
    package func endSound() throws {
        guard let sound else { return }
        guard let origin = queue.origin, sent > 0 else { return sound.stop() }
        try sound.end(from: origin, at: queue.clock(at: lastTime + settings.frameDuration) ?? origin, to: writer)
    }

    /// Records the last frame again where the source has sent nothing for a while, or less than a constant rate.
    private func repeatLast(at now: MonotonicTime, isEnd: Bool = false) {
        // It ends with the duration.
        let latest = limit.flatMap { queue.clock(at: $0 - min($0, settings.frameDuration)) }
        queue.repeatLast(at: min(now.nanoseconds, latest ?? .max), isEnd: isEnd)
    }

    /// Codes what the session has, and continues with a session for frames of another format.
    /// - Returns: false where nothing more is written.
    private func change(to stage: CaptureQueue.Stage, at time: UInt64) throws -> Bool {
        guard isCoding else { return false }
        try session.complete()
        while !isCompleted {
            let written = writer.state
            if written.failure != nil || written.isFull { return false }
            if !isReceiving { usleep(20_000) }
            try receive(timeout: .milliseconds(20))
        }
        try watch(session.fileDescriptor, false)
        session.invalidate()
        slots = [:]
        let next = try renew(stage.format, stage.copy.format)
        pastRestarts += session.restartCount
        (session, settings) = next
        (self.stage, isCompleted) = (stage, false)
        try prepare()
        try watch(session.fileDescriptor, true)
        let size = CaptureSession.Size(
            time: Double(time) / 1e9, width: stage.format.width, height: stage.format.height)
        sizes.append(size)
        note(.size(size))
        return true
    }

    private func send(_ frame: CaptureQueue.Frame) throws {
        if frame.stage !== stage {
            var isChanged = false
            defer {
                if !isChanged {
                    isFailed = true
                    frame.stage.pool.release(frame.slot)
                    queue.lose(1, at: frame.time)
                }
            }
            isChanged = try change(to: frame.stage, at: frame.time)
            guard isChanged else { return }
        }
        let pts = CaptureFiles.ticks(frame.time)
        let number = sent
        var flags: EncodeFrame.Flags = []
        if let segment, frame.time >= segmentStart + segment {
            // From a whole multiple, so that files do not drift.
            segmentStart += (frame.time - segmentStart) / segment * segment
            flags = .forceKeyFrame
            cuts.insert(number)
        }
        let step = CaptureFiles.ticks(settings.frameDuration)
        (slots[number], times[number]) = (frame.slot, frame.time)
        sent += 1
        lastTime = frame.time
        lastPTS = max(pts, lastPTS + 1)
        do throws(ClientError) {
            try session.encode(
                EncodeFrame(
                    frameID: number, pts: lastPTS, duration: max(1, step), poolID: Self.poolID, flags: flags,
                    layout: stage.copy.layout(at: frame.slot.offset)))
        } catch {
            isFailed = true
            throw error
        }
    }

    /// Takes what the session has; false where that is nothing.
    @discardableResult private func receive(timeout: Duration = .zero) throws -> Bool {
        var isMoving = false
        while writer.isReady, !isCompleted {
            let event: CompressionSession.Event?
            do throws(ClientError) { event = try session.nextEvent(timeout: isMoving ? .zero : timeout) } catch {
                isFailed = true
                throw error
            }
            guard let event else { break }
            isMoving = true
            try take(event)
        }
        return isMoving
    }

    private func take(_ event: CompressionSession.Event) throws {
        switch event {
        case .formatDescription(let record): writer.configure(.hevc(record, color: settings.color))
        case .frameReleased(let number):
            if let slot = slots.removeValue(forKey: number) { stage.pool.release(slot) }
        case .packet(let packet):
            let description = packet.description
            writer.append(
                CaptureFiles.Packet(
                    bytes: Array(packet.bytes), time: description.pts, decodeTime: description.dts,
                    duration: description.duration, begins: cuts.remove(description.frameID) != nil,
                    isKey: description.flags.contains(.sync)))
            times[description.frameID] = nil
            try session.release(packet)
        case .completed: isCompleted = true
        }
    }

    /// Why the recording ends now; nil while it does not.
    package var end: CaptureStop? {
        let written = writer.state
        if let failure = written.failure { return .failed(failure) }
        if written.isFull { return .maxSize }
        if let end = CaptureStop(queue.end) { return end }
        guard let limit, queue.origin != nil else { return nil }
        // Where frames come only with changes, none is to be waited for.
        let delay = stage.format.rate == nil ? 0 : Self.longestDelay
        return queue.elapsed(at: MonotonicTime.now.nanoseconds) >= limit + delay ? .duration : nil
    }

    /// Codes what was taken, after the source has stopped.
    package func drain() throws {
        let end = MonotonicTime.now
        var (isRepeated, isComplete) = (false, false)
        while !isCompleted {
            let written = writer.state
            if written.failure != nil || written.isFull { return }
            if !isRepeated, queue.isEmpty {
                isRepeated = true
                repeatLast(at: end, isEnd: true)
            }
            while session.framesInFlight < session.created.maxFramesInFlight, let frame = queue.next() {
                try send(frame)
            }
            if isRepeated, !isComplete, queue.isEmpty {
                isComplete = true
                do throws(ClientError) { try session.complete() } catch {
                    isFailed = true
                    throw error
                }
            }
            if !isReceiving { usleep(20_000) }
            try receive(timeout: .milliseconds(20))
        }
    }

    package func close() { session.invalidate() }

    /// Counts the frames that were taken and are in no file.
    package func settle(_ written: Int) {
        let taken = Int(sent)
        queue.abandon()
        if taken > written { queue.lose(taken - written, at: times.values.min() ?? lastTime) }
    }
}
