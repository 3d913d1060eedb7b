// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDSystem
internal import HWDTransport

/// A daemon of one's own: started on an inherited socket in the abstract namespace, so that nothing is left on disk.
final class PrivateDaemon: Sendable {
    let address: String
    private let child: ChildProcess

    /// Starts `hwdaemon`; it can be connected to at once, because the socket listens before it runs.
    ///
    /// The kernel ends it when the calling thread ends (PR_SET_PDEATHSIG): call this on the main thread.
    init() throws(ClientError) {
        let executable = try Self.executable()
        do throws(SystemError) {
            let listener = try UnixSocket.listenAbstractAutobind()
            address = try UnixSocket.address(of: listener.rawValue)
            child = try ChildProcess(
                spawning: executable,
                // Whose session failed is told so by the session itself: a warning of the daemon's would be a repetition.
                arguments: [
                    "--private", "--listen-fd", "3", "--parent", "\(getpid())", "--log-level", "error",
                ],
                files: [ChildProcess.File(listener.rawValue, as: 3)], newSession: true)
            // Our copy of the listener closes only now, and it must: if the daemon dies, connecting is refused at once.
            _ = consume listener
        } catch {
            throw ClientError(error, whileDoing: "cannot start a private daemon (\(executable))")
        }
    }

    deinit {
        try? child.kill(SIGTERM)
        if (try? child.wait(until: MonotonicTime.now + .seconds(6))) == nil {
            try? child.kill(SIGKILL)
            _ = try? child.wait(until: MonotonicTime.now + .seconds(1))
        }
    }

    /// `hwdaemon` beside this program, or where it is installed relative to it.
    private static func executable() throws(ClientError) -> String {
        let folder = Program.folder
        let candidates = [
            "\(folder)/hwdaemon", "\(folder)/../sbin/hwdaemon", "\(folder)/../libexec/hwdaemon/hwdaemon",
        ]
        guard let found = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw ClientError(
                .connectionFailed,
                "no daemon listens, and hwdaemon is not beside \(Program.path) to start a private one")
        }
        return found
    }
}
