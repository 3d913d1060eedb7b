// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDWire

/// A Create call whose session may start as soon as there is a slot for it.
struct CreateRequest {
    var call: CreateCall
    var snapshot: ProbeSnapshot
    var connection: ClientConnection
    var restart: SessionRestart?
}

/// How a session continues another.
struct SessionRestart {
    /// The session that failed.
    var session: String
    /// Its processes, oldest first.
    var past: [SessionRegistry.Past]
    /// The hardware that is not used again.
    var avoiding: [CodecFailure]
    /// Milliseconds that its start was delayed.
    var delay = 0

    /// A clause for each process, for `Notices`.
    func notices(_ kind: SessionKind) -> [String] {
        let joint = kind == .compression ? " with a key frame" : ""
        return past.map { "the session continued in another process\(joint): \($0.failure.reason)" }
    }
}
