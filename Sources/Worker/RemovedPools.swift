// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDTransport
internal import Synchronization

/// Pools that a client removed, on their way from the I/O thread to the one whose device must let go of them first.
public final class RemovedPools: Sendable {
    private let pools = Mutex<[SharedMemory]>([])

    /// None yet.
    public init() {}

    /// Adds one that no frame under way lies in.
    public func add(_ pool: SharedMemory) { pools.withLock { $0.append(pool) } }

    /// Those that were added since it was asked last.
    public func takeAll() -> [SharedMemory] {
        pools.withLock { pools in
            defer { pools = [] }
            return pools
        }
    }
}
