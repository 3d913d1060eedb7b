// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWClient
internal import HWDControlCommands
internal import HWDMediaFile
internal import HWDModel
internal import HWDSystem
internal import HWDTransport

/// One run of `hwctl encode --parallel`: `hwctl encode --segment` in several processes, then `hwctl join`.
final class ParallelJob {
    private let request: EncodeJob.Request
    private let words: [OptionWord]
    private let count: Int
    private var running: [Task] = []

    /// How often a segment is tried whose process asks for another try, or is killed.
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
        let daemon = try Daemon.findAndReport()
        let folder = try PartsFolder(beside: request.file.output)
        defer { folder.remove() }
        defer { endAll() }
        let paths = plan.segments.map { folder.path("part-\($0.number).mov") }
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
        var (done, progress) = (0, Progress(total: segments.reduce(0) { $0 + $1.0.pictures }))
        defer { progress.clear() }
        while !waiting.isEmpty || !running.isEmpty {
            if interruption.isSet { throw CommandFailure.interrupted }
            while running.count < count, let next = waiting.popFirst() {
                let child = try start(next.segment, next.path, of: segments.count, daemon)
                running.append(
                    Task(segment: next.segment, path: next.path, tries: next.tries + 1, child: child))
            }
            guard let index = try ended() else { continue }
            let task = running.remove(at: index)
            let exit = try task.child.wait()
            if exit == .exited(0) {
                done += task.segment.pictures
                progress.update(done: done)
            } else if task.tries < Self.maxTries, Self.mayTryAgain(exit) {
                waiting.append((task.segment, task.path, task.tries))
            } else {
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
        _ = try running.first?.child.wait(until: deadline)
        return try running.firstIndex { try $0.child.tryReap() != nil }
    }

    private static func mayTryAgain(_ exit: ChildProcess.Exit?) -> Bool {
        switch exit {
        case .exited(let status)?: status == ExitStatus.tryLater.rawValue
        case .signaled?: true
        case nil: false
        }
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

/// A hidden folder for parts, beside the output, which only its user can enter.
private struct PartsFolder {
    private let root: String

    /// - Throws: `cannotCreate`.
    init(beside output: String) throws(MediaError) {
        let name = output.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init) ?? ""
        let parent = String(output.dropLast(name.count))
        var template = FileName.bytes("\(parent).\(name.prefix(40)).parts-XXXXXX")
        guard mkdtemp(&template) != nil else {
            throw MediaError(
                .cannotCreate,
                "no folder for the parts of \(output) can be created: \(String(cString: strerror(errno)))")
        }
        root = FileName.string(template)
    }

    func path(_ name: String) -> String { "\(root)/\(name)" }

    func remove() {
        for name in (try? Directory.names(in: root)) ?? [] { unlink(FileName.bytes(path(name))) }
        rmdir(FileName.bytes(root))
    }
}
