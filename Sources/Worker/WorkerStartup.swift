// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDModel
public import HWDTransport
public import HWDWire

/// What every session's process does before it serves: confine itself, and wait for its session.
public enum WorkerStartup {
    /// Waits for the broker's start packet and hands it on; returns when the session has, or there is none.
    ///
    /// - Parameters:
    ///   - program: the process's name, for one who starts it by hand.
    ///   - noun: `encoder`, `decoder` or `converter`, for the sentence that tells why it could not start.
    ///   - rehearse: what a worker does that waits for a session ahead of time.
    ///   - serve: takes over the session and the client's connection.
    public static func run(
        program: String, noun: String, rehearse: () -> Void,
        serve: (WorkerStart, consuming OwnedFD, SignalFD) throws -> Void
    ) {
        guard fcntl(WorkerDescriptor.broker, F_GETFD) >= 0, fcntl(WorkerDescriptor.stats, F_GETFD) >= 0 else {
            let kind = ["encoder": "compression", "decoder": "decompression"][noun] ?? "pixel-transfer"
            let text = "\(program) is started by hwdaemon, one for each \(kind) session; see hwdaemon(8).\n"
            _ = text.withCString { write(2, $0, strlen($0)) }
            exit(ExitStatus.usage.rawValue)
        }
        do {
            let signals = try SignalFD([SIGTERM, SIGINT])
            try ProcessControl.confine()
            var bytes: [UInt8] = []
            guard let connection = try receiveSession(&bytes, rehearse) else { exit(ExitStatus.ok.rawValue) }
            let start = try JSON.decode(WorkerStart.self, from: bytes)
            try serve(start, connection, signals)
        } catch {
            // Before the Create reply the client only sees the connection close; the daemon's log has this sentence.
            let reason = "the \(noun) process could not start: \(error)"
            report(.ended(code: Status.couldNotCreateInstance.rawValue, reason: reason))
            exit(ExitStatus.software.rawValue)
        }
    }

    /// Tells the broker something; one that has gone is no fault.
    public static func report(_ report: WorkerReport) {
        guard let bytes = try? JSON.encode(report) else { return }
        try? PacketSocket.send(bytes, to: WorkerDescriptor.broker)
    }

    /// Answers a Create call with an error, which ends the process.
    public static func refuse(_ error: SessionError, _ connection: Int32) -> Never {
        report(.ended(code: error.status.rawValue, reason: error.reason))
        try? VarlinkConnection.send(
            VarlinkReply.encode(VarlinkError(error)), to: connection, deadline: MonotonicTime.now + .seconds(5))
        exit(ExitStatus.ok.rawValue)
    }

    /// Waits for the session to serve and its client's connection; nil when the broker has gone.
    ///
    /// A worker that finds none yet is a spare: it rehearses before it waits.
    private static func receiveSession(_ bytes: inout [UInt8], _ rehearse: () -> Void) throws -> OwnedFD? {
        do throws(TransportError) {
            return try PacketSocket.receiveWithFile(from: WorkerDescriptor.broker, into: &bytes, deadline: .now)
        } catch  where error.code == .timedOut {
            rehearse()
            return try PacketSocket.receiveWithFile(from: WorkerDescriptor.broker, into: &bytes, deadline: nil)
        }
    }
}
