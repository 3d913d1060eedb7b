// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDControlCommands
internal import HWDModel
internal import HWDSystem
package import HWDTransport
package import HWMovies
internal import Synchronization

/// Keeps the last seconds of a recording, and writes them into a file at each save.
///
/// A thread of its own writes, so that the recording does not wait for the disk.
package final class CaptureSaver: CaptureOutput, @unchecked Sendable {
    /// A file that could not be written.
    package struct Fault: Encodable, Sendable {
        /// When it was asked for, in seconds of the recording.
        package var time: Double
        package var reason: String

        enum CodingKeys: String, CodingKey {
            case reason
            case time = "time_s"
        }
    }

    /// What was written.
    private struct State {
        var reports: [CaptureFiles.Report] = []
        var faults: [Fault] = []
        /// The first fault.
        var failure: CommandFailure?
        /// The number of the last file.
        var number = 0
    }

    private let plan: CaptureFiles.Plan
    /// For the thread that records.
    private var ring: CaptureRing
    private var hasWarned = false
    private let work = WorkQueue<CaptureRing.Content>(capacity: 4)
    private let state = Mutex(State())
    private let thread = Mutex<Thread?>(nil)

    /// Bytes that are kept at most, where `--max-size` says no other number.
    package static let maxSize: UInt64 = 1_000_000_000

    /// - Parameters:
    ///   - plan: its greatest size is that of what is kept.
    ///   - duration: what is kept, in ticks.
    package init(_ plan: CaptureFiles.Plan, duration: Int64) throws(SystemError) {
        ring = CaptureRing(
            duration: duration, maxSize: Int(clamping: plan.maxSize ?? Self.maxSize),
            soundScale: plan.sound?.timeScale)
        self.plan = plan
        let started = try Thread.spawn(name: "saver") { [self] in run() }
        thread.withLock { $0 = started }
    }

    package var reports: [CaptureFiles.Report] { state.withLock { $0.reports } }
    package var faults: [Fault] { state.withLock { $0.faults } }
    /// Why the first file that could not be written was not.
    package var failure: CommandFailure? { state.withLock { $0.failure } }
    package var frames: Int { ring.frames }
    package var longestGap: Int64 { ring.longestGap }

    package func configure(_ configuration: CaptureFiles.Configuration) { ring.configure(configuration) }

    package func append(_ packet: CaptureFiles.Packet) -> Bool {
        ring.append(packet)
        warn()
        return true
    }

    package func append(sound packet: WrittenPacket) -> Bool {
        ring.append(sound: packet)
        warn()
        return true
    }

    private func warn() {
        guard ring.isShort, !hasWarned else { return }
        hasWarned = true
        Console.note("warning: the last seconds have too many bytes: fewer of them are kept; --max-size keeps more")
    }

    package func mark(_ title: String, at time: Int64) { ring.mark(title, at: time) }

    package func save(at time: Int64) {
        guard let content = ring.content(until: time) else {
            return fail(CommandFailure(.unavailable, "there is nothing to save yet"), at: time)
        }
        guard work.push(content) else {
            return fail(
                CommandFailure(.ioError, "the disk is too slow: \(work.capacity) files wait for it"), at: time)
        }
    }

    package func flush() {}

    /// Waits until all files are written.
    package func finish(soundEnd: Int64?) {
        work.close()
        let started = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        started?.join()
    }

    private func fail(_ failure: CommandFailure, at time: Int64) {
        Console.note("warning: \(failure.reason); the recording continues")
        state.withLock { state in
            state.faults.append(Fault(time: Self.seconds(time), reason: failure.reason))
            state.failure = state.failure ?? failure
        }
    }

    private func run() {
        var plan = plan
        plan.maxSize = nil
        while true {
            switch work.pop() {
            case .closed: return
            case .timedOut: continue
            case .element(let content): write(content, plan)
            }
        }
    }

    private func write(_ content: CaptureRing.Content, _ plan: CaptureFiles.Plan) {
        var files = CaptureFiles(plan, after: state.withLock { $0.number })
        var failure: CommandFailure?
        do throws(CaptureError) {
            try content.write(to: &files, soundScale: plan.sound?.timeScale)
        } catch {
            failure = CommandFailure(error)
            try? files.finish(soundEnd: nil)
        }
        for var report in files.reports {
            report.begin = Self.seconds(content.begin)
            Console.file("\(FileName.printable(report.file)): the last \(DecimalText.text(report.duration, 1)) s")
            state.withLock { $0.reports.append(report) }
        }
        state.withLock { $0.number = files.number }
        if let failure { fail(failure, at: content.end) }
    }

    private static func seconds(_ ticks: Int64) -> Double {
        (Double(ticks) / Double(CaptureFiles.timeScale) * 1000).rounded() / 1000
    }
}
