// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDTransport
internal import HWDWire
internal import HWDWorker

/// `hwdaemon-encoder`: one compression session, from the broker's start packet to the session's end.
@main
struct EncoderWorkerMain {
    static func main() {
        WorkerStartup.run(
            program: "hwdaemon-encoder", noun: "encoder", rehearse: SessionSetup.rehearse
        ) { start, connection, signals in
            try WorkerSession(start: start, connection: connection, signals: signals).run()
        }
    }
}
