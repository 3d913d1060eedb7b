// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDTransport
internal import HWDWire
internal import HWDWorker

/// `hwdaemon-decoder`: one decompression session, from the broker's start packet to the session's end.
@main
struct DecoderWorkerMain {
    static func main() {
        WorkerStartup.run(
            program: "hwdaemon-decoder", noun: "decoder", rehearse: SessionSetup.rehearse
        ) { start, connection, signals in
            try WorkerSession(start: start, connection: connection, signals: signals).run()
        }
    }
}
