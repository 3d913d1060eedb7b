// SPDX-License-Identifier: MIT
package import HWDTransport
package import HWMovies
internal import Synchronization

/// A thread that writes packets to files, so that the session never waits for the disk.
package final class CaptureWriter: Sendable {
    private enum Message: Sendable {
        case configuration(CaptureFiles.Configuration)
        case packet(CaptureFiles.Packet)
        case sound([WrittenPacket])
        case soundEnd(Int64)
        case flush
        case mark(String, Int64)
        case save(Int64)
    }

    /// What was written.
    package struct Result: Sendable {
        package var reports: [CaptureFiles.Report] = []
        package var frames = 0
        /// Seconds between the two frames that are furthest apart.
        package var longestGap = 0.0
        /// Why nothing more is written.
        package var failure: CaptureError?
        /// Whether the file has no room for more.
        package var isFull = false
    }

    private let messages = WorkQueue<Message>(capacity: 8192)
    private let waiting = Atomic<Int>(0)
    /// Where the recording's sound ends, in samples; negative where it is not known.
    private let soundEnd = Atomic<Int64>(-1)
    private let result = Mutex(Result())
    private let wake: EventFD
    private let thread = Mutex<Thread?>(nil)

    /// Bytes of packets that wait for the disk at most, beside one packet.
    private static let greatestBacklog = 64 << 20

    /// - Parameters:
    ///   - saver: what takes the packets in the place of the plan's files.
    ///   - wake: signaled when nothing more is written.
    package init(
        _ plan: CaptureFiles.Plan, saver: (any CaptureOutput & Sendable)? = nil, wake: EventFD
    ) throws(SystemError) {
        self.wake = wake
        let started = try Thread.spawn(name: "writer") { [self] in
            if let saver { run(saver) } else { run(CaptureFiles(plan)) }
        }
        thread.withLock { $0 = started }
    }

    /// Whether more can be given: else the frames wait before they are coded.
    package var isReady: Bool { waiting.load(ordering: .relaxed) < Self.greatestBacklog && hasSpareRoom }

    /// Whether there is more room than what cannot wait takes, such as sound.
    private var hasSpareRoom: Bool { messages.count < messages.capacity - 64 }

    package var state: Result { result.withLock { $0 } }

    package func configure(_ configuration: CaptureFiles.Configuration) { push(.configuration(configuration)) }

    package func append(_ packet: CaptureFiles.Packet) {
        waiting.add(packet.bytes.count, ordering: .relaxed)
        push(.packet(packet))
    }

    /// Writes packets of sound, with the times of the recording in samples.
    package func append(_ sound: [WrittenPacket]) {
        guard !sound.isEmpty else { return }
        waiting.add(sound.reduce(0) { $0 + $1.bytes.count }, ordering: .relaxed)
        // Sound does not stop while the disk is behind: so there is one message of it at most behind the last packet.
        push(.sound(sound)) { newest in
            guard case .sound(let earlier) = newest else { return false }
            newest = .sound(earlier + sound)
            return true
        }
    }

    /// States where the recording's sound ends, in samples.
    package func endSound(at time: Int64) { push(.soundEnd(time)) }

    /// Begins a chapter at a time of the recording, in ticks.
    /// - Returns: false while the disk is too far behind, and after `finish`.
    package func mark(_ title: String, at time: Int64) -> Bool { hasSpareRoom && messages.push(.mark(title, time)) }

    /// Saves what is kept up to a time of the recording, in ticks.
    package func save(at time: Int64) { push(.save(time)) }

    /// Writes all that was given, where nothing may follow for a while.
    package func flush() { push(.flush) }

    private func push(_ message: Message, merge: (inout Message) -> Bool = { _ in false }) {
        guard !messages.push(message, merge: merge) else { return }
        fail(CaptureError(.file(.io), "the disk is too slow: what was recorded waits, and has no room"))
    }

    /// Writes all that was given, and finishes the file.
    package func finish() -> Result {
        messages.close()
        let started = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        started?.join()
        return state
    }

    private func run(_ output: any CaptureOutput) {
        var files = output
        loop: while true {
            switch messages.pop() {
            case .closed: break loop
            case .timedOut: continue
            case .element(let message): take(message, &files)
            }
        }
        let end = soundEnd.load(ordering: .relaxed)
        do throws(CaptureError) { try files.finish(soundEnd: end < 0 ? nil : end) } catch { fail(error) }
        result.withLock { result in
            (result.reports, result.frames) = (files.reports, files.frames)
            result.longestGap = Double(files.longestGap) / Double(CaptureFiles.timeScale)
        }
    }

    private func take(_ message: Message, _ files: inout any CaptureOutput) {
        switch message {
        case .packet(let packet): waiting.subtract(packet.bytes.count, ordering: .relaxed)
        case .sound(let packets):
            waiting.subtract(packets.reduce(0) { $0 + $1.bytes.count }, ordering: .relaxed)
        case .configuration, .soundEnd, .flush, .mark, .save: break
        }
        guard result.withLock({ $0.failure == nil && !$0.isFull }) else { return }
        do throws(CaptureError) {
            switch message {
            case .configuration(let configuration): try files.configure(configuration)
            case .packet(let packet): try note(files.append(packet))
            case .sound(let packets): for packet in packets { try note(files.append(sound: packet)) }
            case .soundEnd(let time): soundEnd.store(time, ordering: .relaxed)
            case .flush: try files.flush()
            case .mark(let title, let time): files.mark(title, at: time)
            case .save(let time): files.save(at: time)
            }
        } catch { fail(error) }
    }

    private func note(_ hasRoom: Bool) {
        guard !hasRoom else { return }
        result.withLock { $0.isFull = true }
        wake.signal()
    }

    private func fail(_ failure: CaptureError) {
        result.withLock { if $0.failure == nil { $0.failure = failure } }
        wake.signal()
    }
}
