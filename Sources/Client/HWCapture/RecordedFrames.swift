// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWClient
internal import HWDHEVC
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import HWMovies

/// The frames of a recording in its compression session, and their packets in its file; for one thread.
///
/// Where the file is slow, packets stay in the session, its credits run out, frames wait, and the queue drops: as where the encoder is.
final class RecordedFrames {
    let queue: CaptureQueue
    private let session: CompressionSession
    private let settings: CaptureSettings
    private let copy: FrameCopy
    private let path: String
    private let replaces: Bool
    private let limit: UInt64?

    private var sent: UInt64 = 0
    private var slots: [UInt64: FramePool.Slot] = [:]
    /// The times of frames whose packets have not come, in nanoseconds, by their numbers.
    private var times: [UInt64: UInt64] = [:]
    private var last: (time: UInt64, pts: Int64) = (0, -1)
    private var isFailed = false
    private var isCompleted = false

    private var recorder: MovieRecorder?
    private var track = 0
    private var configuration: DecoderConfigurationRecord?
    /// The times of the file's first packet and of the last, and when that ends, in ticks.
    private var written: (first: Int64, last: Int64, end: Int64) = (0, 0, 0)
    private var frames = 0
    /// What is in fragments that were written: the rest is lost where its own cannot be.
    private(set) var settled: (frames: Int, end: Int64) = (0, 0)
    private(set) var longestGap: Int64 = 0
    private(set) var size: UInt64 = 0

    private static let poolID: UInt32 = 1
    /// Nanoseconds after the duration in which a frame of it may still arrive.
    private static let longestDelay: UInt64 = 1_000_000_000

    /// Opens the encoder, so that the first frame does not wait for it.
    init(
        _ session: CompressionSession, _ queue: CaptureQueue, _ settings: CaptureSettings, _ copy: FrameCopy,
        path: String, replaces: Bool, limit: UInt64?
    ) throws(ClientError) {
        (self.session, self.queue, self.settings, self.copy) = (session, queue, settings, copy)
        (self.path, self.replaces, self.limit) = (path, replaces, limit)
        try session.addPool(queue.pool, id: Self.poolID, sparing: max(0, session.created.maxFramesHeld ?? 0))
        try session.prepare()
    }

    /// Whether the session still codes what it has, and the file takes it.
    var isCoding: Bool { !isFailed && !isCompleted }

    /// Seconds of the file.
    var duration: Double { seconds(settled.end - written.first) }

    func seconds(_ ticks: Int64) -> Double { Double(ticks) / Double(CaptureSettings.timeScale) }

    /// Sends and receives what can be.
    func step() throws(CaptureError) {
        repeatLast(at: .now)
        var isMoving = true
        while isMoving {
            isMoving = try receive(timeout: .zero)
            if try send() { isMoving = true }
        }
    }

    /// Codes what was taken, after the source has stopped.
    func drain() throws(CaptureError) {
        let end = MonotonicTime.now
        var (isRepeated, isRequested) = (false, false)
        while isCoding {
            if !isRepeated, queue.isEmpty {
                isRepeated = true
                repeatLast(at: end, isEnd: true)
            }
            _ = try send()
            if isRepeated, !isRequested, queue.isEmpty {
                isRequested = true
                try asking { () throws(ClientError) in try session.complete() }
            }
            _ = try receive(timeout: .milliseconds(20))
        }
    }

    /// Why the recording ends now; nil while it does not.
    func end() throws(CaptureError) -> CaptureSession.End? {
        switch queue.end {
        case .duration: return .duration
        case .changed: return .source("the frames of the source have another format")
        case .source(.finished): return .source("the source has ended")
        case .source(.gone(let reason)): return .source(reason)
        case .source(.failed(let reason)): throw CaptureError(.source, reason)
        case nil: break
        }
        guard let limit, let origin = queue.origin else { return nil }
        // Where frames come only with changes, none is to be waited for.
        let delay = settings.format.rate == nil ? 0 : Self.longestDelay
        return MonotonicTime.now.nanoseconds >= origin + limit + delay ? .duration : nil
    }

    /// Finishes the file, and counts the frames that were taken and are not in it.
    func finish() throws(CaptureError) {
        defer {
            queue.abandon()
            let lost = Int(sent) - settled.frames
            if lost > 0 { queue.lose(lost, at: times.values.min() ?? last.time) }
        }
        guard let recorder else { return }
        var failure: MovieError?
        do throws(MovieError) {
            // Before the end, which says of no failure whether the last fragment is in the file.
            try recorder.flush()
            settled = (frames, written.end)
        } catch { failure = error }
        do throws(MovieError) { try recorder.finish() } catch { failure = failure ?? error }
        size = recorder.size
        if let failure { throw CaptureError(failure) }
    }

