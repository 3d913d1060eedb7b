// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDWire
internal import Synchronization

/// Whether the session's threads may run before those of other sessions (`RealTime`).
///
/// The broker decides, because one user has only so many such sessions. Used from all threads.
public final class RealTimeShare: Sendable {
    private let questions: BrokerQuestions
    private let decision: Mutex<RealTimeDecision?>

    /// - Parameter decision: what the broker decided at Create; nil where the call did not ask for it.
    init(_ decision: RealTimeDecision?, _ questions: BrokerQuestions) {
        self.decision = Mutex(decision)
        self.questions = questions
    }

    /// Takes one of the user's slots for sessions with `RealTime`, once.
    ///
    /// - Returns: why none is free, and whether the client does not know that yet; nil if the session has one.
    func take() -> (refusal: String?, isNew: Bool) {
        decision.withLock { decision in
            if let decision { return (decision.refusal, false) }
            let made =
                switch questions.ask(.realTime, RealTimeDecision.self) {
                case .answered(let answer): answer
                case .unanswered: RealTimeDecision(refusing: "the daemon did not answer in time")
                case .gone: RealTimeDecision(refusing: "the daemon has ended")
                }
            decision = made
            return (made.refusal, true)
        }
    }
}
