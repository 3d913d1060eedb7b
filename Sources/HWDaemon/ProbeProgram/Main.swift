// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDProbing

/// `hwdaemon-probe`: lists what drivers claim, without loading the libraries that only verification needs.
@main
struct ProbeWorkerMain {
    static func main() { ProbeProcess.run(reference: nil) }
}
