// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import Logging

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
              NOTIFY_SOCKET, WATCHDOG_USEC
                                set by systemd: tell it the state, and signs of
                                life
              Workers inherit the environment, LIBVA_DRIVER_NAME and the like.

            FILES
              /run/hwdaemon/hwdaemon.sock
                                the socket, for its owner and group (mode 0660)
              /etc/hwdaemon/hwdaemon.conf, then /etc/hwdaemon/*.conf by name
                                the configuration; later lines win, --set and
                                other options win over all; a private daemon
                                reads none
              ../share/hwdaemon/capabilities.json
                                the catalogue; one is built in as well
              /etc/hwdaemon/capabilities.d/*.json
                                overrides, matched by id, later files last

            CONFIGURATION
              Lines of Key=Value; those that start with # or ; are comments, and an
              empty value is the default. The keys, with their defaults:

            \(SettingsTable.manual)

            SIGNALS
              SIGTERM, SIGINT   end it: no new sessions; running ones may finish
                                within DrainTimeout, are then told and have 5
                                seconds, and the exit status is 0. A second signal
                                ends the first wait, a third kills the sessions
              SIGHUP            read the configuration again, for sessions to come,
                                and look at the devices anew

            EXIT STATUS
              0                 ended by a signal
              64                the command line is wrong
              69                another daemon has the socket
              70                the system failed
              77                the socket may not be made there
              78                the configuration is wrong; every line is told
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
            discussion: "Needs --listen-fd. Only errors are logged unless --log-level says otherwise."))
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

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "Read the configuration files of this folder.",
            discussion: "Default: /etc/hwdaemon, with --private none.", valueName: "dir"))
    var configurationFolder: String?

    @Option(help: ArgumentHelp("Set a key of the configuration; may be repeated.", valueName: "key=value"))
    var set: [String] = []

    @Option(help: ArgumentHelp("The same as --set MaxSessions=N.", valueName: "n"))
    var maxSessions: String?

    @Option(help: ArgumentHelp("The same as --set MaxSessionsPerUser=N.", valueName: "n"))
    var maxSessionsPerUser: String?

    @Option(help: ArgumentHelp("The same as --set StallTimeout=SECONDS.", valueName: "seconds"))
    var stallTimeout: String?

    @Option(
        help: ArgumentHelp(
            "The same as --set LogLevel=LEVEL: debug, info, notice, warning, error.",
            discussion: "With --private the default is error.", valueName: "level"))
    var logLevel: String?

    func validate() throws {
        if socket != nil, listenFd != nil {
            throw ValidationError("--socket and --listen-fd exclude each other.")
        }
        if let listenFd, listenFd < 3 { throw ValidationError("--listen-fd must be 3 or more.") }
        if isPrivate, listenFd == nil { throw ValidationError("--private needs --listen-fd.") }
        if parent != nil, !isPrivate { throw ValidationError("--parent needs --private.") }
        // The command line alone: what is wrong in the files is another exit status.
        do throws(ConfigurationFault) {
            _ = try SettingsFiles(folder: nil, base: base, overrides: try overrides()).load()
        } catch {
            throw ValidationError(error.lines.joined(separator: "\n"))
        }
    }

    func run() throws {
        LoggingSystem.bootstrap { _ in StandardErrorLog() }
        StandardErrorLog.setLevel(base.logLevel)
        let logger = Logger(label: "hwdaemon")
        let files: SettingsFiles
        let settings: Settings
        do throws(ConfigurationFault) {
            files = try SettingsFiles(folder: folder, base: base, overrides: overrides())
            settings = try files.load()
        } catch {
            for line in error.lines { logger.critical("\(line)") }
            throw ExitCode(Self.wrongConfiguration)
        }
        StandardErrorLog.setLevel(settings.logLevel)
        do throws(SystemError) {
            ProcessControl.ignoreBrokenPipes()
            // Before any thread could start, so that nobody takes the signals otherwise.
            let signals = try SignalFD([SIGTERM, SIGINT, SIGHUP])
            guard try tieToParent() else { return }
            try Self.raiseFileLimit()
            let manager = try ServiceManager()
            let configuration = self.configuration(files, manager)
            let broker = try Broker(configuration, settings, manager: manager, signals: signals, logger: logger)
            logger.notice(
                "hwdaemon \(HWDaemonVersion.text) listens",
                metadata: ["socket": "\(configuration.endpoint)", "libexec": "\(configuration.libexec)"])
            try broker.run()
        } catch {
            logger.critical("\(error)")
            throw ExitCode(Self.exitStatus(error).rawValue)
        }
    }

    /// `EX_CONFIG` of sysexits.h.
    private static let wrongConfiguration: Int32 = 78

    /// What holds where nothing else is said.
    private var base: Settings { isPrivate ? .ofPrivateDaemon : Settings() }

    private var folder: String? { configurationFolder ?? (isPrivate ? nil : "/etc/hwdaemon") }

    /// The settings of the command line.
    private func overrides() throws(ConfigurationFault) -> [(key: String, value: String)] {
        let named = [
            ("MaxSessions", maxSessions), ("MaxSessionsPerUser", maxSessionsPerUser),
            ("StallTimeout", stallTimeout), ("LogLevel", logLevel),
        ]
        var pairs = named.compactMap { key, value in value.map { (key: key, value: $0) } }
        for text in set {
            guard let sign = text.firstIndex(of: "=") else {
                throw ConfigurationFault(lines: ["command line: '\(text)' is not Key=Value"])
            }
            pairs.append((String(text[..<sign]), String(text[text.index(after: sign)...])))
        }
        return pairs
    }

    private func configuration(_ files: SettingsFiles, _ manager: ServiceManager) -> Configuration {
        let path = socket ?? Environment.value("HWDAEMON_SOCKET") ?? "/run/hwdaemon/hwdaemon.sock"
        let inherited = listenFd ?? (socket == nil ? manager.listener : nil)
        return Configuration(
            endpoint: inherited.map { .descriptor($0) } ?? .path(path), isPrivate: isPrivate,
            libexec: libexec ?? Configuration.findLibexec(), files: files)
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
