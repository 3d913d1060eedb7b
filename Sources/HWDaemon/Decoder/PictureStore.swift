// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDLibAV
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import HWDWorker
internal import Synchronization

/// The memory of decoded pictures: arenas of equal slots that the decoder writes and the client can only read.
///
/// A format that needs larger slots gets a new arena; the previous one is retired when its last slot is free. The
/// lowest free slot is used first, so that only as much memory is touched as is in use at once.
final class PictureStore: PictureMemory {
    /// Pictures that a decoder may hold besides the client's: references (H.265 A.4.2) and those of its threads.
    private static let heldByDecoder = 17 + PropertyTable.maxDecoderThreads + 1 + 2

    /// What pictures are in the store.
    enum Contents {
        /// The decoder's.
        case decoded
        /// Converted ones, of another format.
        case converted
    }

    /// A change of arenas to announce to the client, in order.
    enum Change {
        case added(UInt32, SharedMemory)
        case removed(UInt32)
    }

    private struct Arena {
        var memory: SharedMemory
        var slotSize: Int
        var isTaken: [Bool]
        var isAnnounced = false
        /// Slots from the first on that were in use once, and take memory.
        var touched = 0
    }

    private struct State {
        var arenas: [UInt32: Arena] = [:]
        /// The arena that new slots come from.
        var current: UInt32 = 0
        var changes: [Change] = []
    }

    private let state = Mutex(State())
    private let freed = WorkQueue<Bool>(capacity: 1)
    private let contents: Contents
    private let maxBytes: Int
    private let ledger: MemoryLedger
    private let timeout: Duration
    private let whileFull: @Sendable (Bool) -> Void

    /// Makes an empty store; arenas are allocated as pictures need them.
    ///
    /// - Parameters:
    ///   - contents: what pictures are in it.
    ///   - maxBytes: of all arenas together.
    ///   - ledger: counts the arenas' memory.
    ///   - timeout: how long a client may hold every slot before the session ends.
    ///   - whileFull: called with true when such a wait begins and with false when it ends.
    init(
        _ contents: Contents, maxBytes: UInt64, ledger: MemoryLedger, timeout: Duration,
        whileFull: @escaping @Sendable (Bool) -> Void
    ) {
        self.contents = contents
        self.ledger = ledger
        self.maxBytes = Int(clamping: maxBytes)
        self.timeout = timeout
        self.whileFull = whileFull
    }

    /// Takes a slot for the decoder to write to; nil unless more than one is free.
    ///
    /// The last one is kept for copies: without a slot a picture is decoded into other memory and copied.
    func allocate(byteCount: Int) -> FrameSlot? { try? take(byteCount, leaving: 1) }

    func require(byteCount: Int) throws(SessionError) { try ledger.require(byteCount) }

    /// Takes a slot for a copy, waiting up to `timeout` for the client to release one.
    func slotForCopy(byteCount: Int) throws(SessionError) -> FrameSlot {
        try wait(for: { () throws(SessionError) in try take(byteCount, leaving: 0) }) {
            let used = state.withLock { $0.arenas.values.reduce(0) { $0 + $1.memory.size } }
            return used + byteCount > maxBytes
                ? SessionError(.allocationFailed, "a picture of \(byteCount) bytes exceeds the session's limit")
                : SessionError(
                    .parameter, "the client released no picture for \(timeout.components.seconds) s")
        }
    }

    /// Waits until `body` returns a value, calling it again whenever a slot is freed or `wake` is called.
    func wait<Value>(
        for body: () throws(SessionError) -> Value?, orElse error: () -> SessionError
    ) throws(SessionError) -> Value {
        if let value = try body() { return value }
        whileFull(true)
        defer { whileFull(false) }
        let deadline = MonotonicTime.now + timeout
        while true {
            let now = MonotonicTime.now
            guard now < deadline else { throw error() }
            _ = freed.pop(timeout: .nanoseconds(Int64(deadline.nanoseconds(since: now))))
            if let value = try body() { return value }
        }
    }

