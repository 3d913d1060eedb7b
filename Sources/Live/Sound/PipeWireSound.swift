// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPipeWire
internal import Glibc
package import HWDControlCommands
package import HWDPlaying
internal import HWDSystem
internal import HWDTransport
package import HWMovies
internal import Synchronization

/// The sound of a movie, through PipeWire.
package final class PipeWireSound: PlayedSound {
    private let engine: SoundEngine

    /// Opens a track of sound.
    /// - Parameter number: the track among those of sound, from 1; nil for the first that is enabled.
    /// - Returns: nil for a movie without sound.
    /// - Throws: `badInput` for a track that was asked for and is not there.
    package init?(_ movie: Movie, track number: Int?, file: String) throws(CommandFailure) {
        let tracks = movie.tracks.filter { $0.kind == .sound }
        if let number, !tracks.indices.contains(number - 1) {
            throw CommandFailure(.badInput, "\(file) has \(tracks.count) tracks of sound, and no number \(number)")
        }
        let chosen = number.map { tracks[$0 - 1] } ?? tracks.first { $0.isEnabled } ?? tracks.first
        guard let track = chosen else { return nil }
        do throws(MovieError) {
            guard let engine = SoundEngine(try SoundDecoder(movie, track), file: file) else {
                throw MovieError(.unsupported, "PipeWire's library does not start")
            }
            self.engine = engine
        } catch {
            Console.note("warning: \(file) is silent: \(error.reason)")
            return nil
        }
        let engine = engine
        do throws(SystemError) { _ = try Thread.spawn(name: "sound") { engine.run() } } catch {
            Console.note("warning: \(file) is silent: no thread can be started: \(error)")
            return nil
        }
    }

    deinit { engine.end() }

    package func prepare(_ item: Int64) { engine.prepare(item) }
    package func start(_ item: Int64, at host: Int64) { engine.start(item, at: host) }
    package func stop() { engine.stop() }
    package func setVolume(_ volume: Double) { hwd_sound_set_volume(engine.output, Float(volume)) }
    package func takeNotes() -> [String] { engine.takeNotes() }

    package var position: (item: Int64, host: Int64)? {
        var (item, host): (Int64, Int64) = (0, 0)
        return hwd_sound_position(engine.output, &item, &host) ? (item, host) : nil
    }

    package var heard: PlayReceipt.Sound? { engine.heard }
}

/// The thread that decodes ahead, and what it is asked for.
private final class SoundEngine: @unchecked Sendable {
    /// Stopped and asked by any thread, filled and started by its own.
    let output: OpaquePointer
    /// Used by the thread alone.
    private let decoder: SoundDecoder
    private let file: String

    private struct Content {
        /// From which item time on, and which request it is.
        var request: (item: Int64, number: Int)?
        var start: (item: Int64, host: Int64)?
        var wasStarted = false
        var isOver = false
        var hasReported = false
        var notes: [String] = []
        /// The stream's rate and channels; nil before it is connected.
        var format: PlayReceipt.Sound?
        /// From when on a device should play.
        var due: Int64?
        var hasReportedNoDevice = false
    }
    private let content = Mutex(Content())

    private static let second: Int64 = 1_000_000_000
    /// How much of what is prepared can be left out by a start.
    private static let ahead = Int128(second) * 2 / 5
    /// How long a device may take to start.
    private static let deviceTimeout = second * 2
    /// How long the device is silent before what is prepared.
    private static let early = Int128(second) / 50

    init?(_ decoder: SoundDecoder, file: String) {
        guard let output = hwd_sound_create() else { return nil }
        (self.output, self.decoder, self.file) = (output, decoder, file)
    }

    deinit { hwd_sound_destroy(output) }

    // MARK: - What any thread asks for

    func prepare(_ item: Int64) {
        content.withLock { content in
            content.request = (item, (content.request?.number ?? 0) + 1)
            (content.start, content.wasStarted, content.due) = (nil, false, nil)
            hwd_sound_stop(output)
        }
        hwd_sound_wake(output)
    }

    func start(_ item: Int64, at host: Int64) {
        content.withLock { content in
            // Item times are as large as a file says.
            let lead = content.request.map { Int128(item) - Int128($0.item) } ?? .max
            if content.wasStarted || lead < -Self.early || lead > Self.ahead {
                content.request = (item, (content.request?.number ?? 0) + 1)
                hwd_sound_stop(output)
            }
            (content.start, content.wasStarted, content.due) = ((item, host), true, host)
        }
        hwd_sound_wake(output)
    }

    func stop() {
        content.withLock { content in
            (content.start, content.due) = (nil, nil)
            hwd_sound_stop(output)
        }
    }

    func end() {
        content.withLock { $0.isOver = true }
        hwd_sound_wake(output)
    }

    func takeNotes() -> [String] {
        content.withLock { content in
            defer { content.notes = [] }
            return content.notes
        }
    }

    var heard: PlayReceipt.Sound? {
        guard hwd_sound_was_heard(output) else { return nil }
        var sound = content.withLock { $0.format }
        sound?.gaps = Int(hwd_sound_gaps(output))
        return sound
    }

    // MARK: - The thread

