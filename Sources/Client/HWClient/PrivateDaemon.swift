// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport

/// A private daemon on an inherited socket, in a folder of this user's or in the abstract namespace.
///
/// It ends with this object, or with this process: the daemon has one end of a socket pair, and this process holds the
/// other, which the kernel closes however the process ends. (PR_SET_PDEATHSIG is bound to the thread that starts it.)
final class PrivateDaemon: Sendable {
    let address: String
    let child: ChildProcess
    let lifetime: OwnedFD

    /// Starts `hwdaemon`; clients can connect at once, because the socket listens before the process runs.
    ///
    /// - Parameters:
    ///   - kind: of its first session, where that is known; the session's process is started at once.
    ///   - isVerbose: whether it logs what it does on standard error, and not errors alone.
    init(expecting kind: SessionKind? = nil, isVerbose: Bool) throws(ClientError) {
        let executable = try Self.executable()
        var socket = ""
        do throws(SystemError) {
            let listener = try PrivateSocket.listen(in: Environment.value("XDG_RUNTIME_DIR"))
            socket = try UnixSocket.address(of: listener.rawValue)
            address = socket
            let ends = try UnixSocket.pair()
            lifetime = try ends.second.duplicate()
            child = try ChildProcess(
                spawning: executable,
                // The session itself reports its failures; warnings of the daemon would repeat them.
                arguments: [
                    "--private", "--listen-fd", "3", "--lifetime-fd", "4", "--log-level",
                    isVerbose ? "info" : "error",
                ] + (kind.map { ["--expect", $0.rawValue] } ?? []),
                files: [
                    ChildProcess.File(listener.rawValue, as: 3), ChildProcess.File(ends.first.rawValue, as: 4),
                ],
                group: .session)
            // Without the client's copy of the listener, connecting fails at once if the daemon dies.
            _ = consume listener
            _ = consume ends
        } catch {
            Self.removeFile(of: socket)
            throw ClientError(error, whileDoing: "a private daemon (\(executable)) cannot be started")
        }
    }

    /// Takes over a daemon that this process has started before it executed its present program.
    init(_ child: ChildProcess, lifetime: consuming OwnedFD, address: String) {
        self.child = child
        self.lifetime = lifetime
        self.address = address
    }

    deinit {
        try? child.kill(SIGTERM)
        if (try? child.wait(until: MonotonicTime.now + .seconds(6))) == nil {
            try? child.kill(SIGKILL)
            _ = try? child.wait(until: MonotonicTime.now + .seconds(1))
        }
        // The daemon itself does that, unless it was killed.
        Self.removeFile(of: address)
    }

    private static func removeFile(of address: String) {
        if address.hasPrefix("/") { unlink(address) }
    }

    /// `hwdaemon` beside this program, at its installed path relative to this program, in `$PATH`, or installed by a
    /// package.
    private static func executable() throws(ClientError) -> String {
        let folder = Program.folder
        // A relative entry would make the choice depend on the working directory.
        let path = (Environment.value("PATH") ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
        let candidates =
            ["\(folder)/hwdaemon", "\(folder)/../sbin/hwdaemon", "\(folder)/../libexec/hwdaemon/hwdaemon"]
            + path.flatMap { ["\($0)/hwdaemon", "\($0)/../libexec/hwdaemon/hwdaemon"] }
            + ["/usr/local/libexec/hwdaemon/hwdaemon", "/usr/libexec/hwdaemon/hwdaemon"]
        guard let found = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw ClientError(
                .connectionFailed,
                "no daemon is running, and hwdaemon is neither beside \(Program.path) nor in $PATH to start a private one"
            )
        }
        return found
    }
}
