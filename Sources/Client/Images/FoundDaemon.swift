// SPDX-License-Identifier: MIT
internal import HWClient
internal import Synchronization

/// The daemon of an app, or one that is found when it is first needed, and kept until it ends.
final class FoundDaemon: Sendable {
    /// The app's own.
    private let given: Daemon?
    /// The one that was found.
    private let kept = Mutex<Daemon?>(nil)

    init(_ daemon: Daemon?) { given = daemon }

    /// - Throws: what `Daemon.find()` throws.
    func daemon() throws(ClientError) -> Daemon {
        if let known = given ?? kept.withLock({ $0 }) { return known }
        // Starting a private daemon takes a while, in which the lock is free.
        let found = try Daemon.find()
        return kept.withLock { kept in
            // Another thread may have found one meanwhile; then this one ends.
            let daemon = kept ?? found
            kept = daemon
            return daemon
        }
    }

    /// Forgets a daemon that ended, unless another one is kept already.
    fileprivate func drop(_ daemon: Daemon) { kept.withLock { if $0 === daemon { $0 = nil } } }
}

/// The daemon of a call, which stays alive until the call ends.
final class UsedDaemon {
    private let found: FoundDaemon
    private var used: Daemon?

    init(_ found: FoundDaemon) { self.found = found }

    /// - Throws: what `Daemon.find()` throws.
    func daemon() throws(ClientError) -> Daemon {
        if let used { return used }
        let daemon = try found.daemon()
        used = daemon
        return daemon
    }

    /// Calls `body`, whose errors become `ImageError`.
    ///
    /// Where an error says that the daemon ended, it is dropped, so that the next call finds another.
    func wrapping<Value>(_ body: () throws -> Value) throws(ImageError) -> Value {
        do throws(ImageError) { return try ImageError.wrapping(body) } catch {
            // Another user may have taken the name of a daemon that has ended.
            let ends: [ImageError.Code] = [
                .client(.notRunning), .client(.connectionFailed), .client(.permissionDenied),
            ]
            if let daemon = used, ends.contains(error.code) {
                found.drop(daemon)
                used = nil
            }
            throw error
        }
    }
}
