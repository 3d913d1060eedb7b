// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc
public import HWDModel

/// A worker's counters in a sealed page: the worker writes, the broker reads while it runs and after it died.
///
/// Each counter is one atomic 64-bit word; a reading is not a consistent whole. To the broker they are numbers from
/// an untrusted process: for display and for the stall timer, never for sizes or offsets.
public final class StatsPage: Sendable {
    /// The counters, in the page's order.
    public enum Counter: Int, CaseIterable, Sendable {
        /// `Self.magic` once the worker has mapped the page.
        case magic
        /// Frames taken from the client.
        case framesIn
        /// Frames given to the client.
        case framesOut
        /// Packet bytes given to the client.
        case bytesOut
        /// Since when the codec has been working on one call, in monotonic nanoseconds; 0 when idle.
        case busySinceNs
        /// When progress was last made, in monotonic nanoseconds.
        case progressNs
        /// Since when the client has held all output slots, in monotonic nanoseconds; 0 when it does not.
        case slotsFullSinceNs
        /// Coded width in samples.
        case width
        /// Coded height in samples.
        case height
        /// What ended the session as a `Status` number (two's complement); 0 while it runs or ended well.
        case endStatus
    }

    /// Bytes of the page.
    public static let size = 4096
    /// What `Counter.magic` reads once a worker writes: "HWDSTAT1".
    public static let magic: UInt64 = 0x4857_4453_5441_5431

    private let memory: SharedMemory

    /// Makes a page for a worker to be started; its `fileDescriptor` goes to the worker.
    ///
    /// It is mapped read-only here.
    public init() throws(SystemError) {
        let file = try SharedMemory(creating: "hwdaemon-stats", size: Self.size).file.duplicate()
        do throws(SessionError) {
            memory = try SharedMemory(
                receiving: file, minSize: Self.size, maxSize: Self.size, access: .readOnly)
        } catch {
            throw SystemError(errno: ENOMEM, call: "mmap", subject: "hwdaemon-stats")
        }
    }

    /// Maps the page a worker was given and signs it with `magic`.
    ///
    /// - Throws: `Parameter` if it is not a sealed page of the right size.
    public init(receiving file: consuming OwnedFD) throws(SessionError) {
        memory = try SharedMemory(
            receiving: file, minSize: Self.size, maxSize: Self.size, access: .readWrite)
        set(.magic, Self.magic)
    }

    /// The page's memfd, valid as long as this object lives.
    public var fileDescriptor: Int32 { memory.file.rawValue }

    /// Reads a counter.
    public subscript(counter: Counter) -> UInt64 {
        guard let base = memory.bytes.baseAddress else { return 0 }
        return hwd_counter_load(base + counter.rawValue * 8)
    }

    /// Sets a counter; the worker's side only.
    public func set(_ counter: Counter, _ value: UInt64) {
        guard let base = memory.mutableBytes?.baseAddress else { return }
        hwd_counter_store(base + counter.rawValue * 8, value)
    }

    /// Adds to a counter; the worker's side only.
    public func add(_ counter: Counter, _ value: UInt64) {
        guard let base = memory.mutableBytes?.baseAddress else { return }
        hwd_counter_add(base + counter.rawValue * 8, value)
    }
}
