// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDSystem
internal import HWDTransport

/// A private daemon on an inherited socket in the abstract namespace, which leaves no file behind.
final class PrivateDaemon: Sendable {
    let address: String
    private let child: ChildProcess

    /// Starts `hwdaemon`; clients can connect at once, because the socket listens before the process runs.
    ///
    /// The kernel ends it when the calling thread ends (PR_SET_PDEATHSIG): call this on the main thread.
    init() throws(ClientError) {
        let executable = try Self.executable()
        do throws(SystemError) {
            let listener = try UnixSocket.listenAbstractAutobind()
            address = try UnixSocket.address(of: listener.rawValue)
            child = try ChildProcess(
                spawning: executable,
                // The session itself reports its failures; warnings of the daemon would repeat them.
                arguments: [
                    "--private", "--listen-fd", "3", "--parent", "\(getpid())", "--log-level", "error",
                ],
                files: [ChildProcess.File(listener.rawValue, as: 3)], newSession: true)
            // Without the client's copy of the listener, connecting fails at once if the daemon dies.
            _ = consume listener
        } catch {
            throw ClientError(error, whileDoing: "a private daemon (\(executable)) cannot be started")
        }
    }

    deinit {
        try? child.kill(SIGTERM)
        if (try? child.wait(until: MonotonicTime.now + .seconds(6))) == nil {
            try? child.kill(SIGKILL)
            _ = try? child.wait(until: MonotonicTime.now + .seconds(1))
        }
    }

    /// `hwdaemon` beside this program, or at its installed path relative to this program.
    private static func executable() throws(ClientError) -> String {
        let folder = Program.folder
        let candidates = [
            "\(folder)/hwdaemon", "\(folder)/../sbin/hwdaemon", "\(folder)/../libexec/hwdaemon/hwdaemon",
        ]
        guard let found = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw ClientError(
                .connectionFailed,
                "no daemon is running, and hwdaemon is not beside \(Program.path) to start a private one")
        }
        return found
    }
}
