// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDTransport
public import HWMovies
internal import Synchronization

/// Coded sound of a recording, whose packets the app sends, each when it has it.
///
/// Any thread may send, one at a time, and nothing waits. Packets follow one another without a gap where their times say so within
/// half a packet, since clocks of sound and of CLOCK_MONOTONIC differ; what is further away is placed at its own time, and one that would
/// overlap the packet before is dropped. A feed is for one session at a time.
public final class CaptureSoundFeed: Sendable {
    /// The track that each file gets.
    public let settings: SoundTrackSettings

    private struct Packet {
        var bytes: [UInt8]
        var duration: Int64
        var time: UInt64
    }

    private struct State {
        var isRunning = false
        var waiting: [Packet] = []
        var pauses = CapturePauses()
        /// When the recording began, in nanoseconds of CLOCK_MONOTONIC.
        var origin: UInt64?
        /// Where what was written ends, in ticks.
        var end: Int64?
        var counts = CaptureSession.Sound()
    }

    private let state = Mutex(State())

    /// Packets that wait for the recording's first frame: older ones are heard before it.
    private static let maxHistory = 256
    private static let maxQueue = 8192
    /// Nanoseconds that the last packet may come behind the last frame.
    private static let longestDelay: UInt64 = 500_000_000

    /// - Parameter settings: with the sample entry of the packets, such as that of a movie that the encoder would write.
    public init(_ settings: SoundTrackSettings) { self.settings = settings }

    /// Sends a packet.
    ///
    /// - Parameters:
    ///   - bytes: as a sample of the movie: of AAC without an ADTS header.
    ///   - duration: in ticks of `settings`, above 0.
    ///   - time: when its first sample is heard, in nanoseconds of CLOCK_MONOTONIC; an encoder's priming is heard before. One more
    ///     than a second ahead or five seconds behind cannot be true: the packet is heard when it is sent.
    /// - Returns: false where no session takes packets: before it has begun, after its end, and for a duration that is not above 0.
    @discardableResult
    public func send(_ bytes: [UInt8], duration: Int, at time: UInt64) -> Bool {
        send(bytes, duration: duration, at: time, arrival: MonotonicTime.now.nanoseconds)
    }

    /// Sends a packet that arrives at a time of CLOCK_MONOTONIC, in nanoseconds.
    func send(_ bytes: [UInt8], duration: Int, at stated: UInt64, arrival: UInt64) -> Bool {
        let time = CaptureQueue.plausible(stated, arrival)
        return state.withLock { state in
            guard state.isRunning, (1..<1 << 31).contains(duration) else { return false }
            if state.origin == nil, state.waiting.count == Self.maxHistory { state.waiting.removeFirst() }
            guard state.waiting.count < Self.maxQueue else {
                state.counts.dropped += 1
                return true
            }
            state.waiting.append(Packet(bytes: bytes, duration: Int64(duration), time: time))
            return true
        }
    }

    /// What became of the packets.
    var counts: CaptureSession.Sound { state.withLock { $0.counts } }

    private func ticks(_ nanoseconds: UInt64) -> Int64 {
        Int64((Double(nanoseconds) * Double(settings.timeScale) / 1e9).rounded())
    }
}

extension CaptureSoundFeed: RecordedSound {
    package func start() throws(CaptureError) {
        try state.withLock { state throws(CaptureError) in
            guard !state.isRunning else {
                throw CaptureError(.format, "another recording that has not ended has this feed of sound")
            }
            state = State()
            state.isRunning = true
        }
    }

    package func stop() { state.withLock { $0.isRunning = false } }

    package func pause(at time: UInt64) { state.withLock { _ = $0.pauses.pause(at: time) } }

    package func resume(at time: UInt64) { state.withLock { _ = $0.pauses.resume(at: time) } }

    package func write(from origin: UInt64, to writer: CaptureWriter) {
        writer.append(packets(from: origin, until: .max))
    }

    package func end(from origin: UInt64, at end: UInt64, to writer: CaptureWriter) {
        let last = state.withLock { ticks($0.pauses.time(at: end, from: origin)) }
        while true {
            let now = MonotonicTime.now.nanoseconds
            writer.append(packets(from: origin, until: last))
            let reached = state.withLock { $0.end }
            guard reached ?? .min < last, now < end + Self.longestDelay else {
                stop()
                if let reached { writer.endSound(at: max(0, min(reached, last))) }
                return
            }
            usleep(10_000)
        }
    }

    /// Those that have come, with their times in the recording.
    /// - Parameter last: leaves out those that begin later, in ticks.
    func packets(from origin: UInt64, until last: Int64) -> [WrittenPacket] {
        state.withLock { state in
            state.origin = origin
            let waiting = state.waiting
            state.waiting = []
            return waiting.compactMap { packet in
                guard !state.pauses.contains(packet.time) else { return nil }
                var time =
                    packet.time < origin
                    ? -ticks(origin - packet.time) : ticks(state.pauses.time(at: packet.time, from: origin))
                // A decoder needs the packet before that of the first frame.
                guard time + 2 * packet.duration > 0, time < last else { return nil }
                let gap = time - (state.end ?? min(0, time))
                guard gap >= -packet.duration / 2 else {
                    state.counts.dropped += 1
                    return nil
                }
                if gap > packet.duration / 2 {
                    state.counts.silence += Double(gap) / Double(settings.timeScale)
                } else if let end = state.end {
                    time = end
                }
                state.end = time + packet.duration
                state.counts.packets += 1
                return WrittenPacket(bytes: packet.bytes, time: time, duration: packet.duration)
            }
        }
    }
}
