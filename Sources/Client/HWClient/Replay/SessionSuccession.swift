// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire
internal import Synchronization

/// The parameters of a Create call that may continue another session.
protocol ResumingParameters {
    /// The session whose process failed, and which the new one continues.
    var resumes: String? { get set }
    /// Milliseconds that the call may wait for a slot.
    var maxWaitMs: Int? { get set }
    /// The number of frames of the session, by which the daemon chooses between GPU and CPU for their conversion; nil: unknown.
    var frames: Int? { get set }
    /// Whether the session may convert frames.
    var mayConvert: Bool { get }
}

extension CreateCompressionSession.Parameters: ResumingParameters {
    var mayConvert: Bool { source != nil || PixelFormat(rawValue: pixelFormat)?.isRGB == true }
}
extension CreateDecompressionSession.Parameters: ResumingParameters {
    var mayConvert: Bool { pixelFormat.flatMap(PixelFormat.init(rawValue:))?.isRGB == true }
}
extension CreateTransferSession.Parameters: ResumingParameters { var mayConvert: Bool { true } }

/// The sessions behind one session of the app, one after another, each in a process of its own.
final class SessionSuccession<Receiver: SessionReceiver> where Receiver.Create.Parameters: ResumingParameters {
    enum State {
        /// The present process serves the session.
        case served
        /// It has failed, for this reason. What it had sent is being handled, and nothing is sent to it.
        case failed(ClientError)
        /// The app has ended the session, or nothing can continue it.
        case ended
    }

    private(set) var state = State.served
    /// The parameters of the next Create call.
    var parameters: Receiver.Create.Parameters
    /// The session at present.
    private(set) var client: SessionClient<Receiver>
    /// Counts sessions, from 0.
    private(set) var number = 0

    private let daemon: Daemon
    private let timeout: Duration
    private let readiness: Epoll

    /// How often a session is requested at most, where connections are closed without a reply.
    private static var maxAttempts: Int { 3 }
    /// How long to wait for a failed process to end, and the least time between two questions about it.
    private static var endTimeout: Duration { .seconds(10) }
    private static var questionInterval: Duration { .milliseconds(100) }

    init(
        _ daemon: Daemon, _ parameters: Receiver.Create.Parameters, timeout: Duration
    ) throws(ClientError) {
        self.daemon = daemon
        self.parameters = parameters
        self.timeout = timeout
        client = try Self.create(daemon, parameters, timeout: timeout, isFirst: true)
        do throws(SystemError) {
            let readiness = try Epoll()
            try readiness.add(client.fileDescriptor, token: 0, events: .readable)
            self.readiness = readiness
        } catch { throw ClientError(error, whileDoing: "the session's connection cannot be used") }
        daemon.sessionCount.add(1, ordering: .relaxed)
    }

    deinit { stopCounting() }

    private func stopCounting() {
        if case .ended = state { return }
        daemon.sessionCount.subtract(1, ordering: .relaxed)
    }

    /// Readable when the present session's connection is; the same for all of them.
    var fileDescriptor: Int32 { readiness.fileDescriptor }

    /// Creates a session: the one place of the library that sends Create calls, be it the first one of a session or one that
    /// continues it.
    ///
    /// The first one waits for a slot as long as the daemon's policy says. A daemon that has no queue, no free connection or no
    /// free hardware is asked again.
    private static func create(
        _ daemon: Daemon, _ parameters: Receiver.Create.Parameters, timeout: Duration, isFirst: Bool
    ) throws(ClientError) -> SessionClient<Receiver> {
        var parameters = parameters
        let hasOthers = daemon.sessionCount.load(ordering: .relaxed) > 0
        let wait = isFirst ? daemon.policy.wait(hasOthers: hasOthers) : .zero
        let end = MonotonicTime.now + wait
        // Older daemons refuse members that they do not know.
        if !parameters.mayConvert || parameters.frames == 0 { parameters.frames = nil }
        if parameters.frames != nil, !daemon.offers("frame-counts") { parameters.frames = nil }
        var hasQueue = wait > .zero && daemon.offers("waiting-sessions")
        while true {
            if wait > .zero {
                parameters.maxWaitMs = hasQueue ? max(1, Int(end.rest / .milliseconds(1))) : nil
            }
            // The daemon's reply comes that much later.
            let deadline = MonotonicTime.now + timeout + .milliseconds(max(0, parameters.maxWaitMs ?? 0))
            do throws(ClientError) {
                for _ in 0..<maxAttempts {
                    let connection = try daemon.connect()
                    let reply = try Daemon.exchange(
                        Receiver.Create.self, parameters, upgrade: true, on: connection.rawValue, deadline: deadline
                    )
                    if let reply { return try SessionClient(daemon, connection, reply) }
                    // The process that was to serve the session died while it replied.
                }
                throw .noReply(to: Receiver.Create.method)
            } catch {
                // A daemon of another version may have replaced the one that was asked.
                daemon.forgetFeatures()
                if error.code == .session(.parameter) {
                    let lacksCounts = parameters.frames != nil && !daemon.offers("frame-counts")
                    let lacksQueue = hasQueue && !daemon.offers("waiting-sessions")
                    if lacksCounts { parameters.frames = nil }
                    if lacksQueue { hasQueue = false }
                    if lacksCounts || lacksQueue { continue }
                }
                do throws(ClientError) { try daemon.policy.pause(after: error, until: end) } catch {
                    let mayHelp = isFirst && hasOthers && daemon.policy.beginsAgain
                    throw mayHelp && error.exitStatus == .tryLater ? error.with(.slots) : error
                }
            }
        }
    }

