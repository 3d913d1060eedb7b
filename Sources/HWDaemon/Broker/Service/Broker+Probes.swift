// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// Probe calls that wait for the next round of probes.
///
/// A round may start processes, so clients that ask again and again share one round in every `pause`.
struct WaitingProbes {
    /// What a call asks for; equal calls share a round.
    struct Subject: Hashable {
        var device: String?
        var verification: ProbeRequest.Verification
    }

    static let pause = Duration.milliseconds(100)

    var calls: [Subject: [ClientConnection]] = [:]
    var timer: EventLoop.Timer?
    /// When the latest round started or ended.
    var latest: MonotonicTime?
}

// Answers Probe.
extension Broker {
    /// Probes the machine or one node for a client.
    func probe(_ call: VarlinkCall, _ connection: ClientConnection) throws(VarlinkError) {
        let parameters = try call.checkedParameters(Probe.Parameters.self)
        guard parameters.device.map({ Devices.mayProbe($0, nodes: prober.nodes) }) ?? true else {
            throw .invalidParameter("device")
        }
        guard !isStopping else { throw VarlinkError(Refusal.shuttingDown.error) }
        let verification: ProbeRequest.Verification =
            switch parameters.verify {
            case nil: .unlessKnown
            case true?: .always
            case false?: .never
            }
        let subject = WaitingProbes.Subject(device: parameters.device, verification: verification)
        waitingProbes.calls[subject, default: []].append(connection)
        guard waitingProbes.timer == nil else { return }
        let now = MonotonicTime.now
        guard let due = waitingProbes.latest.map({ $0 + WaitingProbes.pause }), due > now else {
            return startWaitingProbes()
        }
        let delay = Duration.nanoseconds(Int64(clamping: due.nanoseconds(since: now)))
        waitingProbes.timer = loop.after(delay) { [weak self] in self?.startWaitingProbes() }
    }

    /// Refuses the calls that wait for the next round, because no round starts any more.
    func refuseWaitingProbes() {
        loop.cancel(waitingProbes.timer)
        waitingProbes.timer = nil
        let calls = waitingProbes.calls
        waitingProbes.calls = [:]
        for connection in calls.values.joined() { connection.reply(VarlinkError(Refusal.shuttingDown.error)) }
    }

    private func startWaitingProbes() {
        waitingProbes.timer = nil
        waitingProbes.latest = .now
        let calls = waitingProbes.calls
        waitingProbes.calls = [:]
        for (subject, connections) in calls {
            runProbe(device: subject.device, subject.verification) { [weak self] snapshot in
                self?.waitingProbes.latest = .now
                for connection in connections {
                    self?.reply(on: connection) { (replies) throws(SessionError) in try replies.probe(snapshot) }
                }
            }
        }
    }
}
