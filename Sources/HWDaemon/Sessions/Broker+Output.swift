// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Logging

// Hardware encoders whose output is checked while they work.
extension Broker {
    /// Passes a sample of a session's output to the process that checks it, which is started with the first.
    ///
    /// - Returns: false where no sample is expected.
    func check(_ sample: OutputSample, of id: String) -> Bool {
        guard let worker = workers[id], let samples = worker.samples, registry.running[id]?.usingHardware == true
        else {
            return false
        }
        if outputChecks[id] == nil {
            guard !uncheckedOutputs.contains(id) else {
                samples.turn = .encoder
                return true
            }
            do {
                outputChecks[id] = try OutputCheck(
                    configuration.executable("hwdaemon-verify"), Confinement(settings).session(runsDriver: false),
                    samples: samples, loop: loop, logger: worker.logger
                ) { [weak self] in self?.found($0, $1, of: id) }
            } catch {
                worker.logger.warning("the encoder's output cannot be checked", metadata: ["reason": "\(error)"])
                uncheckedOutputs.insert(id)
                samples.turn = .encoder
                return true
            }
        }
        return outputChecks[id]?.check(sample) ?? false
    }

    /// Ends a session's process whose encoder's pictures are wrong; with RealTime it is only reported.
    private func found(_ finding: OutputFinding, _ sample: OutputSample, of id: String) {
        guard let fault = finding.fault?.printable(), let worker = workers[id] else { return }
        metrics.foundWrong(registry.running[id]?.codecID)
        worker.logger.warning(
            "the encoder's pictures are wrong",
            metadata: ["reason": "\(fault)", "reported_only": "\(sample.onlyReports)"])
        if !sample.onlyReports { worker.endForWrongPictures(fault) }
    }
}
