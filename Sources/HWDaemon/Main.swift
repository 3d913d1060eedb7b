// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import Glibc
internal import Logging
internal import Model
internal import Transport

/// `hwdaemon`: the command line.
@main
struct HWDaemonCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hwdaemon",
        abstract: "Serves HEVC compression sessions over a Unix socket.",
        discussion: """
            hwdaemon owns the codec hardware of a machine. Applications ask it for sessions over one socket, in \
            Varlink (interface org.hwdaemon, which 'varlinkctl introspect' shows), and each session is served by a \
            process of its own. It runs in the foreground and logs to standard error.

            ENVIRONMENT
              HWDAEMON_SOCKET   the socket's path, where --socket is not given
              HWDAEMON_DEVICES  device nodes to look at, separated by colons,
                                instead of every /dev/dri/renderD*
              HWDAEMON_CAPABILITIES
                                a catalogue of codec paths and driver quirks to
                                use in place of the installed one
              HWDAEMON_CAPABILITIES_DIR
                                overrides of it, in place of
                                /etc/hwdaemon/capabilities.d
              STATE_DIRECTORY   where to remember what was verified; else
                                /var/lib/hwdaemon where that is there
              LISTEN_FDS, LISTEN_PID
                                set by systemd: listen on the socket it made,
                                where no option says otherwise
              Workers inherit the environment, LIBVA_DRIVER_NAME and the like.

            FILES
              /run/hwdaemon/hwdaemon.sock
                                the socket, for its owner and group (mode 0660)
              ../share/hwdaemon/capabilities.json
                                the catalogue; one is built in as well
              /etc/hwdaemon/capabilities.d/*.json
                                overrides, matched by id, later files last

            SIGNALS
              SIGTERM, SIGINT   end it: sessions are told and have 5 seconds to end,
                                then the exit status is 0; a second signal kills
                                the sessions at once

            EXIT STATUS
              0                 ended by a signal
              64                the command line is wrong
              69                another daemon has the socket
              70                the system failed
              77                the socket may not be made there
            """,
        version: "hwdaemon \(HWDaemonVersion.text)")

    @Option(
        help: ArgumentHelp(
            "Listen on PATH.", discussion: "Default: $HWDAEMON_SOCKET, else /run/hwdaemon/hwdaemon.sock.",
            valueName: "path"))
    var socket: String?

    @Option(help: ArgumentHelp("Listen on an inherited listening socket instead.", valueName: "n"))
    var listenFd: Int32?

    @Flag(
        name: .customLong("private"),
        help: ArgumentHelp(
            "Serve only this user, and end with the parent process.",
            discussion: "Needs --listen-fd. Only warnings are logged unless --log-level says otherwise."))
    var isPrivate = false

    @Option(
        help: ArgumentHelp(
            "With --private: the process that started this one; end if it is the parent no more.",
            valueName: "pid"))
    var parent: Int32?

    @Option(
        help: ArgumentHelp(
            "Where hwdaemon-encoder and hwdaemon-probe are.",
            discussion: "Default: beside hwdaemon, else ../libexec/hwdaemon from there.", valueName: "dir"))
    var libexec: String?

    @Option(help: ArgumentHelp("Serve at most this many sessions at once.", valueName: "n"))
    var maxSessions = 64

    @Option(help: ArgumentHelp("Serve at most this many sessions of one user at once.", valueName: "n"))
    var maxSessionsPerUser = 16

    @Option(
        help: ArgumentHelp(
            "Kill a session's process after this long without progress in one codec call.",
            valueName: "seconds"))
    var stallTimeout = 30.0

    @Option(
        help: ArgumentHelp(
            "Log this and what is more important: debug, info, notice, warning, error.",
            discussion: "Default: info, with --private warning.", valueName: "level"),
        transform: Self.level)
    var logLevel: Logger.Level?

    func validate() throws {
        if socket != nil, listenFd != nil {
            throw ValidationError("--socket and --listen-fd exclude each other.")
        }
        if let listenFd, listenFd < 3 { throw ValidationError("--listen-fd must be 3 or more.") }
        if isPrivate, listenFd == nil { throw ValidationError("--private needs --listen-fd.") }
        if parent != nil, !isPrivate { throw ValidationError("--parent needs --private.") }
        guard 1...4096 ~= maxSessions, 1...4096 ~= maxSessionsPerUser else {
            throw ValidationError("--max-sessions and --max-sessions-per-user take 1 to 4096.")
        }
        guard stallTimeout >= 0.1, stallTimeout <= 86400 else {
            throw ValidationError("--stall-timeout takes 0.1 to 86400 seconds.")
        }
    }

    func run() throws {
        let level = logLevel ?? (isPrivate ? .warning : .info)
        LoggingSystem.bootstrap { _ in StandardErrorLog(level: level) }
        var logger = Logger(label: "hwdaemon")
        logger.logLevel = level
        do throws(SystemError) {
            ProcessControl.ignoreBrokenPipes()
            // Before any thread could start, so that nobody takes the signals otherwise.
            let signals = try SignalFD([SIGTERM, SIGINT])
            guard try tieToParent() else { return }
            try Self.raiseFileLimit()
            let configuration = self.configuration()
            let broker = try Broker(configuration, signals: signals, logger: logger)
            logger.notice(
                "hwdaemon \(HWDaemonVersion.text) listens",
                metadata: ["socket": "\(configuration.endpoint)", "libexec": "\(configuration.libexec)"])
            try broker.run()
        } catch {
            logger.critical("\(error)")
            throw ExitCode(Self.exitStatus(error).rawValue)
        }
    }

    private static func level(_ name: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: name) else {
            throw ValidationError("--log-level takes debug, info, notice, warning or error.")
        }
        return level
    }

    private func configuration() -> Configuration {
        let path = socket ?? Configuration.environment("HWDAEMON_SOCKET") ?? "/run/hwdaemon/hwdaemon.sock"
        let inherited = listenFd ?? (socket == nil ? Configuration.activatedSocket : nil)
        return Configuration(
            endpoint: inherited.map { .descriptor($0) } ?? .path(path), isPrivate: isPrivate,
            libexec: libexec ?? Configuration.findLibexec(),
            sessions: SessionRegistry.Limits(sessions: maxSessions, sessionsPerUser: maxSessionsPerUser),
            stallLimit: .seconds(stallTimeout), deviceList: Configuration.deviceList)
    }

    /// Has the kernel end a private daemon with its parent; false if the parent is gone already.
    private func tieToParent() throws(SystemError) -> Bool {
        guard isPrivate else { return true }
        return try ProcessControl.setParentDeathSignal(SIGTERM, parent: parent ?? getppid())
    }

    private static func raiseFileLimit() throws(SystemError) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        try ProcessControl.limit(.openFiles, soft: UInt64(limit.rlim_max), hard: UInt64(limit.rlim_max))
    }

    private static func exitStatus(_ error: SystemError) -> ExitStatus {
        switch error.errno {
        case EADDRINUSE: .unavailable
        case EACCES, EPERM: .noPermission
        default: .software
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
