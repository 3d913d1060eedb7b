// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDModel

/// How long a session may stay silent; the daemon ends a stalled session long before.
enum SessionTimeout {
    static var limit: Duration { .seconds(SessionRequest.isBackground ? 3600 : 180) }

    static var failure: CommandFailure {
        CommandFailure(.software, "the session did not answer for \(limit.components.seconds) s")
    }
}

extension CompressionSession {
    /// The next event, or nil once a frame can be sent; the wait ends at a signal or after `SessionTimeout.limit`.
    func waitForEvent(unless interruption: Interruption, orUntil canSend: () -> Bool) throws -> Event? {
        let deadline = ContinuousClock.now + SessionTimeout.limit
        while ContinuousClock.now < deadline {
            if let event = try nextEvent(timeout: .milliseconds(100)) { return event }
            if canSend() { return nil }
            if interruption.isSet { throw CommandFailure.interrupted }
        }
        throw SessionTimeout.failure
    }
}
