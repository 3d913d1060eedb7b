// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDWorker

/// `hwdaemon-encoder`: one compression session, from the broker's start packet to the session's end.
@main
struct EncoderWorkerMain {
    static func main() {
        WorkerStartup.run(.compression, rehearse: SessionSetup.rehearse) { assigned in
            try CompressionWorker(assigned).run()
        }
    }
}
