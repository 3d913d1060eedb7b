// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDTransport
internal import HWDWire
internal import HWDWorker

/// `hwdaemon-transfer`: one pixel-transfer session, from the broker's start packet to the session's end.
@main
struct TransferWorkerMain {
    static func main() {
        WorkerStartup.run(program: "hwdaemon-transfer", noun: "converter", rehearse: {}) {
            start, connection, signals in
            try WorkerSession(start: start, connection: connection, signals: signals).run()
        }
    }
}
