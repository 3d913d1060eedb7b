// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

// Hardware encoders whose output is checked while they work.
extension Broker {
    /// Passes a sample of a session's output to the process that checks it, which is started with the first
    /// where it does not run already.
    ///
    /// - Returns: false where no sample is expected.
    func check(_ sample: OutputSample, of id: String) -> Bool {
        guard let worker = workers[id], let samples = worker.samples, registry.running[id]?.usingHardware == true
        else {
            return false
        }
        if outputChecks[id] == nil, !uncheckedOutputs.contains(id) { startOutputCheck(of: id) }
        guard let check = outputChecks[id] else {
            samples.turn = .ended
            return true
        }
        return check.check(sample)
    }

    /// Starts the process that checks a session's output.
    ///
    /// Where a session continues another, its client waits for the first sample's answer, so that this process starts at the same
    /// time as the encoder's.
    func startOutputCheck(of id: String) {
        guard let worker = workers[id], let samples = worker.samples else { return }
        do {
            outputChecks[id] = try OutputCheck(
                configuration.executable("hwdaemon-verify"), Confinement(settings).session(runsDriver: false),
                samples: samples, loop: loop, logger: worker.logger
            ) { [weak self] in self?.found($0, $1, of: id) }
        } catch {
            worker.logger.warning("the encoder's output cannot be checked", metadata: ["reason": "\(error)"])
            uncheckedOutputs.insert(id)
        }
    }

    /// Ends a session's process whose encoder's pictures are wrong, unless its packets do not wait for that.
    private func found(_ finding: OutputFinding, _ sample: OutputSample, of id: String) {
        guard let fault = finding.fault?.printable(), let worker = workers[id] else { return }
        metrics.foundWrong(registry.running[id]?.codecID)
        worker.logger.warning(
            "the encoder's pictures are wrong",
            metadata: ["reason": "\(fault)", "reported_only": "\(sample.onlyReports)"])
        if !sample.onlyReports { worker.endForWrongPictures(fault) }
    }
}
