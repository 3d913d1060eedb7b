// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDCaptureSound
internal import HWDControlCommands
internal import HWDEdits
internal import HWDMetadata
internal import HWDModel
internal import HWDTransport
internal import HWMovies
internal import Synchronization

/// The sound of a recording: its source, and its packets for the files.
final class CaptureSound: CaptureSoundSink, RecordedSound {
    let name: String
    private let track: SoundTrack
    private let source: any CaptureSoundSource
    private struct State {
        var end: CaptureEnd?
        var isEndReported = false
        /// Whether the source was silent when `news` was last read.
        var wasStalled = false
    }

    private let state = Mutex(State())

    /// Sound that is held until its true time is known, in nanoseconds.
    private static let hold = UInt64(SoundClock.hold * 1e9)

    /// Opens what `--audio` names; nil for none.
    ///
    /// - Parameter test: the sound of the test source, where that is recorded.
    init?(
        _ arguments: CaptureArguments, _ kind: CaptureSoundKind?, test: (any CaptureSoundSource)?
    ) throws(CommandFailure) {
        // A microphone is recorded only where it is asked for.
        name = arguments.audio ?? (test == nil ? "none" : "test")
        guard name != "none" else { return nil }
        if name == "test", let test {
            source = test
        } else if let kind {
            source = try kind.open(name)
        } else {
            throw CommandFailure(.unavailable, "this build of hwctl-capture has no PipeWire, and records no sound")
        }
        let codec: SoundCodec = arguments.audioCodec == .alac ? .alac : .aac
        let isQuickTime = arguments.file?.lowercased().hasSuffix(".mov") ?? true
        do throws(MediaError) {
            track = try SoundTrack(
                sampleRate: source.format.sampleRate, channels: source.format.channels, codec: codec,
                isQuickTime: isQuickTime)
        } catch { throw CommandFailure(.unavailable, error.reason) }
    }

    var settings: SoundTrackSettings { track.settings }

    func start() throws(CommandFailure) { try source.start(self) }
    func stop() { source.stop() }
    func pause(at time: UInt64) { track.pause(at: time) }
    func resume(at time: UInt64) { track.resume(at: time) }

    func write(from origin: UInt64, to writer: CaptureWriter) throws(CommandFailure) {
        if let reason = news { Console.note("warning: the recording continues with silence: \(reason)") }
        track.begin(at: origin)
        writer.append(try packets(now: MonotonicTime.now.nanoseconds))
    }

    func end(from origin: UInt64, at end: UInt64, to writer: CaptureWriter) throws(CommandFailure) {
        defer { stop() }
        // Its true time is known half a second later.
        while MonotonicTime.now.nanoseconds < end + Self.hold { usleep(20_000) }
        stop()
        track.begin(at: origin)
        writer.append(try finish(at: end))
        writer.endSound(at: track.duration)
    }

    func samples(_ samples: UnsafeBufferPointer<Float>, at time: UInt64, isExact: Bool) {
        track.samples(samples, at: time, isExact: isExact)
    }

    func ended(_ end: CaptureEnd) {
        track.sourceEnded()
        state.withLock { $0.end = $0.end ?? end }
    }

    /// Why the source sends nothing, once each time; for the recorder's thread.
    private var news: String? {
        state.withLock { state in
            let hasStalled = track.isStalled && !state.wasStalled
            state.wasStalled = track.isStalled
            guard let end = state.end else { return hasStalled ? "the source of the sound sends nothing" : nil }
            defer { state.isEndReported = true }
            return state.isEndReported ? nil : end.reason
        }
    }

    /// The packets that are complete.
    private func packets(now: UInt64) throws(CommandFailure) -> [WrittenPacket] {
        do throws(MediaError) { return try track.packets(now: now) } catch {
            throw CommandFailure(.software, error.reason)
        }
    }

    /// The rest of the packets, up to the recording's end.
    private func finish(at time: UInt64) throws(CommandFailure) -> [WrittenPacket] {
        do throws(MediaError) { return try track.finish(at: time) } catch {
            throw CommandFailure(.software, error.reason)
        }
    }

    var receipt: CaptureReceipt.Sound {
        let receipt = track.receipt
        return CaptureReceipt.Sound(
            source: name, silence: receipt.silence,
            gaps: receipt.gaps.map {
                CaptureReceipt.Gap(time: $0.time, seconds: $0.seconds, cause: $0.cause.rawValue)
            }, drift: receipt.drift, greatestCorrection: receipt.greatestCorrection,
            impossibleTimes: receipt.impossibleTimes)
    }
}