    /// Records the last frame again where the source has sent nothing for a while.
    private func repeatLast(at now: MonotonicTime, isEnd: Bool = false) {
        guard settings.format.rate == nil, let origin = queue.origin else { return }
        // It ends with the duration.
        let latest = limit.map { origin + $0 - min($0, settings.frameDuration) }
        queue.repeatLast(at: min(now.nanoseconds, latest ?? .max), isEnd: isEnd)
    }

    /// What the session is asked for; nothing more is coded where it fails.
    private func asking<Value>(_ body: () throws(ClientError) -> Value) throws(CaptureError) -> Value {
        do throws(ClientError) { return try body() } catch {
            isFailed = true
            throw CaptureError(error)
        }
    }

    /// Sends the frames that wait, as many as the session takes; false where that is none.
    private func send() throws(CaptureError) -> Bool {
        var isMoving = false
        while session.framesInFlight < session.created.maxFramesInFlight, let frame = queue.next() {
            (slots[sent], times[sent]) = (frame.slot, frame.time)
            last = (frame.time, max(CaptureSettings.ticks(frame.time), last.pts + 1))
            let step = CaptureSettings.ticks(settings.frameDuration)
            let coded = EncodeFrame(
                frameID: sent, pts: last.pts, duration: max(1, step), poolID: Self.poolID,
                layout: copy.layout(at: frame.slot.offset))
            sent += 1
            try asking { () throws(ClientError) in try session.encode(coded) }
            isMoving = true
        }
        return isMoving
    }

    /// Takes what the session has; false where that is nothing.
    private func receive(timeout: Duration) throws(CaptureError) -> Bool {
        var isMoving = false
        while !isCompleted {
            let wait = isMoving ? .zero : timeout
            let event = try asking { () throws(ClientError) in try session.nextEvent(timeout: wait) }
            guard let event else { break }
            isMoving = true
            switch event {
            case .formatDescription(let record): try writing { () throws(CaptureError) in try configure(record) }
            case .frameReleased(let number):
                if let slot = slots.removeValue(forKey: number) { queue.pool.release(slot) }
            case .packet(let packet):
                try writing { () throws(CaptureError) in try append(packet) }
                times[packet.description.frameID] = nil
                try asking { () throws(ClientError) in try session.release(packet) }
            case .completed: isCompleted = true
            }
        }
        return isMoving
    }

    /// Nothing more is coded where the file fails.
    private func writing(_ body: () throws(CaptureError) -> Void) throws(CaptureError) {
        do throws(CaptureError) { try body() } catch {
            isFailed = true
            throw error
        }
    }

    private func configure(_ record: [UInt8]) throws(CaptureError) {
        do {
            let parsed = try DecoderConfigurationRecord(bytes: record)
            configuration = parsed
            try recorder?.changeConfiguration(of: track, to: parsed)
        } catch let error as MovieError {
            throw CaptureError(error)
        } catch {
            throw CaptureError(
                .session(.protocolViolation), "the session's format description is damaged: \(error)")
        }
    }

    private func append(_ packet: CompressionSession.ReceivedPacket) throws(CaptureError) {
        let described = packet.description
        do throws(MovieError) {
            let recorder: MovieRecorder
            if let current = self.recorder { recorder = current } else { recorder = try begin(described.pts) }
            let before = recorder.size
            try recorder.append(
                WrittenPacket(
                    bytes: Array(packet.bytes), time: described.pts - written.first,
                    decodeTime: min(described.dts, described.pts) - written.first, duration: described.duration),
                to: track)
            // It begins the next fragment where one was written.
            if recorder.size != before { settled = (frames, written.end) }
        } catch { throw CaptureError(error) }
        longestGap = max(longestGap, described.pts - written.last)
        (written.last, written.end) = (described.pts, described.pts + described.duration)
        frames += 1
    }

    private func begin(_ time: Int64) throws(MovieError) -> MovieRecorder {
        guard let configuration else {
            throw MovieError(.usage, "the session sent a packet before its format description")
        }
        var video = VideoTrackSettings(timeScale: CaptureSettings.timeScale, configuration: configuration)
        video.color = settings.color
        let created = try MovieRecorder(path: path, replaces: replaces)
        track = try created.addVideo(video)
        (recorder, written) = (created, (time, time, time))
        return created
    }
}
