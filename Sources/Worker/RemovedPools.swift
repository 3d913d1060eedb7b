// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDTransport
internal import Synchronization

/// Pools that the client removed, until the thread that uses a GPU has made the GPU forget them.
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