    /// Makes a waiting thread check again.
    func wake() { _ = freed.push(true) }

    /// Returns a slot; retires its arena if that was its last one and larger slots replaced it.
    func free(_ id: Int) {
        state.withLock { state in
            let number = Self.arena(of: id)
            guard var arena = state.arenas.removeValue(forKey: number) else { return }
            arena.isTaken[id & 0xFFFF] = false
            if number != state.current, !arena.isTaken.contains(true) {
                if arena.isAnnounced { state.changes.append(.removed(number)) }
            } else {
                state.arenas[number] = arena
            }
        }
        wake()
    }

    /// The changes to announce before a picture in a slot is sent: its arena, and retired ones.
    func changes(before slot: Int) -> [Change] {
        state.withLock { state in
            let number = Self.arena(of: slot)
            if let arena = state.arenas[number], !arena.isAnnounced {
                state.arenas[number]?.isAnnounced = true
                state.changes.append(.added(number, arena.memory))
            }
            defer { state.changes = [] }
            return state.changes
        }
    }

    /// The memory of a slot's arena, and the slot's bytes in it.
    func place(of slot: Int) -> (memory: SharedMemory, bytes: Range<Int>)? {
        state.withLock { state in
            guard let arena = state.arenas[Self.arena(of: slot)] else { return nil }
            let start = (slot & 0xFFFF) * arena.slotSize
            return (arena.memory, start..<start + arena.slotSize)
        }
    }

    /// The arena of a slot.
    static func arena(of slot: Int) -> UInt32 { UInt32(slot >> 16) }

    private func take(_ byteCount: Int, leaving others: Int) throws(SessionError) -> FrameSlot? {
        try state.withLock { (state) throws(SessionError) in
            if (state.arenas[state.current]?.slotSize ?? 0) < byteCount, !grow(&state, byteCount) { return nil }
            let number = state.current
            guard var arena = state.arenas.removeValue(forKey: number) else { return nil }
            defer { state.arenas[number] = arena }
            guard let index = arena.isTaken.firstIndex(of: false),
                others == 0 || arena.isTaken.count(where: { !$0 }) > others,
                let base = arena.memory.mutableBytes?.baseAddress
            else { return nil }
            if index >= arena.touched {
                let picture = contents == .decoded ? UInt64(arena.slotSize) : 0
                try ledger.require(arena.slotSize, picture: picture)
                arena.touched = index + 1
            }
            arena.isTaken[index] = true
            let offset = index * arena.slotSize
            return FrameSlot(
                id: Int(number) << 16 | index, base: base + offset, poolOffset: UInt64(offset),
                byteCount: arena.slotSize)
        }
    }

    /// Makes an arena of larger slots the current one; false when memory does not suffice.
    private func grow(_ state: inout State, _ byteCount: Int) -> Bool {
        // A multiple of the page size, so that rows stay aligned.
        let slotSize = (byteCount + 4095) & ~4095
        let used = state.arenas.values.reduce(0) { $0 + $1.memory.size }
        let needed = Self.heldByDecoder + DecompressionAdmission.maxFramesInFlight + 1
        let count = min(needed, (maxBytes - min(used, maxBytes)) / slotSize)
        // With fewer slots no picture could be held while another is decoded.
        guard count >= 3,
            let memory = try? SharedMemory(
                creating: "hwdaemon-pictures", size: slotSize * count, readOnlyToOthers: true)
        else { return false }
        if let old = state.arenas[state.current], !old.isTaken.contains(true) {
            state.arenas[state.current] = nil
            if old.isAnnounced { state.changes.append(.removed(state.current)) }
        }
        ledger.add(memory)
        state.current += 1
        state.arenas[state.current] = Arena(
            memory: memory, slotSize: slotSize, isTaken: Array(repeating: false, count: count))
        return true
    }
}
