// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// The parameters of a Create call that may continue another session.
protocol ResumingParameters {
    /// The session whose process failed, and which the new one continues.
    var resumes: String? { get set }
    /// Milliseconds that the call may wait for a place.
    var maxWaitMs: Int? { get set }
}

extension CreateCompressionSession.Parameters: ResumingParameters {}
extension CreateDecompressionSession.Parameters: ResumingParameters {}
extension CreateTransferSession.Parameters: ResumingParameters {}

/// The sessions behind one session of the app, one after another, each in a process of its own.
final class SessionSuccession<Receiver: SessionReceiver> where Receiver.Create.Parameters: ResumingParameters {
    /// Those of the next Create call.
    var parameters: Receiver.Create.Parameters
    /// The session at present.
    private(set) var client: SessionClient<Receiver>
    /// Counts sessions, from 0.
    private(set) var number = 0

    private let daemon: Daemon
    private let timeout: Duration
    private let readiness: Epoll

    /// How long to wait for a failed process to end.
    private static var endTimeout: Duration { .seconds(10) }

    init(
        _ daemon: Daemon, _ parameters: Receiver.Create.Parameters, timeout: Duration
    ) throws(ClientError) {
        self.daemon = daemon
        self.parameters = parameters
        self.timeout = timeout
        // The daemon's reply comes that much later.
        let wait = Duration.milliseconds(max(0, parameters.maxWaitMs ?? 0))
        client = try SessionClient(daemon, parameters, timeout: timeout + wait)
        do throws(SystemError) {
            readiness = try Epoll()
            try readiness.add(client.fileDescriptor, token: 0, events: .readable)
        } catch { throw ClientError(error, whileDoing: "the session's connection cannot be used") }
    }

    /// Readable when the present session's connection is; the same for all of them.
    var fileDescriptor: Int32 { readiness.fileDescriptor }

    /// Whether another session may follow the present one.
    var mayContinue: Bool { number < SessionKind.maxRestarts }

    /// Creates the session that continues the present one, which has failed.
    ///
    /// - Throws: the failure, with the reason why there is no other.
    func continueAfter(_ failure: ClientError) throws(ClientError) {
        do throws(ClientError) { try createNext() } catch {
            throw ClientError(failure.code, "\(failure.reason); the session cannot go on: \(error.reason)")
        }
    }

    private func createNext() throws(ClientError) {
        let failed = client.created.session
        // The daemon continues a session whose end it has seen; a process may take seconds to leave its driver.
        let deadline = MonotonicTime.now + Self.endTimeout
        let question = GetSessionResult.Parameters(session: failed, timeoutMs: 2000)
        while try !daemon.call(GetSessionResult.self, question, timeout: .seconds(5)).finished {
            guard MonotonicTime.now < deadline else {
                throw ClientError(.timedOut, "its process did not end within \(Self.endTimeout.inSeconds)")
            }
        }
        parameters.resumes = failed
        // Its place is kept, and the app may hold another session meanwhile.
        parameters.maxWaitMs = nil
        let next = try SessionClient<Receiver>(daemon, parameters, timeout: timeout)
        do throws(SystemError) {
            try readiness.remove(client.fileDescriptor)
            try readiness.add(next.fileDescriptor, token: 0, events: .readable)
        } catch { throw ClientError(error, whileDoing: "the session's connection cannot be used") }
        client = next
        number += 1
    }
}
