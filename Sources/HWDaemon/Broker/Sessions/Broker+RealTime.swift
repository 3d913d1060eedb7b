// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire
internal import Logging

// Each user's share of sessions whose threads run before those of others (`RealTime`).
extension Broker {
    /// Decides on a session that is about to start; the caller stores the decision with it.
    func decideRealTime(_ call: CreateCall, uid: UInt32) -> RealTimeDecision? {
        guard call.priority == .realTime else { return nil }
        guard let refusal = registry.realTimeRefusal(uid: uid, leaving: leaving) else { return RealTimeDecision() }
        metrics.lowered(call.kind)
        return RealTimeDecision(refusing: refusal)
    }

    /// Decides on a running session whose properties ask for it after Create.
    func decideRealTime(of id: String) -> RealTimeDecision {
        guard let refusal = registry.takeRealTime(id, leaving: leaving) else { return RealTimeDecision() }
        let decision = RealTimeDecision(refusing: refusal)
        if let worker = workers[id] {
            metrics.lowered(worker.kind)
            worker.logger.notice("\(decision.refusal ?? "")")
        }
        return decision
    }

    /// Sessions whose client has hung up: their processes are about to end, and the client may have created the next
    /// session already.
    private var leaving: Set<String> { Set(workers.values.filter(\.hasHungUp).map(\.id)) }
}
