// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The pools that a client has registered with a session, within the session's limits.
///
/// `Memory` is whatever the owner maps a pool to: this module does no I/O and only returns it.
public struct PoolLedger<Memory> {
    /// A registered pool.
    public struct Pool {
        public let memory: Memory
        /// Bytes that frames may name.
        public let size: UInt64
        /// Whether it can hold results.
        public let isWritable: Bool
    }

    /// Pools that a client may have at once.
    static var maxPools: Int { 16 }
    /// The number of a pool that does not count: copies of frames that a client would send again.
    public static var copiesID: UInt32 { .max }

    /// Bytes of the pool of copies: what a library keeps (512 MiB), and frames that arrive meanwhile.
    private static var maxCopies: UInt64 { 1 << 30 }

    private let maxBytes: UInt64
    private var pools: [UInt32: Pool] = [:]

    /// - Parameter maxBytes: the limit of all pools together, and of the pool of copies, which does not count among them.
    public init(maxBytes: UInt64) { self.maxBytes = maxBytes }

    public subscript(id: UInt32) -> Pool? { pools[id] }

    /// Registers a pool of `size` bytes.
    ///
    /// - Throws: `Parameter` when the number is in use or a limit would be exceeded.
    public mutating func add(
        _ id: UInt32, _ memory: Memory, size: UInt64, isWritable: Bool
    ) throws(SessionError) {
        guard pools[id] == nil else { throw SessionError(.parameter, "pool \(id) exists already") }
        let counted = pools.keys.count { $0 != Self.copiesID }
        guard counted < Self.maxPools || id == Self.copiesID else {
            throw SessionError(.parameter, "a session has at most \(Self.maxPools) pools")
        }
        // Copies are the library's: an app with large pools continues after a failure, too.
        let limit = id == Self.copiesID ? min(maxBytes, Self.maxCopies) : maxBytes
        let used = id == Self.copiesID ? 0 : pools.reduce(0) { $0 + ($1.key == Self.copiesID ? 0 : $1.value.size) }
        guard size > 0, size <= limit - used else {
            throw SessionError(
                .parameter, "a pool of \(size) bytes exceeds the session's limit of \(limit) bytes")
        }
        pools[id] = Pool(memory: memory, size: size, isWritable: isWritable)
    }

    /// Unregisters a pool and returns its memory.
    ///
    /// - Throws: `Parameter` when it does not exist, or holds something in flight.
    public mutating func remove(_ id: UInt32, isInUse: Bool) throws(SessionError) -> Memory {
        guard let pool = pools[id] else { throw SessionError(.parameter, "there is no pool \(id)") }
        guard !isInUse else { throw SessionError(.parameter, "pool \(id) still has frames in flight") }
        pools[id] = nil
        return pool.memory
    }
}

extension PoolLedger: Sendable where Memory: Sendable {}
extension PoolLedger.Pool: Sendable where Memory: Sendable {}
