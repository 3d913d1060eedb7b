// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDHEVC
internal import HWDModel
internal import HWDTransport
internal import HWMovies

/// A recording of what a source codes itself: nothing is coded again, for one thread.
final class CopyRecording: CaptureStream {
    private let queue: CopyQueue
    private let writer: CaptureWriter
    private let sound: (any RecordedSound)?
    /// Nanoseconds of a file, and of the recording; nil without an end.
    private let segment: UInt64?
    private let limit: UInt64?
    private let frameDuration: UInt64
    private var stream: CodedSamples
    /// Whether what comes depends on frames that are in no file.
    private var needsKeyFrame = true
    private var segmentStart: UInt64 = 0
    private var sent = 0
    private var lastTime: UInt64 = 0
    private var lastPTS: Int64 = -1
    private(set) var sizes: [CaptureSession.Size] = []

    /// Nanoseconds in which a stream has its first key frame.
    private static let longestWait: UInt64 = 30_000_000_000
    /// Nanoseconds after the duration in which a frame of it may still arrive.
    private static let longestDelay: UInt64 = 1_000_000_000

    /// - Parameter color: that of the source, for a stream that states none.
    init(
        _ codec: CaptureCodec, _ queue: CopyQueue, _ writer: CaptureWriter, _ sound: (any RecordedSound)?,
        frameDuration: UInt64, color: MovieColor?, segment: UInt64?, limit: UInt64?
    ) {
        (self.queue, self.writer, self.sound, self.segment) = (queue, writer, sound, segment)
        (self.limit, self.frameDuration) = (limit, frameDuration)
        stream = CodedSamples(codec, color: color)
    }

    var frames: any PausableQueue { queue }
    var wake: EventFD { queue.wake }
    var descriptor: Int32? { nil }
    var counts: CaptureQueue.Counts { queue.counts }
    var restartCount: Int { 0 }
    var isReceiving: Bool { writer.isReady }
    var isCoding: Bool { true }
    var deadline: MonotonicTime { .now + (isReceiving ? .milliseconds(250) : .milliseconds(20)) }

    func prepare() {}

    func step() throws {
        while writer.isReady, let unit = queue.next() { take(unit) }
        if let sound, let origin = queue.origin { try sound.write(from: origin, to: writer) }
        if sent == 0, let waited = queue.waited(at: MonotonicTime.now.nanoseconds), waited >= Self.longestWait {
            throw CommandFailure(.ioError, "the source sent no key frame for \(Self.longestWait / 1_000_000_000) s")
        }
    }

    private func take(_ unit: CopyQueue.Unit) {
        if !unit.isContinuous { needsKeyFrame = true }
        guard !needsKeyFrame || unit.isKeyFrame else { return queue.drop(unit, .keyFrame) }
        let sample: CodedSamples.Sample
        do throws(BitstreamError) { sample = try stream.take(unit.bytes) } catch {
            return queue.drop(unit, error.code == .missingParameterSet && sent == 0 ? .keyFrame : .damaged)
        }
        needsKeyFrame = false
        queue.begin(at: unit.time)
        let time = queue.elapsed(at: unit.time)
        if let configuration = sample.configuration { writer.configure(configuration) }
        if let size = sample.size, size != sizes.last.map({ ($0.width, $0.height) }) ?? (0, 0) {
            sizes.append(CaptureSession.Size(time: Double(time) / 1e9, width: size.width, height: size.height))
        }
        var begins = false
        if let segment, unit.isKeyFrame, time >= segmentStart + segment {
            // From a whole multiple, so that files do not drift.
            segmentStart += (time - segmentStart) / segment * segment
            begins = true
        }
        lastPTS = max(CaptureFiles.ticks(time), lastPTS + 1)
        writer.append(
            CaptureFiles.Packet(
                bytes: sample.bytes, time: lastPTS, decodeTime: lastPTS,
                duration: max(1, CaptureFiles.ticks(frameDuration)), begins: begins, isKey: unit.isKeyFrame))
        sent += 1
        lastTime = time
    }

    var end: CaptureStop? {
        let written = writer.state
        if let failure = written.failure { return .failed(failure) }
        if written.isFull { return .maxSize }
        if let end = CaptureStop(queue.end) { return end }
        guard let limit, queue.origin != nil else { return nil }
        return queue.elapsed(at: MonotonicTime.now.nanoseconds) >= limit + Self.longestDelay ? .duration : nil
    }

    func drain() {
        while writer.state.failure == nil, !writer.state.isFull {
            guard writer.isReady else {
                usleep(20_000)
                continue
            }
            guard let unit = queue.next() else { return }
            take(unit)
        }
    }

    func endSound() throws {
        guard let sound else { return }
        guard let origin = queue.origin, sent > 0 else { return sound.stop() }
        try sound.end(from: origin, at: queue.clock(at: lastTime + frameDuration) ?? origin, to: writer)
    }

    func close() {}

    func settle(_ written: Int) {
        while let unit = queue.next() { queue.drop(unit, .end) }
        if sent > written { queue.drop(sent - written, at: queue.clock(at: lastTime) ?? 0, .end) }
    }
}
