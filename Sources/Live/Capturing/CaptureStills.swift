// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
package import HWClient
package import HWDControlCommands
internal import HWDLibAVWriting
internal import HWDModel
internal import HWDSystem
package import HWDTransport
internal import Synchronization

/// Stills beside a recording: copies of its frames, which threads of their own code while it continues.
///
/// A copy waits in a buffer until it is coded as HEIC. Where the buffer is full, one more is coded at once as JPEG, and further
/// ones are refused until that is done: the recording waits for none of them.
package final class CaptureStills: Sendable {
    /// A still, as the receipt has it.
    package struct Report: Encodable, Hashable, Sendable {
        /// nil where none was written.
        package var file: String?
        /// That of its frame, in seconds of the recording; nil before the first frame.
        package var time: Double?
        /// `heic` or `jpeg`.
        package var format: String?
        /// Why there is no file, or why it is a JPEG where HEIC is asked for.
        package var reason: String?

        enum CodingKeys: String, CodingKey {
            case file, format, reason
            case time = "time_s"
        }

        package init(file: String? = nil, time: Double?, format: String? = nil, reason: String? = nil) {
            (self.file, self.time, self.format, self.reason) = (file, time, format, reason)
        }
    }

    /// Where stills are written, and how many bytes wait.
    package struct Plan: Sendable {
        package var path: String
        package var replaces: Bool
        /// Bytes of copies that wait, beside the first; nil for about a second's frames.
        package var limit: Int?

        package init(path: String, replaces: Bool, limit: Int? = nil) {
            (self.path, self.replaces, self.limit) = (path, replaces, limit)
        }

        /// Whether all are JPEGs.
        package var isJPEG: Bool { CaptureArguments.jpegSuffixes.contains(where: path.lowercased().hasSuffix) }

        /// The name of a still: with its number before the suffix, which is that of its format.
        package func name(_ number: Int, isJPEG: Bool) -> String {
            let dot = path.lastIndex(of: ".") ?? path.endIndex
            let suffix = isJPEG && !self.isJPEG ? ".jpg" : String(path[dot...])
            let digits = String(number)
            return "\(path[..<dot])-\(String(repeating: "0", count: max(0, 3 - digits.count)))\(digits)\(suffix)"
        }

        /// Whether a still has a number already.
        fileprivate func exists(_ number: Int) -> Bool {
            [false, true].contains { access(FileName.bytes(name(number, isJPEG: $0)), F_OK) == 0 }
        }

        /// Refuses a folder where no still can be created, before anything is recorded.
        package func check() throws(CommandFailure) {
            let printable = FileName.printable(path)
            var status = stat()
            if stat(FileName.bytes(path), &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                throw CommandFailure(.cannotCreate, "--still \(printable) is a folder: it takes a file's name")
            }
            let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
            guard access(FileName.bytes(folder), W_OK | X_OK) == 0 else {
                throw CommandFailure(
                    .cannotCreate,
                    "--still \(printable): stills cannot be created there: \(String(cString: strerror(errno)))")
            }
        }
    }

    /// How pictures become files.
    package struct Coders: Sendable {
        package typealias Code =
            @Sendable (
                _ picture: CapturedPicture, _ exif: [UInt8], _ isCancelled: @escaping () -> Bool
            ) throws -> [UInt8]

        package var heic: Code
        package var jpeg: Code

        package init(heic: @escaping Code, jpeg: @escaping Code) { (self.heic, self.jpeg) = (heic, jpeg) }

        /// HEIC by sessions of a daemon.
        package init(_ daemon: Daemon) {
            self.init(
                heic: { try $0.heic(daemon, exif: $1, isCancelled: $2) },
                jpeg: { picture, exif, _ in
                    try picture.jpeg(exif: exif)
                })
        }
    }

    private struct Still: Sendable {
        /// Of its report; nil where there are too many.
        var index: Int?
        /// Why the buffer had no room for it; nil where it had.
        var full: String?
        /// Of its name.
        var number: Int
        /// Seconds of the recording.
        var time: Double
        var picture: CapturedPicture
        var exif: [UInt8]
    }

    /// Where a copy waits until it is coded.
    private enum Room { case buffer, direct }

    private struct State {
        /// In the order in which they were taken.
        var reports: [Report] = []
        /// The last name's.
        var number = 0
        /// Copies in the buffer, the one that is being coded included.
        var buffered = 0
        /// Their bytes.
        var bytes = 0
        /// Whether one is coded that the buffer had no room for.
        var isDirect = false
        var isCut = false
    }

    private let plan: Plan
    private let coders: Coders
    /// The most bytes in the buffer, which has one copy whatever its size is.
    private let limit: Int
    /// Reports at most.
    private let greatestReports: Int
    private let buffer = WorkQueue<Still>(capacity: CaptureStills.mostCopies)
    private let direct = WorkQueue<Still>(capacity: 1)
    private let state: Mutex<State>
    private let isGivenUp = Atomic<Bool>(false)
    private let threads = Mutex<[Thread]>([])

    /// The most copies that wait, and their bytes by default, even if a second has more frames.
    private static let (mostCopies, greatestBuffer) = (1024, 256_000_000)

    /// - Parameters:
    ///   - slotSize: bytes of a copy.
    ///   - rate: frames of a second.
    ///   - greatestReports: further stills are not in the receipt.
    package init(
        _ plan: Plan, _ coders: Coders, slotSize: Int, rate: Double, greatestReports: Int = 10_000
    ) throws(SystemError) {
        (self.plan, self.coders, self.greatestReports) = (plan, coders, greatestReports)
        limit = plan.limit ?? min(Self.greatestBuffer, Int(rate.rounded(.up)) * slotSize)
        var state = State()
        if !plan.replaces { while plan.exists(state.number + 1) { state.number += 1 } }
        self.state = Mutex(state)
        for room in [Room.buffer, .direct] {
            let thread = try Thread.spawn(name: "stills") { [self] in run(room) }
            threads.withLock { $0.append(thread) }
        }
    }

    /// What becomes of stills, in a line.
    package func summary(width: Int, height: Int, slotSize: Int) -> String {
        let capacity = min(Self.mostCopies, max(1, limit / max(1, slotSize)))
        let megabytes = DecimalText.text(Double(capacity * slotSize) / 1e6, 1)
        let rest = plan.isJPEG ? "one more is coded at once" : "one more becomes a JPEG"
        return
            "stills of \(width)x\(height) become \(plan.isJPEG ? "JPEG" : "HEIC") in the background: "
            + "\(Console.count(capacity, "frame")) (\(megabytes) MB) may wait, \(rest), and others are refused"
    }

    /// Takes a still of the newest recorded frame; returns at once.
    package func take(_ queue: CaptureQueue) {
        guard let (frame, taken) = queue.holdNewest() else { return refuse(nil, "no frame has come yet") }
        let stage = frame.stage
        defer { stage.pool.release(frame.slot) }
        let time = (Double(frame.time) / 1e6).rounded() / 1000
        let size = stage.copy.slotSize
        let (room, full) = reserve(size)
        guard let room else { return refuse(time, "\(full), and one more is being coded") }
        guard
            let picture = CapturedPicture(
                UnsafeRawBufferPointer(stage.pool.bytes(of: frame.slot)), stage.copy,
                CapturedPicture.color(of: stage.format, stage.copy.format))
        else {
            release(room, size)
            return refuse(time, "there is no memory for a copy")
        }
        let exif = CapturedPicture.exif(takenAt: Self.realTime(of: taken))
        let still = state.withLock { state in
            repeat { state.number += 1 } while !plan.replaces && plan.exists(state.number)
            return Still(
                index: add(Report(time: time), to: &state), full: room == .direct ? full : nil,
                number: state.number, time: time, picture: picture, exif: exif)
        }
        // There is room, which was reserved.
        _ = self.queue(room).push(still)
    }

    private func queue(_ room: Room) -> WorkQueue<Still> { room == .buffer ? buffer : direct }

    /// Nanoseconds of CLOCK_REALTIME at a time of CLOCK_MONOTONIC that has passed.
    private static func realTime(of time: UInt64) -> UInt64 {
        let now = MonotonicTime.now.nanoseconds
        var real = timespec()
        clock_gettime(CLOCK_REALTIME, &real)
        return UInt64(real.tv_sec) * 1_000_000_000 + UInt64(real.tv_nsec) - (now - min(now, time))
    }

    /// Adds a report, unless there are too many.
    private func add(_ report: Report, to state: inout State) -> Int? {
        guard state.reports.count < greatestReports else {
            state.isCut = true
            return nil
        }
        state.reports.append(report)
        return state.reports.count - 1
    }

    /// Room for a copy of some bytes: in the buffer, or for one that is coded at once; nil where there is none.
    /// - Returns: what the buffer has, for people, as well.
    private func reserve(_ size: Int) -> (Room?, full: String) {
        state.withLock { state in
            let count = state.buffered
            let full =
                "\(Console.count(count, "still")) \(count == 1 ? "waits" : "wait"), as many as the buffer holds"
            if count == 0 || count < Self.mostCopies && state.bytes + size <= limit {
                state.buffered += 1
                state.bytes += size
                return (.buffer, full)
            }
            guard !state.isDirect else { return (nil, full) }
            state.isDirect = true
            return (.direct, full)
        }
    }

    private func release(_ room: Room, _ size: Int) {
        state.withLock { state in
            switch room {
            case .buffer:
                state.buffered -= 1
                state.bytes -= size
            case .direct: state.isDirect = false
            }
        }
    }

    private func refuse(_ time: Double?, _ reason: String) {
        let report = Report(time: time, reason: reason)
        state.withLock { _ = add(report, to: &$0) }
        say(report)
    }

    private func run(_ room: Room) {
        // This thread converts samples, and codes JPEGs.
        try? ProcessControl.lowerPriority(by: 19)
        while case .element(let still) = queue(room).pop() {
            let report = code(still, room)
            if let index = still.index { state.withLock { $0.reports[index] = report } }
            say(report)
            release(room, still.picture.size)
        }
    }

    /// Writes the file of a still.
    private func code(_ still: Still, _ room: Room) -> Report {
        var report = Report(time: still.time)
        if !plan.isJPEG { report.reason = still.full }
        do {
            try checkCancellation()
            var bytes: [UInt8]?
            if !plan.isJPEG, room == .buffer {
                do { bytes = try coders.heic(still.picture, still.exif, { self.hasGivenUp }) } catch {
                    try checkCancellation()
                    report.reason = "no HEIC: \(error)"
                }
            }
            let isJPEG = bytes == nil
            let file = try bytes ?? coders.jpeg(still.picture, still.exif, { self.hasGivenUp })
            let path = plan.name(still.number, isJPEG: isJPEG)
            try WholeFile.write(file, to: path, replaces: plan.replaces)
            (report.file, report.format) = (path, isJPEG ? "jpeg" : "heic")
        } catch {
            let earlier = report.reason.map { "\($0); " } ?? ""
            report.reason = hasGivenUp ? "given up" : "\(earlier)\(error)"
        }
        return report
    }

    private func checkCancellation() throws(CommandFailure) { if hasGivenUp { throw .interrupted } }

    private func say(_ report: Report) {
        let time = report.time.map { " at \(DecimalText.text($0, 2)) s" } ?? ""
        switch (report.file, report.reason) {
        case (let file?, nil): Console.note("still\(time): \(FileName.printable(file))")
        case (let file?, let reason?):
            Console.note("warning: still\(time): \(FileName.printable(file)), a JPEG: \(reason)")
        // Their number was said once.
        case (nil, let reason): if !hasGivenUp { Console.note("warning: no still\(time): \(reason ?? "")") }
        }
    }

    /// Stills that are not written yet.
    package var pending: Int { state.withLock { $0.buffered + ($0.isDirect ? 1 : 0) } }

    /// Whether there were too many for `finish` to list.
    package var isCut: Bool { state.withLock { $0.isCut } }

    /// Whether those that are not written are given up.
    package var hasGivenUp: Bool { isGivenUp.load(ordering: .relaxed) }

    /// Gives up those that are not written.
    package func giveUp() { isGivenUp.store(true, ordering: .relaxed) }

    /// Waits until all are written or given up, and takes no more.
    package func finish() -> [Report] {
        buffer.close()
        direct.close()
        let started = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        for thread in started { thread.join() }
        return state.withLock { $0.reports }
    }
}
