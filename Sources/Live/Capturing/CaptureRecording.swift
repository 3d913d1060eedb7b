// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
internal import HWDCaptureSound
internal import HWDControlCommands
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// The frames of a recording in the session, for one thread.
final class CaptureRecording {
    let queue: CaptureQueue
    private let session: CompressionSession
    private let writer: CaptureWriter
    private let settings: CaptureSettings
    private let sound: CaptureSound?
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

    init(
        _ session: CompressionSession, _ queue: CaptureQueue, _ writer: CaptureWriter, _ settings: CaptureSettings,
        _ sound: CaptureSound?, segment: UInt64?, limit: UInt64?
    ) {
        (self.session, self.queue, self.writer, self.settings) = (session, queue, writer, settings)
        (self.segment, self.limit, self.sound) = (segment, limit, sound)
    }

    /// Whether the session still codes what it has.
    var isCoding: Bool { !isFailed && !isCompleted }

    /// Opens the encoder, so that the first frame does not wait for it.
    func prepare() throws(ClientError) {
        try session.addPool(queue.pool, id: Self.poolID, sparing: max(0, session.created.maxFramesHeld ?? 0))
        try session.prepare()
    }

    /// Whether `step` takes what the session has: packets wait there while the disk is slow.
    var isReceiving: Bool { writer.isReady }

    /// When `step` has something to do without an event.
    var deadline: MonotonicTime { .now + (isReceiving ? .milliseconds(250) : .milliseconds(20)) }

    /// Sends and receives what can be.
    func step() throws {
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
        for halving in counts.dropFirst(halvings) {
            Console.note(
                "warning: more than 5 % of the frames were dropped in 5 s: one of \(halving.divisor) is recorded from "
                    + "\(DecimalText.text(halving.time, 1)) s on")
        }
        halvings = counts.count
    }

    /// Codes what has been heard.
    private func writeSound() throws(CommandFailure) {
        guard let sound, let origin = queue.origin else { return }
        if let reason = sound.news { Console.note("warning: the recording continues with silence: \(reason)") }
        sound.track.begin(at: origin)
        writer.append(try sound.packets(now: MonotonicTime.now.nanoseconds))
    }

    /// Codes the rest of the sound, up to the end of the last frame.
    func endSound() throws(CommandFailure) {
        guard let sound else { return }
        defer { sound.stop() }
        guard let origin = queue.origin, sent > 0 else { return }
        let end = queue.clock(at: lastTime + settings.frameDuration) ?? origin
        let known = end + CaptureSound.hold
        // Its true time is known half a second later.
        while MonotonicTime.now.nanoseconds < known { usleep(20_000) }
        sound.stop()
        sound.track.begin(at: origin)
        writer.append(try sound.finish(at: end))
        writer.endSound(at: sound.track.duration)
    }

    /// Records the last frame again where the source has sent nothing for a while.
    private func repeatLast(at now: MonotonicTime, isEnd: Bool = false) {
        guard settings.format.rate == nil else { return }
        // It ends with the duration.
        let latest = limit.flatMap { queue.clock(at: $0 - min($0, settings.frameDuration)) }
        queue.repeatLast(at: min(now.nanoseconds, latest ?? .max), isEnd: isEnd)
    }

    private func send(_ frame: CaptureQueue.Frame) throws {
        let pts = CaptureFiles.ticks(frame.time)
        let number = sent
        var flags: EncodeFrame.Flags = []
        if let segment, frame.time >= segmentStart + segment {
            // From a whole multiple, so that files do not drift.
            segmentStart += (frame.time - segmentStart) / segment * segment
            flags = .forceKeyFrame
            cuts.insert(number)
        }
        let step = Int64((Double(settings.frameDuration) * Double(CaptureFiles.timeScale) / 1e9).rounded())
        (slots[number], times[number]) = (frame.slot, frame.time)
        sent += 1
        lastTime = frame.time
        lastPTS = max(pts, lastPTS + 1)
        do throws(ClientError) {
            try session.encode(
                EncodeFrame(
                    frameID: number, pts: lastPTS, duration: max(1, step), poolID: Self.poolID, flags: flags,
                    layout: queue.copy.layout(at: frame.slot.offset)))
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
        case .formatDescription(let record): writer.configure(record)
        case .frameReleased(let number):
            if let slot = slots.removeValue(forKey: number) { queue.pool.release(slot) }
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
    var end: CaptureJob.End? {
        let written = writer.state
        if let failure = written.failure { return .failure(failure) }
        if written.isFull { return .maxSize }
        let now = MonotonicTime.now.nanoseconds
        switch queue.end {
        case .duration: return .duration
        case .changed(let format):
            return .source(
                "the frames of the source have another size or format (\(format.width)x\(format.height))")
        case .source(.finished): return .source("the source has ended")
        case .source(.gone(let reason)): return .source(reason)
        case .source(.failed(let reason)): return .failure(CommandFailure(.ioError, reason))
        case nil: break
        }
        guard let limit, queue.origin != nil else { return nil }
        // Where frames come only with changes, none is to be waited for.
        let delay = settings.format.rate == nil ? 0 : Self.longestDelay
        return queue.elapsed(at: now) >= limit + delay ? .duration : nil
    }

    /// Codes what was taken, after the source has stopped.
    func drain() throws {
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
            try receive(timeout: isRepeated ? .milliseconds(20) : .zero)
        }
    }

    /// Counts the frames that were taken and are in no file.
    func settle(_ written: Int) {
        let taken = Int(sent)
        queue.abandon()
        if taken > written { queue.lose(taken - written, at: times.values.min() ?? lastTime) }
    }
}
