// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDModel
internal import HWDTransport

/// What controls do to a recording, for its thread.
final class CaptureActions {
    /// Pauses and chapters.
    let timeline: CaptureTimeline
    private let queue: any PausableQueue
    private let writer: CaptureWriter
    private let stills: CaptureStills?
    /// Whether `--last` keeps what a save writes.
    let canSave: Bool
    /// Saves that wait for what precedes them to be coded: times of the recording in ticks, and of CLOCK_MONOTONIC.
    private var saves: [(time: Int64, due: UInt64)] = []

    private static let greatestSaves = 16
    /// Nanoseconds for which sound's pauses may precede their control.
    private static let greatestDelay: UInt64 = 400_000_000

    init(
        _ queue: any PausableQueue, _ writer: CaptureWriter, _ sound: CaptureSound?, _ stills: CaptureStills?,
        canSave: Bool
    ) {
        timeline = CaptureTimeline(queue, writer, sound)
        (self.queue, self.writer) = (queue, writer)
        (self.stills, self.canSave) = (stills, canSave)
    }

    /// Does what a control asks for.
    func perform(_ request: CaptureControls.Request) {
        switch request.control {
        case .pause: pause(at: request.time)
        case .resume: resume()
        case .toggle: if timeline.isPaused { resume() } else { pause(at: request.time) }
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
        timeline.step(at: now)
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
        guard let begin = timeline.pause(at: max(time, now - min(now, Self.greatestDelay))) else {
            return Console.note(
                timeline.isPaused
                    ? "warning: the recording is paused already"
                    : "warning: the recording has had \(CapturePauses.greatestCount) pauses, and is not paused again"
            )
        }
        Console.file("paused at \(seconds(at: begin)) s")
    }

    private func resume() {
        guard let end = timeline.resume() else {
            return Console.note("warning: the recording is not paused")
        }
        Console.file("resumed at \(seconds(at: end)) s")
    }

    private func mark(_ title: String?, at time: UInt64) {
        guard let mark = timeline.mark(title, at: time) else {
            return Console.note(
                timeline.marks.count < CaptureMarks.greatestCount
                    ? "warning: no chapter begins: the disk is too slow"
                    : "warning: the recording has \(CaptureMarks.greatestCount) chapters, and gets no more")
        }
        Console.file("\(mark.title) at \(seconds(at: time)) s")
    }

    private func save(at time: UInt64) {
        guard canSave else {
            return Console.note("warning: there is nothing to save: --last TIME keeps what a save writes")
        }
        guard saves.count < Self.greatestSaves else {
            return Console.note("warning: \(saves.count) saves wait: this one is ignored")
        }
        saves.append((CaptureFiles.ticks(queue.elapsed(at: time)), time + CaptureTimeline.codingTime))
    }

    /// The time of the recording, for people.
    private func seconds(at clock: UInt64) -> String {
        DecimalText.text(Double(queue.elapsed(at: clock)) / 1e9, 1)
    }
}
