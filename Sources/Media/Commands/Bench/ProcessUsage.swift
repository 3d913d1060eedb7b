// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// What a process has used so far, from proc(5).
struct ProcessUsage {
    /// CPU seconds of all its threads, ended ones included.
    var cpuSeconds: Double
    /// Peak resident memory in bytes.
    var peakMemory: Int

    /// Reads the usage of a process; nil when it is gone or hidden.
    init?(pid: Int32) {
        guard let stat = Self.read("/proc/\(pid)/stat"), let status = Self.read("/proc/\(pid)/status"),
            let close = stat.lastIndex(of: ")")
        else { return nil }
        // After the name comes field 3, the state; utime and stime are fields 14 and 15.
        let fields = stat[stat.index(after: close)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return nil }
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kibibytes = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        cpuSeconds = (user + system) / Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
        peakMemory = (kibibytes.flatMap { Int($0) } ?? 0) * 1024
    }

    /// CPU seconds of this process.
    static var ownCPUSeconds: Double {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return 0 }
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    private static func read(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        let count = Glibc.read(file, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}
