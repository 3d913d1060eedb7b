// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport

// Shares sessions out among GPUs.
extension Broker {
    /// What the machine's GPUs do at present.
    func loads(on snapshot: ProbeSnapshot) -> [HardwareLoad] { loads(on: snapshot, registry) }

    private func loads(on snapshot: ProbeSnapshot, _ registry: SessionRegistry) -> [HardwareLoad] {
        GPULoad.loads(
            of: registry.hardwareUses(now: .now), on: snapshot,
            maxSessions: settings.maxHardwareSessions > 0 ? settings.maxHardwareSessions : nil)
    }

    /// Checks that a call which requires hardware finds some that is not full.
    ///
    /// - Parameter registry: the sessions that count; without the one that the call continues.
    /// - Throws: `VideoEncoderNotAvailableNow`, naming the limit.
    func admitToHardware(
        _ call: CreateCall, _ snapshot: ProbeSnapshot, beside registry: SessionRegistry
    ) throws(Refusal) {
        guard call.hardwareRequirement == .required else { return }
        let possible = possibleLoads(call, snapshot, registry)
        guard !possible.isEmpty, possible.allSatisfy(\.isFull) else { return }
        throw Refusal(
            .maxHardwareSessions, .videoEncoderNotAvailableNow,
            "hardware is required, but \(possible.map(\.fullReason).joined(separator: "; "))")
    }

    /// The hardware that a worker will probably choose; it counts until the worker reports its choice.
    ///
    /// - Parameter previous: the first hardware of the client's session, if that continues.
    func expectedHardware(
        _ call: CreateCall, _ snapshot: ProbeSnapshot, previous: String?
    ) -> String? {
        guard call.hardwareRequirement != .none else { return nil }
        let free = possibleLoads(call, snapshot, registry).filter { !$0.isFull }
        return GPULoad.leastLoaded(free.map(\.codecID), free, previous: previous)
    }

    /// The loads of the hardware that a call allows.
    private func possibleLoads(
        _ call: CreateCall, _ snapshot: ProbeSnapshot, _ registry: SessionRegistry
    ) -> [HardwareLoad] {
        let all = call.kind.hardware(prober.knowledge.hardwareEncoders, snapshot)
        let allowed = call.hardware(among: all, snapshot)
        return loads(on: snapshot, registry).filter { allowed.contains($0.codecID) }
    }
}
