// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc
public import HWDModel

/// A worker's counters in a sealed page: the worker writes, the broker reads while it runs and after it has died.
///
/// Each counter is one atomic 64-bit word; several reads are not a consistent snapshot. The worker is not trusted: the
/// broker uses the values for display and for the stall timer, never as sizes or offsets.
public final class StatsPage: Sendable {
    /// The counters, in the page's order.
    public enum Counter: Int, CaseIterable, Sendable {
        /// `Self.magic` once the worker has mapped the page.
        case magic
        /// Frames received from the client.
        case framesIn
        /// Frames sent to the client.
        case framesOut
        /// Packet bytes sent to the client.
        case bytesOut
        /// The start of the codec call in progress, in monotonic nanoseconds; 0 when idle.
        case busySinceNs
        /// The time of the last progress, in monotonic nanoseconds.
        case progressNs
        /// The time from which the client has held all output slots, in monotonic nanoseconds; 0 if it does not.
        case slotsFullSinceNs
        /// Coded width in samples.
        case width
        /// Coded height in samples.
        case height
        /// The session's final `Status` number (two's complement); 0 while it runs or if it ended without error.
        case endStatus
        /// When the I/O thread last waited for events, in monotonic nanoseconds; 0 until the session exists.
        case heartbeatNs
        /// The number plus one of the first system call that the sandbox forbade; 0 while there is none.
        case forbiddenCall
        /// How many system calls the sandbox forbade.
        case forbiddenCalls
        /// Bytes of memory that the session takes: private, arenas and pools.
        case memoryBytes
        /// The most bytes of private memory, touched or not, that the process was found to have.
        case privateBytes
    }

    /// The longest time between two heartbeats of a worker whose I/O thread is idle.
    public static let heartbeatInterval = Duration.seconds(1)
    /// Bytes of the page.
    public static let size = 4096
    /// The value of `Counter.magic` once a worker has mapped the page: "HWDSTAT1".
    public static let magic: UInt64 = 0x4857_4453_5441_5431

    private let memory: SharedMemory

    /// Creates the page of a worker that is about to start and maps it read-only.
    ///
    /// The worker receives `fileDescriptor`.
    public init() throws(SystemError) {
        let file = try SharedMemory(creating: "hwdaemon-stats", size: Self.size).file.duplicate()
        do throws(SessionError) {
            memory = try SharedMemory(
                receiving: file, minSize: Self.size, maxSize: Self.size, access: .readOnly)
        } catch {
            throw SystemError(errno: ENOMEM, call: "mmap", subject: "hwdaemon-stats")
        }
    }

    /// Maps the page in the worker and sets `Counter.magic`.
    ///
    /// - Throws: `Parameter` if it is not a sealed page of the right size.
    public init(receiving file: consuming OwnedFD) throws(SessionError) {
        memory = try SharedMemory(
            receiving: file, minSize: Self.size, maxSize: Self.size, access: .readWrite)
        set(.magic, Self.magic)
    }

    /// The page's memfd; valid as long as this object exists.
    public var fileDescriptor: Int32 { memory.file.rawValue }

    /// Reads a counter.
    public subscript(counter: Counter) -> UInt64 {
        guard let base = memory.bytes.baseAddress else { return 0 }
        return chwd_counter_load(base + counter.rawValue * 8)
    }

    /// Sets a counter; without effect in the broker.
    public func set(_ counter: Counter, _ value: UInt64) {
        guard let base = memory.mutableBytes?.baseAddress else { return }
        chwd_counter_store(base + counter.rawValue * 8, value)
    }

    /// Adds to a counter; without effect in the broker.
    public func add(_ counter: Counter, _ value: UInt64) {
        guard let base = memory.mutableBytes?.baseAddress else { return }
        chwd_counter_add(base + counter.rawValue * 8, value)
    }

    /// Records each system call that a filter forbids, from now on; the page stays mapped until the process ends.
    func recordForbiddenCalls() throws(SystemError) {
        guard let base = memory.mutableBytes?.baseAddress else { return }
        try syscall("sigaction(SIGSYS)") {
            chwd_install_trap_handler(
                base + Counter.forbiddenCall.rawValue * 8, base + Counter.forbiddenCalls.rawValue * 8)
        }
        _ = Unmanaged.passRetained(self)
    }
}