    func run() {
        var (number, base, written): (Int, Int64, Int64) = (0, 0, 0)
        // Frames of silence, and what follows them.
        var (silence, waiting): (Int64, ArraySlice<Float>) = (0, [])
        var isFinished = false
        while true {
            let (request, isOver) = content.withLock { ($0.request, $0.isOver) }
            if isOver { return }
            if let request, request.number != number {
                (number, base, written, isFinished) = (request.number, request.item, 0, false)
                (silence, waiting) = (0, [])
                hwd_sound_reset(output, base)
                decoder.seek(to: base)
            }
            guard number > 0 else {
                hwd_sound_wait(output, 1000)
                continue
            }
            if silence == 0, waiting.isEmpty, !isFinished {
                if let block = decoder.block() {
                    guard connect(block) else { return }
                    (silence, waiting) = Self.place(block, base, behind: written)
                    written += silence + Int64(waiting.count / block.channels.count)
                } else {
                    isFinished = true
                    hwd_sound_finish(output)
                    reportEnd()
                }
            }
            var isFull = isFinished
            if silence > 0 {
                let part = min(silence, 4096)
                let taken = Int64(write([Float](repeating: 0, count: Int(part) * channelCount)[...]))
                silence -= taken
                isFull = taken < part
            } else if !waiting.isEmpty {
                waiting = waiting.dropFirst(write(waiting) * channelCount)
                isFull = !waiting.isEmpty
            }
            let isBegun = isFull || written > 0
            content.withLock { content in
                guard isBegun, content.request?.number == number, let start = content.start else { return }
                hwd_sound_start(output, start.item, start.host)
                content.start = nil
            }
            reportSilence()
            if hwd_sound_is_lost(output) { return giveUp("PipeWire has ended the stream") }
            if isFull { hwd_sound_wait(output, 1000) }
        }
    }

    /// Opens the stream with the first block: only decoded frames say their rate and channels.
    /// - Returns: false where the sound has ended.
    private func connect(_ block: SoundBlock) -> Bool {
        let known = content.withLock { $0.format }
        if let known {
            guard known.rate == block.rate, known.channels == block.channels.count else {
                giveUp("its rate or its channels change")
                return false
            }
            return true
        }
        guard block.channels.count <= HWD_SOUND_CHANNELS, block.rate <= HWD_SOUND_RATE else {
            giveUp("\(block.channels.count) channels at \(block.rate) Hz are too many")
            return false
        }
        let name = FileName.printable(file.split(separator: "/").last.map(String.init) ?? file)
        let code = hwd_sound_connect(
            output, name, UInt32(block.rate), UInt32(block.channels.count), block.channels)
        guard code == 0 else {
            giveUp("PipeWire cannot be reached: \(String(cString: strerror(code)))")
            return false
        }
        content.withLock { $0.format = PlayReceipt.Sound(rate: block.rate, channels: block.channels.count) }
        return true
    }

    /// - Returns: the frames for which there was room.
    private func write(_ samples: ArraySlice<Float>) -> Int {
        samples.withUnsafeBufferPointer {
            Int(hwd_sound_write(output, $0.baseAddress, UInt32($0.count / channelCount)))
        }
    }

    private var channelCount: Int { content.withLock { $0.format?.channels } ?? 1 }

    /// The samples of a block that follow those that are written, and the frames of silence before them.
    private static func place(
        _ block: SoundBlock, _ base: Int64, behind written: Int64
    ) -> (silence: Int64, samples: ArraySlice<Float>) {
        let scaled = (Int128(block.item) - Int128(base)) * Int128(block.rate)
        let half: Int128 = scaled < 0 ? -500_000_000 : 500_000_000
        let late = Int128(written) - (scaled + half) / 1_000_000_000
        // Times are rounded in some files.
        if written > 0, late.magnitude <= block.rate.magnitude / 200 { return (0, block.samples[...]) }
        if late >= 0 {
            return (
                0,
                block.samples.dropFirst(Int(clamping: min(late, Int128(block.frameCount))) * block.channels.count)
            )
        }
        return (Int64(clamping: -late), block.samples[...])
    }

    private func reportEnd() {
        let (damaged, failure) = (decoder.damaged, decoder.failure)
        content.withLock { content in
            // A loop comes here each time.
            guard !content.hasReported else { return }
            content.hasReported = true
            if let failure { content.notes.append("warning: the sound of \(file) ends early: \(failure)") }
            if damaged > 0 {
                content.notes.append(
                    "warning: the sound of \(file) is damaged in \(damaged) places, which are silent")
            }
        }
    }

    /// Says it where no device takes what is played.
    private func reportSilence() {
        let now = Int64(clamping: MonotonicTime.now.nanoseconds)
        let wasHeard = hwd_sound_was_heard(output)
        content.withLock { content in
            guard !wasHeard, !content.hasReportedNoDevice, let due = content.due, now - due > Self.deviceTimeout
            else {
                return
            }
            content.hasReportedNoDevice = true
            content.notes.append("warning: \(file) is silent: PipeWire has no device that plays it")
        }
    }

    private func giveUp(_ reason: String) {
        hwd_sound_stop(output)
        content.withLock { $0.notes.append("warning: \(file) is silent: \(reason)") }
    }
}
