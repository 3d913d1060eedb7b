// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport

/// Why a session is refused before it has a process: the client's error and the label of the metrics.
struct Refusal: Error {
    /// The obstacle, as a label of the metrics.
    enum Cause: String {
        case maxHardwareSessions = "max_hardware_sessions"
        case maxMemory = "max_memory"
        case maxMemoryPerUser = "max_memory_per_user"
        case maxSessions = "max_sessions"
        case maxSessionsPerUser = "max_sessions_per_user"
        case notResumable = "not_resumable"
        case openFiles = "open_files"
        case shuttingDown = "shutting_down"
        case spawnFailed = "spawn_failed"

        /// Whether it goes away when other sessions end.
        var isLimit: Bool {
            switch self {
            case .maxHardwareSessions, .maxMemory, .maxMemoryPerUser, .maxSessions, .maxSessionsPerUser: true
            case .notResumable, .openFiles, .shuttingDown, .spawnFailed: false
            }
        }
    }

    let cause: Cause
    let error: SessionError

    init(_ cause: Cause, _ status: Status, _ reason: String) {
        self.cause = cause
        error = SessionError(status, reason)
    }

    /// The same, of a session that has waited.
    func after(waiting time: Duration) -> Refusal {
        Refusal(cause, error.status, "\(error.reason); the call waited \(SessionEnd.seconds(time)) s (max_wait_ms)")
    }

    static let notResumable = Refusal(
        .notResumable, .invalidSession,
        "there is no session to continue: it is unknown, did not fail, was continued already, or failed more than a minute "
            + "ago")

    static let shuttingDown = Refusal(
        .shuttingDown, .videoEncoderNotAvailableNow, "the daemon is shutting down")

    /// The descriptor table is full.
    static var openFiles: Refusal {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Refusal(
            .openFiles, .videoEncoderNotAvailableNow,
            "the daemon uses all of its \(limit.rlim_cur) file descriptors (LimitNOFILE)")
    }

    /// A worker could not be started.
    init(starting error: any Error, _ kind: SessionKind) {
        if let error = error as? SystemError, error.errno == EMFILE || error.errno == ENFILE {
            self = .openFiles
        } else {
            self.init(
                .spawnFailed, .couldNotCreateInstance, "the \(kind.noun) process could not be started: \(error)")
        }
    }
}
