// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDProbing

/// `hwdaemon-probe`: lists what a machine claims, without the libraries that only a verification needs.
@main
struct ProbeWorkerMain {
    static func main() { ProbeProcess.run(judge: nil) }
}