    // MARK: - Failures

    /// Whether another process may do what this one could not.
    ///
    /// The daemon knows whether it was a failure: VideoToolbox has no status of its own for it in transfer sessions.
    func isFailure(_ error: ClientError) -> Bool { error.code == .session(Receiver.malfunction) }

    /// Whether another session may follow the present one after an error.
    func mayContinue(after error: ClientError) -> Bool {
        guard case .served = state else { return false }
        return number < SessionKind.maxRestarts && isFailure(error)
    }

    /// Handles what the present process had sent before it failed.
    func leave(_ failure: ClientError, _ body: () throws(ClientError) -> Void) throws(ClientError) {
        state = .failed(failure)
        // A violation of the protocol may end the session meanwhile.
        defer { if case .failed = state { state = .served } }
        try body()
    }

    /// Creates the session that continues the present one, which has failed.
    ///
    /// - Throws: the failure, with the reason why there is no other.
    func continueAfter(_ failure: ClientError) throws(ClientError) {
        do throws(ClientError) { try createNext() } catch { throw last(failure, since: error) }
    }

    private func createNext() throws(ClientError) {
        let failed = client.created.session
        // The daemon continues a session whose end it has seen; a process may take seconds to leave its driver.
        let deadline = MonotonicTime.now + Self.endTimeout
        let question = GetSessionResult.Parameters(session: failed, timeoutMs: 2000)
        while true {
            let next = MonotonicTime.now + Self.questionInterval
            if try daemon.call(GetSessionResult.self, question, timeout: .seconds(5)).finished { break }
            guard MonotonicTime.now < deadline else {
                throw ClientError(.timedOut, "its process did not end within \(Self.endTimeout.inSeconds)")
            }
            // The daemon waits before such an answer; one that does not must not keep this process busy.
            next.sleep()
        }
        parameters.resumes = failed
        // Its slot is reserved, and the app may hold another session meanwhile.
        parameters.maxWaitMs = nil
        let next = try Self.create(daemon, parameters, timeout: timeout, isFirst: false)
        do throws(SystemError) {
            try readiness.remove(client.fileDescriptor)
            try readiness.add(next.fileDescriptor, token: 0, events: .readable)
        } catch { throw ClientError(error, whileDoing: "the session's connection cannot be used") }
        client = next
        number += 1
    }

    /// Ends the session at once.
    func end() {
        stopCounting()
        state = .ended
        client.invalidate()
    }

    /// What is thrown for a failure after which the session could not be continued, with the error that prevented it.
    func last(_ failure: ClientError, since error: ClientError) -> ClientError {
        last(ClientError(failure.code, "\(failure.reason); the session cannot continue: \(error.reason)"))
    }

    /// What is thrown for an error after which the session does not continue; where hardware failed, it names software as the
    /// remedy.
    func last(_ error: ClientError) -> ClientError {
        // Only a hardware encoder that is opened again in mid-session ends it by being busy: decoders then continue in software.
        let hasFailed = isFailure(error) || error.code == .session(.videoEncoderNotAvailableNow)
        return hasFailed && client.created.usingHardware ? error.with(.software(Receiver.kind)) : error
    }
}
