// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDWire
internal import HWDWorker

/// `hwdaemon-transfer`: one pixel-transfer session, from the broker's start packet to the session's end.
@main
struct TransferWorkerMain {
    static func main() {
        WorkerStartup.run(.transfer, CreateTransferSession.self, rehearse: {}) { try TransferWorker($0, $1).run() }
    }
}
