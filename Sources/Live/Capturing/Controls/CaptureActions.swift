// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCaptureSound
internal import HWDControlCommands
internal import HWDModel
internal import HWDTransport

/// What controls do to a recording, for its thread.
final class CaptureActions {
    private let queue: any PausableQueue
    private let writer: CaptureWriter
    private let sound: CaptureSound?
    private let stills: CaptureStills?
    /// Whether `--last` keeps what a save writes.
    let canSave: Bool
    private(set) var marks: [CaptureReceipt.Mark] = []
    /// When all of what precedes a pause is coded, in nanoseconds of CLOCK_MONOTONIC; nil once it is written.
    private var flushTime: UInt64?
    /// Saves that wait for what precedes them to be coded: times of the recording in ticks, and of CLOCK_MONOTONIC.
    private var saves: [(time: Int64, due: UInt64)] = []

    /// Nanoseconds in which a frame and its sound are coded.
    private static let codingTime = CaptureSound.hold + 250_000_000
    private static let greatestSaves = 16
    /// Nanoseconds for which sound's pauses may precede their control.
    private static let greatestDelay: UInt64 = 400_000_000

    init(
        _ queue: any PausableQueue, _ writer: CaptureWriter, _ sound: CaptureSound?, _ stills: CaptureStills?,
        canSave: Bool
    ) {
        (self.queue, self.writer, self.sound) = (queue, writer, sound)
        (self.stills, self.canSave) = (stills, canSave)
    }

    /// Does what a control asks for.
    func perform(_ request: CaptureControls.Request) {
        switch request.control {
        case .pause: pause(at: request.time)
        case .resume: resume()
        case .toggle: if queue.isPaused { resume() } else { pause(at: request.time) }
        case .mark(let title): mark(title, at: request.time)
        case .save: save(at: request.time)
        case .still: takeStill()
        case .stop: break
        }
    }

    /// Does what was asked for while the last frames were coded, as at the recording's end.
    func performLast(_ requests: [CaptureControls.Request], end: UInt64) {
        for request in requests {
            switch request.control {
            case .mark, .save, .still:
                perform(CaptureControls.Request(control: request.control, time: min(request.time, end)))
            case .pause, .resume, .toggle:
                Console.note("warning: a pause is ignored: the recording ends")
            case .stop: break
            }
        }
    }

    /// Does what controls have left for later.
    func step(at now: UInt64) {
        while let save = saves.first, now >= save.due {
            saves.removeFirst()
            writer.save(at: save.time)
        }
        guard let time = flushTime, now >= time else { return }
        flushTime = nil
        writer.flush()
    }

    /// Does what controls have left, once all is coded.
    func finish() { step(at: .max) }

    private func takeStill() {
        guard let stills, let queue = queue as? CaptureQueue else {
            return Console.note("warning: no still is taken: --still names the files")
        }
        stills.take(queue)
    }

    private func pause(at time: UInt64) {
        let now = MonotonicTime.now.nanoseconds
        guard let begin = queue.pause(at: max(time, now - min(now, Self.greatestDelay))) else {
            return Console.note(
                queue.isPaused
                    ? "warning: the recording is paused already"
                    : "warning: the recording has had \(CapturePauses.greatestCount) pauses, and is not paused again"
            )
        }
        sound?.track.pause(at: begin)
        // A pause may last, and what precedes it is not to be lost.
        flushTime = begin + Self.codingTime
        Console.file("paused at \(seconds(at: begin)) s")
    }

    private func resume() {
        // Frames that have come since it was asked for are left out already.
        guard let end = queue.resume(at: MonotonicTime.now.nanoseconds) else {
            return Console.note("warning: the recording is not paused")
        }
        sound?.track.resume(at: end)
        flushTime = nil
        Console.file("resumed at \(seconds(at: end)) s")
    }

    private func mark(_ title: String?, at time: UInt64) {
        guard marks.count < CaptureMarks.greatestCount else {
            return Console.note(
                "warning: the recording has \(CaptureMarks.greatestCount) chapters, and gets no more")
        }
        let title = title ?? "Chapter \(marks.count + 1)"
        let elapsed = queue.elapsed(at: time)
        writer.mark(title, at: CaptureFiles.ticks(elapsed))
        marks.append(
            CaptureReceipt.Mark(time: Double(elapsed / 1_000_000) / 1000, title: title))
        Console.file("\(title) at \(seconds(at: time)) s")
    }

    private func save(at time: UInt64) {
        guard canSave else {
            return Console.note("warning: there is nothing to save: --last TIME keeps what a save writes")
        }
        guard saves.count < Self.greatestSaves else {
            return Console.note("warning: \(saves.count) saves wait: this one is ignored")
        }
        saves.append((CaptureFiles.ticks(queue.elapsed(at: time)), time + Self.codingTime))
    }

    /// The time of the recording, for people.
    private func seconds(at clock: UInt64) -> String {
        DecimalText.text(Double(queue.elapsed(at: clock)) / 1e9, 1)
    }
}
