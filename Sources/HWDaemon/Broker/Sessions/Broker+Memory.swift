// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDPolicy
internal import HWDWire
internal import Logging

// Grants sessions memory and bounds their processes.
extension Broker {
    /// A session's need for more memory, as its process reports it.
    struct MemoryRequest {
        var needed: UInt64
        var wanted: UInt64
        /// Bytes of a picture; 0 where the process does not know it.
        var picture: UInt64
    }

    /// Whether `MaxMemory` bounds sessions and their processes.
    var hasMemoryLimit: Bool { registry.limits.memory.total != nil }

    /// The memory of a session of a kind with pictures of a size.
    func memory(
        of kind: SessionKind, picture: UInt64, converter: ConverterMemory = ConverterMemory()
    ) -> SessionMemory {
        SessionMemory(
            kind, picture: picture, converter: converter, processors: Self.processors,
            limit: registry.limits.memory.perUser)
    }

    /// Grants a running session more memory if the limits allow it, and bounds its process by the size of its pictures.
    func grantMemory(_ request: MemoryRequest, to id: String) -> MemoryGrant {
        guard let session = registry.running[id] else { return MemoryGrant(granted: 0, bound: 0) }
        let picture = max(request.picture, session.facts.pictureBytes)
        let worker = workers[id]
        worker?.raiseMemoryBound(to: hasMemoryLimit ? memory(of: session.kind, picture: picture).bound : nil)
        let bound = worker.flatMap { $0.memoryBound == .max ? nil : $0.memoryBound }
        let (decision, reason) = registry.grant(
            id, needed: request.needed, wanted: request.wanted, picture: picture)
        if let reason {
            worker?.logger.notice("memory refused", metadata: ["reason": "\(reason)"])
        }
        return MemoryGrant(granted: decision.granted, bound: bound, refusal: reason)
    }

    static let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
}
