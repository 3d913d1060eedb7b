// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDTransport
internal import Synchronization

/// Pools that the client removed and that the GPU's thread has not released yet.
public final class RemovedPools: Sendable {
    private let pools = Mutex<[SharedMemory]>([])

    public init() {}

    /// Adds a pool that holds no frame in flight.
    public func add(_ pool: SharedMemory) { pools.withLock { $0.append(pool) } }

    /// Returns the pools added since the last call.
    public func takeAll() -> [SharedMemory] {
        pools.withLock { pools in
            defer { pools = [] }
            return pools
        }
    }
}
