// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire

// When frames are sent through hardware that only claims yet, and who waits for that.
extension Prober {
    /// A session that waits for hardware to be verified.
    final class HardwareWaiter {
        let kind: SessionKind
        private var body: ((ProbeSnapshot) -> Void)?

        init(_ kind: SessionKind, _ body: @escaping (ProbeSnapshot) -> Void) {
            self.kind = kind
            self.body = body
        }

        /// Goes on with what is known; only once.
        func resume(_ snapshot: ProbeSnapshot) {
            let body = body
            self.body = nil
            body?(snapshot)
        }
    }

    /// How long a session that prefers hardware waits for its verification.
    static let preferredHardwareWait = Duration.seconds(2)
    /// How long a session that requires hardware does; its client gives up after half a minute.
    static let requiredHardwareWait = Duration.seconds(15)
    /// How long what may have passed is left alone before a session has it tried again.
    private static let pauseAfterPassing = Duration.seconds(30)

    /// How hardware encoders are opened.
    var hardware: [HardwareEncoder] { results.hardware }

    /// What sessions should know of Vulkan.
    var vulkanHints: VulkanHints { results.vulkanHints }

    /// Hands over what is known, once hardware is verified or has taken too long for that.
    func whenVerified(for kind: SessionKind, isRequired: Bool, _ body: @escaping (ProbeSnapshot) -> Void) {
        whenKnown { [weak self] snapshot in
            guard let self else { return }
            tryAgainWhatMayHavePassed()
            guard !results.verifying.isEmpty, !Self.hasHardware(for: kind, snapshot) else { return body(snapshot) }
            let waiter = HardwareWaiter(kind, body)
            waiting.append(waiter)
            _ = loop.after(isRequired ? Self.requiredHardwareWait : Self.preferredHardwareWait) { [weak self] in
                guard let self else { return }
                waiting.removeAll { $0 === waiter }
                waiter.resume(self.snapshot ?? snapshot)
            }
        }
    }

    /// Whether a session of a kind has verified hardware to choose from.
    private static func hasHardware(for kind: SessionKind, _ snapshot: ProbeSnapshot) -> Bool {
        switch kind {
        case .compression: snapshot.encoders.contains(where: \.hardware)
        case .decompression:
            snapshot.paths.contains { $0.operation == .decode && $0.device != nil && $0.verified }
        case .transfer: true
        }
    }

    /// Lets go on who waits for hardware, if there is some now or none will come.
    func notifyWaiters() {
        guard !waiting.isEmpty, let snapshot else { return }
        let isSettled = results.verifying.isEmpty
        let served = waiting.filter { isSettled || Self.hasHardware(for: $0.kind, snapshot) }
        waiting.removeAll { waiter in served.contains { $0 === waiter } }
        for waiter in served { waiter.resume(snapshot) }
    }

    /// Has the claims of the daemon's own nodes verified that nobody has tried yet.
    func verifyUntried() {
        for node in results.untried where nodes.contains(node) && !isStopped {
            results.verifying.insert(node)
            verifyInBackground(.node(node))
        }
    }

    /// Remembers when something failed that may pass.
    func note(_ record: ProbeRecord, of subject: ProbeRequest.Subject) {
        guard case .node(let node) = subject else { return }
        passing[node] = record.results.contains { $0.passing != nil } ? .now : nil
    }

    /// Has nodes tried again whose encoders were busy or crashed a while ago; no session waits for that.
    private func tryAgainWhatMayHavePassed() {
        for (node, time) in passing where time + Self.pauseAfterPassing < .now && nodes.contains(node) {
            passing[node] = .now
            verifyInBackground(.node(node))
        }
    }
}
