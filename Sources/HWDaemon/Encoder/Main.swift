// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDWire
internal import HWDWorker

/// `hwdaemon-encoder`: one compression session, from the broker's start packet to the session's end.
@main
struct EncoderWorkerMain {
    static func main() {
        WorkerStartup.run(.compression, CreateCompressionSession.self, rehearse: SessionSetup.rehearse) {
            try CompressionWorker($0, $1).run()
        }
    }
}
