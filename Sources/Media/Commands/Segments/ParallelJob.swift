// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWDSystem
internal import HWDTransport

/// One run of `hwctl encode --parallel`: `hwctl encode --segment` in several processes, then `hwctl join`.
final class ParallelJob {
    private let request: EncodeJob.Request
    private let words: [OptionWord]
    private let count: Int
    private var running: [Task] = []

    /// How often a segment is tried whose process is killed.
    private static let maxTries = 3

    /// A segment's process.
    private struct Task {
        var segment: SegmentPlan.Segment
        var path: String
        var tries: Int
        var child: ChildProcess
    }

    /// - Parameter words: the options of the encoder.
    init(_ request: EncodeJob.Request, _ words: [OptionWord], count: Int) {
        (self.request, self.words, self.count) = (request, words, count)
    }

    func run(_ interruption: Interruption) throws {
        for name in [request.file.input, request.file.output] where FileName.bytes(name) != Array(name.utf8CString)
        {
            throw MediaError(.usage, "\(name): --parallel takes names in UTF-8 alone")
        }
        let reader = try MediaReader(path: request.file.input, options: SegmentScan.options)
        interruption.onSignal { reader.cancel() }
        let plan = try SegmentScan(reader).plan(count: count)
        // Before anything is encoded: what prevents writing the output is reported first.
        try MediaWriter(
            path: request.file.output, source: reader, edits: request.edits, replaces: request.replaces
        ).cancel()
        let daemon = try Daemon.findAndReport(requiresHardware: SessionRequest.requiresHardware)
        let folder: HiddenFolder
        do throws(AtomicFile.Failure) {
            folder = try HiddenFolder(beside: request.file.output)
        } catch { throw CommandFailure(.cannotCreate, error.reason) }
        defer { folder.remove() }
        defer { endAll() }
        let paths = plan.segments.map { folder.file("part-\($0.number).mov") }
        try encode(Array(zip(plan.segments, paths)), daemon, interruption)
        let join = JoinJob.Request(
            file: request.file, parts: paths, edits: request.edits, replaces: request.replaces,
            report: request.report, asked: request.asked)
        try JoinJob(join).run(interruption)
    }

    /// Runs a process for each segment, `count` at a time.
    private func encode(
        _ segments: [(SegmentPlan.Segment, String)], _ daemon: Daemon, _ interruption: Interruption
    ) throws {
        var waiting = segments.map { (segment: $0.0, path: $0.1, tries: 0) }[...]
        var pause = RetryPause()
        var (done, progress) = (0, Progress(total: segments.reduce(0) { $0 + $1.0.pictures }))
        defer { progress.clear() }
        while !waiting.isEmpty || !running.isEmpty {
            if interruption.isSet { throw CommandFailure.interrupted }
            while running.count < count, pause.isOver(), let next = waiting.popFirst() {
                let child = try start(next.segment, next.path, of: segments.count, daemon)
                running.append(
                    Task(segment: next.segment, path: next.path, tries: next.tries + 1, child: child))
            }
            guard let index = try ended() else { continue }
            let task = running.remove(at: index)
            switch try task.child.tryReap() {
            case .exited(0)?:
                pause.reset()
                done += task.segment.pictures
                progress.update(done: done)
            case .exited(ExitStatus.tryLater.rawValue)? where pause.begin(alone: running.isEmpty):
                waiting.append((task.segment, task.path, task.tries - 1))
            case .signaled? where task.tries < Self.maxTries:
                waiting.append((task.segment, task.path, task.tries))
            case let exit:
                throw failure(task, exit, of: segments.count)
            }
        }
    }

    private func start(
        _ segment: SegmentPlan.Segment, _ path: String, of count: Int, _ daemon: Daemon
    ) throws -> ChildProcess {
        let options = ["encode", "-q", "--no-progress", "-y", "--segment=\(segment.number)/\(count)"]
        return try ChildProcess(
            spawning: Program.path,
            arguments: options + words.map(\.description) + ["--", request.file.input, path],
            environment: ["HWDAEMON_SOCKET": daemon.address])
    }

    /// The index of a process that has ended; nil where none does within a tenth of a second.
    private func ended() throws -> Int? {
        let deadline = MonotonicTime.now + .milliseconds(100)
        if let index = try running.firstIndex(where: { try $0.child.tryReap() != nil }) { return index }
        guard let first = running.first else {
            // All segments wait for the end of a pause.
            usleep(100_000)
            return nil
        }
        _ = try first.child.wait(until: deadline)
        return try running.firstIndex { try $0.child.tryReap() != nil }
    }

    private func failure(_ task: Task, _ exit: ChildProcess.Exit?, of count: Int) -> CommandFailure {
        // Ctrl-C reaches all processes of a terminal.
        if exit == .exited(CommandFailure.interrupted.exitCode) { return .interrupted }
        let name = "segment \(task.segment.number) of \(count)"
        guard case .exited(let status)? = exit, let known = ExitStatus(rawValue: status) else {
            return CommandFailure(.tryLater, "\(name) failed: its process was \(exit?.description ?? "lost")")
        }
        return CommandFailure(known, "\(name) failed with status \(status)")
    }

    /// Ends the processes that still run.
    private func endAll() {
        for task in running { try? task.child.kill(SIGTERM) }
        let deadline = MonotonicTime.now + .seconds(3)
        for task in running where (try? task.child.wait(until: deadline)) == nil {
            try? task.child.kill(SIGKILL)
            _ = try? task.child.wait(until: MonotonicTime.now + .seconds(1))
        }
        running = []
    }
}
