// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire

// Sessions that wait until hardware is verified.
extension Prober {
    /// A session that waits for hardware to be verified.
    final class HardwareWaiter {
        let kind: SessionKind
        private var body: ((ProbeSnapshot) -> Void)?

        init(_ kind: SessionKind, _ body: @escaping (ProbeSnapshot) -> Void) {
            self.kind = kind
            self.body = body
        }

        /// Continues with the present results; a second call has no effect.
        func resume(_ snapshot: ProbeSnapshot) {
            let body = body
            self.body = nil
            body?(snapshot)
        }
    }

    /// How long a session that prefers hardware waits for its verification.
    static let preferredHardwareWait = Duration.seconds(2)
    /// How long a session that requires hardware waits; its client gives up after 30 s.
    static let requiredHardwareWait = Duration.seconds(15)

    /// Calls `body` with the present results once hardware is verified or its verification takes too long.
    func whenVerified(for kind: SessionKind, isRequired: Bool, _ body: @escaping (ProbeSnapshot) -> Void) {
        whenKnown { [weak self] snapshot in
            guard let self else { return }
            retryTemporaryFailures()
            guard knowledge.isVerifying(for: kind), !kind.hasVerifiedHardware(in: snapshot) else {
                return body(snapshot)
            }
            let waiter = HardwareWaiter(kind, body)
            waiters.append(waiter)
            _ = loop.after(isRequired ? Self.requiredHardwareWait : Self.preferredHardwareWait) { [weak self] in
                guard let self else { return }
                waiters.removeAll { $0 === waiter }
                waiter.resume(knowledge.published ?? snapshot)
            }
        }
    }

    /// Resumes the sessions that have verified hardware now, and those for which nothing is being verified.
    func resumeWaiters() {
        guard !waiters.isEmpty, let snapshot = knowledge.published else { return }
        let served = waiters.filter { waiter in
            !knowledge.isVerifying(for: waiter.kind) || waiter.kind.hasVerifiedHardware(in: snapshot)
        }
        waiters.removeAll { waiter in served.contains { $0 === waiter } }
        for waiter in served { waiter.resume(snapshot) }
    }
}
