// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

/// Starts, feeds and ends the processes that check the output of hardware encoders while these work.
final class OutputChecks {
    private let context: BrokerContext
    private let table: SessionTable
    /// The checking processes, by the id of the session.
    private var checks: [String: OutputCheck] = [:]
    /// Sessions for which no checking process could be started.
    private var unchecked: Set<String> = []

    init(_ context: BrokerContext, _ table: SessionTable) { (self.context, self.table) = (context, table) }

    /// Passes a sample of a session's output to the process that checks it, which is started with the first
    /// where it does not run already.
    ///
    /// - Returns: false where no sample is expected.
    func check(_ sample: OutputSample, of id: String) -> Bool {
        guard let samples = table.workers[id]?.samples, table.registry.running[id]?.usingHardware == true else {
            return false
        }
        if checks[id] == nil, !unchecked.contains(id) { start(for: id) }
        guard let check = checks[id] else {
            samples.turn = .ended
            return true
        }
        return check.check(sample)
    }

    /// Starts the process that checks a session's output.
    ///
    /// Where a session continues another, its client waits for the first sample's answer, so that this process starts at the same
    /// time as the encoder's.
    func start(for id: String) {
        guard let worker = table.workers[id], let samples = worker.samples else { return }
        do {
            checks[id] = try OutputCheck(
                context.configuration.executable("hwdaemon-verify"),
                Confinement(context.settings).session(runsDriver: false), samples: samples, loop: context.loop,
                logger: worker.logger
            ) { [weak self] in self?.found($0, $1, of: id) }
        } catch {
            worker.logger.warning("the encoder's output cannot be checked", metadata: ["reason": "\(error)"])
            unchecked.insert(id)
        }
    }

    /// Ends the process of a session that uses software.
    func stop(for id: String) { checks.removeValue(forKey: id)?.end() }

    /// Forgets a session whose process has ended.
    func forget(_ id: String) {
        stop(for: id)
        unchecked.remove(id)
    }

    /// Ends a session's process whose encoder's pictures are wrong, unless its packets do not wait for that.
    private func found(_ finding: OutputFinding, _ sample: OutputSample, of id: String) {
        guard let fault = finding.fault?.printable(), let worker = table.workers[id] else { return }
        context.metrics.foundWrong(table.registry.running[id]?.codecID)
        worker.logger.warning(
            "the encoder's pictures are wrong",
            metadata: ["reason": "\(fault)", "reported_only": "\(sample.onlyReports)"])
        if !sample.onlyReports { worker.endForWrongPictures(fault) }
    }
}
