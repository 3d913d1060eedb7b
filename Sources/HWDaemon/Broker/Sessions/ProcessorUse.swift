// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDSystem

/// The processor time and the waits of a process's threads up to one moment (/proc/PID/task, proc(5)).
struct ProcessorUse: Equatable {
    /// One thread.
    struct Thread: Equatable {
        /// Nanoseconds that it ran.
        var ran: UInt64 = 0
        /// Nanoseconds that it waited for a processor; the kernel adds a wait when it ends.
        var waited: UInt64 = 0
        /// Whether it runs or waits for a processor at this moment.
        var isRunnable = false
    }

    /// By thread number.
    var threads: [Int32: Thread]

    /// More threads than a codec has, so that no process makes a reading expensive.
    private static let maxThreads = 256

    init(threads: [Int32: Thread]) { self.threads = threads }

    /// Reads the use of a process up to now.
    ///
    /// - Returns: nil where that cannot be read: /proc hides processes that are not dumpable (hidepid), or the kernel
    ///   counts no waits.
    init?(of pid: Int32) {
        let folder = "/proc/\(pid)/task"
        threads = [:]
        for name in (try? Directory.names(in: folder, limit: Self.maxThreads)) ?? [] {
            guard let number = Int32(name),
                let times = try? BoundedFile.read("\(folder)/\(name)/schedstat", limit: 256),
                let status = try? BoundedFile.read("\(folder)/\(name)/stat", limit: 4096),
                let thread = Thread(schedstat: times, stat: status)
            else { continue }
            threads[number] = thread
        }
        if threads.isEmpty { return nil }
    }

    /// How much of the `elapsed` nanoseconds since an earlier reading the process was starved: it wanted a processor
    /// and had none.
    ///
    /// Threads wait for each other, so the waits of all of them count together. A process that had as much processor
    /// time as elapsed was not starved, however many of its threads waited.
    func starvation(since earlier: ProcessorUse, elapsed: UInt64) -> UInt64 {
        var (ran, waited) = (UInt64(0), UInt64(0))
        for (number, thread) in threads {
            let before = earlier.threads[number] ?? Thread()
            let (runs, waits) = (
                thread.ran - min(thread.ran, before.ran), thread.waited - min(thread.waited, before.waited)
            )
            let waitsStill = runs == 0 && waits == 0 && before.isRunnable && thread.isRunnable
            ran = ran.saturatingSum(runs)
            waited = waited.saturatingSum(waitsStill ? elapsed : waits)
        }
        return min(waited, elapsed - min(elapsed, ran))
    }
}

extension ProcessorUse.Thread {
    /// Parses the contents of a thread's `schedstat` (`ran waited slices`) and `stat` (`number (name) state …`); nil
    /// where the kernel counts nothing (`0 0 0`).
    init?(schedstat: [UInt8], stat: [UInt8]) {
        let numbers = String(decoding: schedstat, as: UTF8.self).split(separator: " ").prefix(2).map { UInt64($0) }
        // The name may hold parentheses.
        guard numbers.count == 2, let ran = numbers[0], let waited = numbers[1], ran > 0,
            let end = stat.lastIndex(of: UInt8(ascii: ")")), stat.count > end + 2
        else { return nil }
        self.init(ran: ran, waited: waited, isRunnable: stat[end + 2] == UInt8(ascii: "R"))
    }
}

/// Measures the time in which a process that makes no progress could have made some.
///
/// Starved is not stuck: what other sessions do must end no session, so time in which a process waits for a processor
/// does not count. All other time does: a process that is stopped, sleeps or waits for a device waits for no processor,
/// and one that spins uses processor time. A measurement reads two small files for each thread, so a rule asks for one
/// only when half of its limit has passed; where it cannot be had, all time counts.
struct StallClock {
    /// The most nanoseconds that count between two measurements, so that a broker that was suspended itself finds no
    /// process stuck: twice the longest interval of checks.
    static let maxStep: UInt64 = 2_000_000_000

    private var last: (time: UInt64, use: ProcessorUse?)?

    /// The nanoseconds that count since the previous call; nil until there has been a measurement, and for the first one.
    ///
    /// Time before and after a call without a measurement counts in full.
    mutating func advance(to now: UInt64, _ use: ProcessorUse?) -> UInt64? {
        guard let before = last else {
            last = use.map { (now, $0) }
            return nil
        }
        last = (now, use)
        let elapsed = now - min(now, before.time)
        guard let use, let earlier = before.use else { return min(elapsed, Self.maxStep) }
        return min(elapsed - use.starvation(since: earlier, elapsed: elapsed), Self.maxStep)
    }

    /// Forgets the previous measurement, because there was progress.
    mutating func reset() { last = nil }
}
