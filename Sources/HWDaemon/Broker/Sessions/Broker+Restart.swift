// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire

// A session whose process failed continues in another one: the client repeats what was lost, the broker supervises.
extension Broker {
    /// How a session continues another.
    struct Restart {
        /// The session that failed.
        var session: String
        /// Its processes, oldest first.
        var past: [SessionRegistry.Past]
        /// The hardware that is not used again.
        var avoiding: [CodecFailure]
        /// Milliseconds that its start was delayed.
        var delay = 0

        /// A clause for each process, for `Notices`.
        func notices(_ kind: SessionKind) -> [String] {
            let joint = kind == .compression ? " with a key frame" : ""
            return past.map { "the session continued in another process\(joint): \($0.failure.reason)" }
        }
    }

    /// Calls `body` when the session that continues another may start, or refuses the call.
    func resume(
        _ session: String, _ call: CreateCall, _ connection: ClientConnection,
        _ body: @escaping (Restart) -> Void
    ) {
        let uid = connection.peer.uid
        do throws(Refusal) {
            let past = try registry.resume(session, uid: uid, kind: call.kind, now: .now)
            let all = call.kind.hardware(prober.knowledge.hardwareEncoders, prober.knowledge.snapshot)
            let hardware = call.hardware(among: all, prober.knowledge.snapshot)
            let surroundings = RestartPolicy.Surroundings(
                requiresHardware: call.hardwareRequirement == .required
                    || call.namesHardware(among: all),
                hardware: hardware,
                neighbors: past.last?.failure.codecID.map { registry.neighbors(of: session, on: $0, now: .now) }
                    ?? 0)
            switch RestartPolicy.decide(past.map(\.failure), surroundings) {
            case .giveUp(let reason):
                throw Refusal(.notResumable, call.kind.malfunction, reason)
            case .restart(let avoiding, let maxDelay):
                var restart = Restart(session: session, past: past, avoiding: avoiding)
                guard maxDelay > 0 else { return body(restart) }
                restart.delay = Int.random(in: 0...maxDelay)
                _ = loop.after(.milliseconds(restart.delay)) { [restart] in body(restart) }
            }
        } catch {
            refuse(error, call.kind, connection, sessionLogger(session, call.facts, uid: uid))
        }
    }
}
