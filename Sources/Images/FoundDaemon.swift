// SPDX-License-Identifier: MIT
internal import HWClient
internal import Synchronization

/// The daemon of an app, or one that is found when it is first needed, and kept.
final class FoundDaemon: Sendable {
    private let known: Mutex<Daemon?>

    init(_ daemon: Daemon?) { known = Mutex(daemon) }

    /// - Throws: what `Daemon.find()` throws.
    func daemon() throws(ClientError) -> Daemon {
        try known.withLock { (known) throws(ClientError) in
            if let known { return known }
            let daemon = try Daemon.find()
            known = daemon
            return daemon
        }
    }
}
