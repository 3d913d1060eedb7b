// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport

/// What the command line and the environment fix for the broker's lifetime, and the location of its settings.
struct Configuration {
    /// Where it listens.
    enum Endpoint: Hashable {
        /// A path, where the broker creates the socket and removes it at the end.
        case path(String)
        /// An inherited listening socket.
        case descriptor(Int32)
    }

    var endpoint: Endpoint
    /// Whether only the daemon's own user is served.
    var isPrivate: Bool
    /// The inherited descriptor at whose end of file a private daemon ends.
    var lifetime: Int32?
    /// The kind of a private daemon's first session, if its client has said so.
    var expected: SessionKind?
    /// The directory of the workers' and probes' executables.
    var libexec: String
    var files: SettingsFiles

    /// The default libexec directory: the daemon's own, as after a build, or where packages install the workers.
    static func findLibexec() -> String {
        let folders = [Program.folder, "\(Program.folder)/../libexec/hwdaemon"]
        return folders.first { access("\($0)/hwdaemon-encoder", X_OK) == 0 } ?? Program.folder
    }

    /// The list of nodes to probe: that of `HWDAEMON_DEVICES`, even if empty, else the settings'.
    static func deviceList(_ settings: Settings) -> String? {
        getenv("HWDAEMON_DEVICES").map { String(cString: $0) } ?? settings.devices
    }

    /// The paths that drivers may write to: those of `HWDAEMON_SANDBOX_PATHS`, even if empty, else the settings'.
    static func sandboxPaths(_ settings: Settings) -> [String] {
        Devices.parse(getenv("HWDAEMON_SANDBOX_PATHS").map { String(cString: $0) } ?? settings.sandboxPaths ?? "")
    }

    /// The path of a worker's or probe's executable.
    func executable(_ name: String) -> String { "\(libexec)/\(name)" }

    /// Takes ownership of an inherited descriptor, which children must not inherit.
    ///
    /// - Throws: `EBADF` if it is not open.
    static func inheritedFile(_ number: Int32) throws(SystemError) -> OwnedFD {
        guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0 else {
            throw SystemError(errno: errno, call: "fcntl", subject: "file descriptor \(number)")
        }
        return OwnedFD(number)
    }

    /// Takes ownership of an inherited listening socket.
    ///
    /// - Throws: `EINVAL` if it is not a listening Unix stream socket.
    static func inherited(_ number: Int32) throws(SystemError) -> OwnedFD {
        guard isUnixSocket(number, Int32(SOCK_STREAM.rawValue), listens: true) else {
            throw SystemError(
                errno: EINVAL, call: "listen",
                subject: "file descriptor \(number), which is not a listening Unix stream socket")
        }
        let file = OwnedFD(number)
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        try file.setNonblocking(true)
        return file
    }

    /// Whether a descriptor is a Unix socket of a type (`SOCK_STREAM`, …) that listens, or does not.
    static func isUnixSocket(_ number: Int32, _ type: Int32, listens: Bool) -> Bool {
        let required: [(Int32, Int32)] = [(SO_ACCEPTCONN, listens ? 1 : 0), (SO_DOMAIN, AF_UNIX), (SO_TYPE, type)]
        return required.allSatisfy { option, value in
            var actual: Int32 = -1
            var size = socklen_t(MemoryLayout<Int32>.size)
            return getsockopt(number, SOL_SOCKET, option, &actual, &size) == 0 && actual == value
        }
    }
}

extension Configuration.Endpoint: CustomStringConvertible {
    /// The path, or the descriptor's number.
    var description: String {
        switch self {
        case .path(let path): path
        case .descriptor(let number): "file descriptor \(number)"
        }
    }
}
