// SPDX-License-Identifier: MIT
package import HWClient
package import HWDModel

/// What the sessions of still pictures have in common, and when their work stops.
package struct PictureSessions {
    /// Finds the daemon, which is needed only where there is something for a session.
    package var daemon: () throws -> Daemon
    /// The properties of every session.
    package var properties: [PropertyKey: PropertyValue] = [:]
    package var isCancelled: () -> Bool
    /// How long a session may stay silent; the daemon ends a stalled session long before.
    package var maxSilence = Duration.seconds(180)

    package init(daemon: @escaping () throws -> Daemon, isCancelled: @escaping () -> Bool) {
        (self.daemon, self.isCancelled) = (daemon, isCancelled)
    }

    /// How often a wait looks at `isCancelled` and at its deadline.
    static let pollInterval = Duration.milliseconds(100)

    /// - Throws: `cancelled`.
    func checkCancellation() throws(ImageError) { if isCancelled() { throw .cancelled } }

    var silence: ImageError {
        ImageError(.fault, "the session did not answer for \(maxSilence.components.seconds) s")
    }
}
