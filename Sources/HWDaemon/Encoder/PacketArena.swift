// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import HWDWorker
internal import Synchronization

/// The memory of packets that the client has not released, and the limit of their number.
///
/// The codec thread stores packets and waits here when the client holds too many; the I/O thread releases them.
final class PacketArena: Sendable {
    /// The limit of packets that a client holds.
    static let maxPackets = 64
    /// The arena's number in messages; a session has only one.
    static let arenaID: UInt32 = 1
    /// Bytes of the arena.
    ///
    /// Packets go to the lowest free offset, so that only as much memory is touched as the client holds at once.
    static let size = 8 << 20
    /// A larger packet is sent in a memfd of its own, so that one picture cannot fill the arena.
    static let maxInArena = size / 4

    private struct Slot {
        var packetID: UInt64
        var offset: Int
        var size: Int
        /// The memory of a packet that is not in the arena; kept until the client releases it, so that it counts.
        var ownMemory: SharedMemory?
    }

    private struct State {
        /// In order of offset; packets in memory of their own have size 0.
        var slots: [Slot] = []
        var lastID: UInt64 = 0
    }

    private let memory: SharedMemory
    private let state = Mutex(State())
    private let released = WorkQueue<Bool>(capacity: 1)
    private let timeout: Duration
    private let ledger: MemoryLedger

    /// Creates an empty arena.
    ///
    /// - Parameters:
    ///   - timeout: how long a client may hold every packet before the session ends.
    ///   - ledger: counts the memory.
    /// - Throws: `AllocationFailed`.
    init(timeout: Duration, ledger: MemoryLedger) throws(SessionError) {
        do throws(SystemError) {
            memory = try SharedMemory(creating: "hwdaemon-packets", size: Self.size, readOnlyToOthers: true)
        } catch {
            throw SessionError(.allocationFailed, "the encoder process lacks memory: \(error)")
        }
        self.timeout = timeout
        self.ledger = ledger
        ledger.add(memory)
        state.withLock { $0.slots.reserveCapacity(Self.maxPackets) }
    }

    var file: Int32 { memory.file.rawValue }

    /// A packet's location: in the arena, or in memory of its own that is sent with the packet.
    struct StoredPacket {
        var packetID: UInt64
        var offset: Int
        var ownMemory: SharedMemory?
    }

    /// Copies a packet into the arena, waiting up to `timeout` for room.
    ///
    /// - Parameter whileFull: called with true when the wait begins and with false when it ends, so that the broker
    ///   does not mistake a slow client for a hung encoder.
    /// - Throws: `Parameter` when the client released no packet in that time, `AllocationFailed`, the errors of
    ///   `MemoryLedger.require`.
    func store(_ bytes: RawSpan, whileFull: (Bool) -> Void = { _ in }) throws(SessionError) -> StoredPacket {
        let size = bytes.byteCount
        var deadline: MonotonicTime?
        defer { if deadline != nil { whileFull(false) } }
        while true {
            let place = state.withLock { Self.reserve(size <= Self.maxInArena ? size : 0, in: &$0) }
            if let place {
                return try fill(place.packetID, place.offset, bytes)
            }
            let now = MonotonicTime.now
            if deadline == nil { whileFull(true) }
            let limit = deadline ?? now + timeout
            deadline = limit
            guard now < limit else {
                throw SessionError(
                    .parameter,
                    "the client released no packet for \(timeout.components.seconds) s and holds them all")
            }
            _ = released.pop(timeout: .nanoseconds(Int64(limit.nanoseconds(since: now))))
        }
    }

    /// Frees a packet that the client has read.
    ///
    /// - Throws: `Parameter` for a packet that it does not hold.
    func release(_ packetID: UInt64) throws(SessionError) {
        let known = state.withLock { state in
            guard let index = state.slots.firstIndex(where: { $0.packetID == packetID }) else { return false }
            state.slots.remove(at: index)
            return true
        }
        guard known else { throw SessionError(.parameter, "packet \(packetID) is not the client's to release") }
        _ = released.push(true)
    }

    private func fill(_ packetID: UInt64, _ offset: Int, _ bytes: RawSpan) throws(SessionError) -> StoredPacket {
        var target = memory
        var place = StoredPacket(packetID: packetID, offset: offset, ownMemory: nil)
        if bytes.byteCount > Self.maxInArena {
            try ledger.require(bytes.byteCount)
            do throws(SystemError) {
                target = try SharedMemory(
                    creating: "hwdaemon-packet", size: bytes.byteCount, readOnlyToOthers: true)
            } catch {
                throw SessionError(
                    .allocationFailed, "no memory for a packet of \(bytes.byteCount) bytes: \(error)")
            }
            place = StoredPacket(packetID: packetID, offset: 0, ownMemory: target)
            ledger.add(target)
            state.withLock { [target] state in
                guard let index = state.slots.firstIndex(where: { $0.packetID == packetID }) else { return }
                state.slots[index].ownMemory = target
            }
        }
        guard let room = target.mutableBytes else {
            throw SessionError(.allocationFailed, "the packet memory is not writable")
        }
        bytes.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: room[place.offset...]).copyMemory(from: $0)
        }
        return place
    }

    /// Reserves the lowest free range of `size` bytes; nil when there is none.
    private static func reserve(_ size: Int, in state: inout State) -> (packetID: UInt64, offset: Int)? {
        guard state.slots.count < maxPackets else { return nil }
        var offset = 0
        var index = 0
        for slot in state.slots {
            if slot.offset - offset >= size { break }
            // Packets do not share a cache line of 64 bytes.
            offset = (slot.offset + slot.size + 63) & ~63
            index += 1
        }
        guard offset + size <= Self.size else { return nil }
        state.lastID += 1
        state.slots.insert(Slot(packetID: state.lastID, offset: offset, size: size), at: index)
        return (state.lastID, offset)
    }
}
