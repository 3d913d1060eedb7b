// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport

// Shares sessions out among GPUs.
extension Broker {
    /// What the machine's GPUs do at present.
    func loads(on snapshot: ProbeSnapshot) -> [HardwareLoad] {
        GPULoad.loads(
            of: registry.hardwareUses(now: .now), on: snapshot,
            maxSessions: settings.maxHardwareSessions > 0 ? settings.maxHardwareSessions : nil)
    }

    /// Checks that a call which requires hardware finds some that is not full.
    ///
    /// - Throws: `VideoEncoderNotAvailableNow`, naming the limit.
    func admitToHardware(_ parameters: CreateCall, _ snapshot: ProbeSnapshot) throws(Refusal) {
        guard parameters.hardwareRequirement == .required else { return }
        let possible = possibleLoads(parameters, snapshot)
        guard !possible.isEmpty, possible.allSatisfy(\.isFull) else { return }
        throw Refusal(
            .maxHardwareSessions, .videoEncoderNotAvailableNow,
            "hardware is required, but \(possible.map(\.fullReason).joined(separator: "; "))")
    }

    /// The hardware that a worker will probably choose; it counts until the worker reports its choice.
    ///
    /// - Parameter previous: the first hardware of the client's session, if that goes on.
    func expectedHardware(
        _ parameters: CreateCall, _ snapshot: ProbeSnapshot, previous: String?
    ) -> String? {
        guard parameters.hardwareRequirement != .none else { return nil }
        let free = possibleLoads(parameters, snapshot).filter { !$0.isFull }
        return GPULoad.leastLoaded(free.map(\.codecID), free, previous: previous)
    }

    /// The loads of the hardware that a call allows.
    private func possibleLoads(_ parameters: CreateCall, _ snapshot: ProbeSnapshot) -> [HardwareLoad] {
        let all = parameters.kind.hardware(prober.knowledge.hardwareEncoders, snapshot)
        let allowed = parameters.hardware(among: all, snapshot)
        return loads(on: snapshot).filter { allowed.contains($0.codecID) }
    }
}
