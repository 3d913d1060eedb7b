// SPDX-License-Identifier: MIT
internal import Glibc

/// The memory of the calling process, as the kernel counts it (/proc/PID/statm, proc(5)).
public final class ProcessMemory: Sendable {
    /// One reading, in bytes.
    public struct Reading: Hashable, Sendable {
        /// Private pages in memory (`RssAnon`).
        public var resident: UInt64
        /// Private writable memory, touched or not, which RLIMIT_DATA bounds (`VmData`).
        public var data: UInt64
    }

    private let file: OwnedFD
    private static let pageSize = UInt64(sysconf(Int32(_SC_PAGESIZE)))

    /// Opens the file before a sandbox forbids it.
    ///
    /// - Throws: `ENOENT` where /proc is not mounted.
    public init() throws(SystemError) {
        let number = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw SystemError(errno: errno, call: "open", subject: "/proc/self/statm") }
        file = OwnedFD(number)
    }

    /// The process's memory now, in a few microseconds; nil if it cannot be read.
    public var reading: Reading? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { buffer in
            let count = pread(file.rawValue, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return nil }
            return Self.parse(buffer.prefix(count))
        }
    }

    /// Parses `size resident shared text lib data dt`, in pages.
    static func parse(_ text: some Sequence<UInt8>) -> Reading? {
        var numbers: [UInt64] = []
        var number: UInt64?
        for byte in text {
            if 0x30...0x39 ~= byte {
                let (tens, overflow) = (number ?? 0).multipliedReportingOverflow(by: 10)
                guard !overflow else { return nil }
                number = tens &+ UInt64(byte - 0x30)
            } else if let done = number {
                numbers.append(done)
                number = nil
            }
        }
        if let number { numbers.append(number) }
        guard numbers.count >= 6, numbers.allSatisfy({ $0 < 1 << 40 }) else { return nil }
        return Reading(
            resident: (numbers[1] - min(numbers[1], numbers[2])) * pageSize, data: numbers[5] * pageSize)
    }
}
