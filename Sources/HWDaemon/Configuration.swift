// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// What the command line and the environment ask of the broker.
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
    var sessions: SessionRegistry.Limits
    var connections = Listener.Limits()
    var stallLimit: Duration
    /// The nodes to look at, separated by colons; nil for every render node.
    var deviceList: String?

    /// Where the workers are: beside the daemon, as after a build, or in the directory a package puts them.
    static func findLibexec() -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
        let own = String(decoding: buffer.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folder = own.lastIndex(of: "/").map { String(own[..<$0]) } ?? "."
        let folders = [folder, "\(folder)/../libexec/hwdaemon"]
        return folders.first { access("\($0)/hwdaemon-encoder", X_OK) == 0 } ?? folder
    }

    /// The value of `HWDAEMON_DEVICES`; an empty one means that there are no devices.
    static var deviceList: String? { getenv("HWDAEMON_DEVICES").map { String(cString: $0) } }

    /// The listening socket that systemd or another service manager started the process with (`sd_listen_fds(3)`).
    static var activatedSocket: Int32? {
        guard environment("LISTEN_PID") == "\(getpid())", environment("LISTEN_FDS") == "1" else { return nil }
        return 3
    }

    /// An environment variable's value; nil where it is not set or empty.
    static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }
}
