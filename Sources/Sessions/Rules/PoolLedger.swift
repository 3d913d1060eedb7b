// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// The pools a client has registered with a session, and what they may come to.
struct PoolLedger: Sendable {
    /// Pools a client may have.
    static let maxPools = 16

    private let maxBytes: UInt64
    private var sizes: [UInt32: UInt64] = [:]

    /// No pools; together they may have so many bytes.
    init(maxBytes: UInt64) { self.maxBytes = maxBytes }

    /// Bytes of a pool; nil for one that is not there.
    func size(_ id: UInt32) -> UInt64? { sizes[id] }

    /// Takes a pool of `size` bytes.
    ///
    /// - Throws: `Parameter` when the number is taken or the session's limit would be passed.
    mutating func add(_ id: UInt32, size: UInt64) throws(SessionError) {
        guard sizes[id] == nil else { throw SessionError(.parameter, "pool \(id) exists already") }
        guard sizes.count < Self.maxPools else {
            throw SessionError(.parameter, "a session has at most \(Self.maxPools) pools")
        }
        let used = sizes.values.reduce(0, +)
        guard size > 0, size <= maxBytes - used else {
            throw SessionError(
                .parameter, "a pool of \(size) bytes passes the session's limit of \(maxBytes) bytes")
        }
        sizes[id] = size
    }

    /// Forgets a pool.
    ///
    /// - Throws: `Parameter` when it does not exist or something in flight lies in it.
    mutating func remove(_ id: UInt32, inUse: some Sequence<UInt32>) throws(SessionError) {
        guard sizes[id] != nil else { throw SessionError(.parameter, "there is no pool \(id)") }
        guard !inUse.contains(id) else {
            throw SessionError(.parameter, "pool \(id) still has frames in flight")
        }
        sizes[id] = nil
    }
}
