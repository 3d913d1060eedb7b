// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDWire
internal import HWDWorker

/// `hwdaemon-decoder`: one decompression session, from the broker's start packet to the session's end.
@main
struct DecoderWorkerMain {
    static func main() {
        WorkerStartup.run(.decompression, CreateDecompressionSession.self, rehearse: SessionSetup.rehearse) {
            try DecompressionWorker($0, $1).run()
        }
    }
}
