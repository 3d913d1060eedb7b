// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem
internal import HWDTransport

/// What the command line and the environment fix for the broker's life, and where its settings are.
struct Configuration {
    /// Where it listens.
    enum Endpoint: Hashable {
        /// A path, where the broker makes the socket and removes it at the end.
        case path(String)
        /// A listening socket that the process was started with.
        case descriptor(Int32)
    }

    var endpoint: Endpoint
    /// Serves the daemon's own user only.
    var isPrivate: Bool
    /// The directory of `hwdaemon-encoder` and `hwdaemon-probe`.
    var libexec: String
    var connections = Listener.Limits()
    var files: SettingsFiles

    /// Where the workers are: beside the daemon, as after a build, or in the directory a package puts them.
    static func findLibexec() -> String {
        let folders = [Program.folder, "\(Program.folder)/../libexec/hwdaemon"]
        return folders.first { access("\($0)/hwdaemon-encoder", X_OK) == 0 } ?? Program.folder
    }

    /// The nodes to look at: those of `HWDAEMON_DEVICES`, of which an empty value means none, else the settings'.
    static func deviceList(_ settings: Settings) -> String? {
        getenv("HWDAEMON_DEVICES").map { String(cString: $0) } ?? settings.devices
    }

    /// Takes over a listening socket that was handed over at the start.
    ///
    /// - Throws: `EINVAL` if it is none, or not a Unix stream socket.
    static func inherited(_ number: Int32) throws(SystemError) -> OwnedFD {
        let wanted = [(SO_ACCEPTCONN, 1), (SO_DOMAIN, AF_UNIX), (SO_TYPE, Int32(SOCK_STREAM.rawValue))]
        for (option, value) in wanted {
            var found: Int32 = -1
            var size = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(number, SOL_SOCKET, option, &found, &size) == 0, found == value else {
                throw SystemError(
                    errno: EINVAL, call: "listen",
                    subject: "file descriptor \(number), which is not a listening Unix stream socket")
            }
        }
        let file = OwnedFD(number)
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        try file.setNonblocking(true)
        return file
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
