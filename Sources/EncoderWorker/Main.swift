// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Model
internal import Transport
internal import Wire

/// `hwdaemon-encoder`: one compression session, from the broker's start packet to the session's end.
@main
struct EncoderWorkerMain {
    static func main() {
        guard fcntl(WorkerDescriptor.broker, F_GETFD) >= 0, fcntl(WorkerDescriptor.stats, F_GETFD) >= 0 else {
            let text =
                "hwdaemon-encoder is started by hwdaemon, one for each compression session; see hwdaemon(8).\n"
            _ = text.withCString { write(2, $0, strlen($0)) }
            exit(ExitStatus.usage.rawValue)
        }
        do {
            let signals = try confine()
            var bytes: [UInt8] = []
            guard let connection = try receiveSession(&bytes) else { exit(ExitStatus.ok.rawValue) }
            let start = try JSON.decode(WorkerStart.self, from: bytes)
            let session = try WorkerSession(start: start, connection: connection, signals: signals)
            session.run()
        } catch {
            // Before the Create reply the client only sees the connection close; the daemon's log has this sentence.
            let reason = "the encoder process could not start: \(error)"
            if let report = try? JSON.encode(
                WorkerReport.ended(code: Status.couldNotCreateInstance.rawValue, reason: reason))
            {
                try? PacketSocket.send(report, to: WorkerDescriptor.broker)
            }
            exit(ExitStatus.software.rawValue)
        }
    }

    /// Waits for the session to serve and its client's connection; nil when the broker has gone.
    ///
    /// A worker that finds none yet is a spare: it rehearses before it waits.
    private static func receiveSession(_ bytes: inout [UInt8]) throws -> OwnedFD? {
        do throws(TransportError) {
            return try PacketSocket.receiveWithFile(from: WorkerDescriptor.broker, into: &bytes, deadline: .now)
        } catch  where error.code == .timedOut {
            SessionSetup.rehearse()
            return try PacketSocket.receiveWithFile(from: WorkerDescriptor.broker, into: &bytes, deadline: nil)
        }
    }

    /// Gives up what an encoder never needs; a crash must not dump a client's frames to disk.
    private static func confine() throws -> SignalFD {
        ProcessControl.ignoreBrokenPipes()
        let signals = try SignalFD([SIGTERM, SIGINT])
        try ProcessControl.setNoNewPrivileges()
        try ProcessControl.setDumpable(false)
        try ProcessControl.limit(.coreSize, to: 0)
        return signals
    }
}
