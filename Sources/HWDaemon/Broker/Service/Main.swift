// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import HWDWire
internal import Logging

/// `hwdaemon`: the command line.
@main
struct HWDaemonCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hwdaemon",
        abstract: "Serves sessions of video codecs and of pixel transfers over a Unix socket.",
        discussion: HelpText.discussion,
        version: "hwdaemon \(HWDaemonVersion.text)")

    @Option(
        help: ArgumentHelp(
            "Listen on PATH.", discussion: "Default: $HWDAEMON_SOCKET, else /run/hwdaemon/hwdaemon.sock.",
            valueName: "path"))
    var socket: String?

    @Option(help: ArgumentHelp("Listen on an inherited listening socket, by its descriptor.", valueName: "n"))
    var listenFd: Int32?

    @Flag(
        name: .customLong("private"),
        help: ArgumentHelp(
            "Serve only this user, and end with the parent process.",
            discussion: """
                Requires --listen-fd. Logs only errors by default. Without --lifetime-fd it ends with the thread that \
                started it.
                """))
    var isPrivate = false

    @Option(
        help: ArgumentHelp(
            "With --private: end at once unless this process is the parent.",
            valueName: "pid"))
    var parent: Int32?

    @Option(
        help: ArgumentHelp(
            "With --private: end when the other end of this inherited pipe or socket is closed.", valueName: "n"))
    var lifetimeFd: Int32?

    @Option(
        help: ArgumentHelp(
            "With --private: the kind of the first session, whose process starts at once.",
            discussion: "compression (the default), decompression or transfer.", valueName: "kind"),
        transform: { text in
            guard let kind = SessionKind(rawValue: text) else { throw ValidationError("there is no such kind") }
            return kind
        })
    var expect: SessionKind?

    @Option(
        help: ArgumentHelp(
            "The directory of hwdaemon-encoder, hwdaemon-probe and the other programs.",
            discussion: "Default: that of hwdaemon, else ../libexec/hwdaemon relative to it.", valueName: "dir"))
    var libexec: String?

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "Read the configuration files in this directory, which must exist.",
            discussion: "Default: /etc/hwdaemon, if it exists; none with --private.", valueName: "dir"))
    var configurationFolder: String?

    @Flag(
        help: ArgumentHelp(
            "Only read the configuration: print each wrong line with its file and number, and warnings.",
            discussion: "The exit code is 0, or 78 where a line is wrong. A daemon that runs is not asked."))
    var checkConfig = false

    @Option(help: ArgumentHelp("Set a key of the configuration; can be repeated.", valueName: "key=value"))
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
            discussion: "Default with --private: error.", valueName: "level"))
    var logLevel: String?

    func validate() throws {
        if socket != nil, listenFd != nil {
            throw ValidationError("--socket and --listen-fd exclude each other.")
        }
        if let listenFd, listenFd < 3 { throw ValidationError("--listen-fd must be at least 3.") }
        if isPrivate, listenFd == nil { throw ValidationError("--private requires --listen-fd.") }
        if expect != nil, !isPrivate { throw ValidationError("--expect requires --private.") }
        if parent != nil, !isPrivate { throw ValidationError("--parent requires --private.") }
        if let lifetimeFd {
            guard isPrivate, parent == nil else {
                throw ValidationError("--lifetime-fd requires --private and excludes --parent.")
            }
            guard lifetimeFd >= 3, lifetimeFd != listenFd else {
                throw ValidationError("--lifetime-fd must be at least 3 and not that of --listen-fd.")
            }
        }
        // The command line alone; errors in the files have another exit status.
        do throws(ConfigurationFault) {
            _ = try SettingsFiles(folder: nil, base: base, overrides: try overrides()).load()
        } catch {
            throw ValidationError(error.lines.joined(separator: "\n"))
        }
    }

    static func main() {
        StandardDescriptors.reserve()
        main(nil)
    }

    func run() throws {
        ProcessControl.ignoreWriteSignals()
        // After an upgrade of the files it would be that of a file that was removed.
        _ = Program.path
        LoggingSystem.bootstrap { _ in StandardErrorLog() }
        StandardErrorLog.setLevel(base.logLevel)
        let logger = Logger(label: "hwdaemon")
        let files: SettingsFiles
        let settings: Settings
        do throws(ConfigurationFault) {
            files = try SettingsFiles(
                folder: folder, mustExist: configurationFolder != nil, base: base, overrides: overrides())
            settings = try files.load()
        } catch {
            for line in error.lines { logger.critical("\(line)") }
            throw ExitCode(Self.wrongConfiguration)
        }
        if !checkConfig { StandardErrorLog.setLevel(settings.logLevel) }
        if let warning = Confinement(settings).warning { logger.warning("\(warning)") }
        if checkConfig { return print("the configuration is valid\(folder.map { " (\($0))" } ?? "")") }
        do throws(SystemError) {
            let predecessor = try Predecessor(isPrivate: isPrivate, logger: logger)
            // A child of the daemon before would be no child of the service manager.
            if predecessor != nil { try ProcessControl.detach() }
            // The broker holds the connections of all users until their workers have them.
            try ProcessControl.setDumpable(false)
            // Before any thread starts, because each inherits the mask that blocks the signals.
            let signals = try SignalFD([SIGTERM, SIGINT, SIGHUP, SIGUSR2])
            guard try tieToParent() else { return }
            try Self.raiseLimits(logger)
            let manager = try ServiceManager()
            let configuration = self.configuration(files, manager, isUpgrade: predecessor != nil)
            let broker = try Broker(configuration, settings, manager: manager, signals: signals, logger: logger)
            logger.notice(
                "hwdaemon \(HWDaemonVersion.text) is listening",
                metadata: [
                    "socket": "\(configuration.endpoint)", "libexec": "\(configuration.libexec)",
                    "pid": "\(getpid())",
                ])
            if settings.sandbox == .enforce, let missing = Sandbox.missing { logger.notice("\(missing)") }
            if let predecessor { try broker.upgrades.replace(predecessor) }
            try broker.run()
        } catch {
            logger.critical("\(error)\(Self.holder(of: error))")
            throw ExitCode(Self.exitStatus(error).rawValue)
        }
    }

    /// `EX_CONFIG` of sysexits.h.
    private static let wrongConfiguration: Int32 = 78

    /// The defaults.
    private var base: Settings { isPrivate ? .ofPrivateDaemon : Settings() }

    private var folder: String? { configurationFolder ?? (isPrivate ? nil : "/etc/hwdaemon") }

    /// The settings given on the command line.
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

    private func configuration(
        _ files: SettingsFiles, _ manager: ServiceManager, isUpgrade: Bool
    ) -> Configuration {
        let path = socket ?? Environment.value("HWDAEMON_SOCKET") ?? "/run/hwdaemon/hwdaemon.sock"
        let inherited =
            isUpgrade
            ? HandoverPacket.descriptors.listener : listenFd ?? (socket == nil ? manager.listener : nil)
        return Configuration(
            endpoint: inherited.map { .descriptor($0) } ?? .path(path), isPrivate: isPrivate, lifetime: lifetimeFd,
            expected: expect, libexec: libexec ?? Configuration.findLibexec(), files: files)
    }

    /// Makes the kernel end a private daemon with its parent; false if the parent has ended already.
    private func tieToParent() throws(SystemError) -> Bool {
        guard isPrivate, lifetimeFd == nil else { return true }
        return try ProcessControl.setParentDeathSignal(SIGTERM, parent: parent ?? getppid())
    }

    /// Raises the soft limits that this process and its workers, which inherit them, may need to the hard ones.
    private static func raiseLimits(_ logger: Logger) throws(SystemError) {
        try ProcessControl.raiseLimit(.openFiles)
        guard let bytes = try ProcessControl.raiseLimit(.fileSize) else { return }
        logger.warning(
            "RLIMIT_FSIZE limits shared memory too: sessions that need more in one piece fail",
            metadata: ["bytes": "\(bytes)"])
    }

    /// Which process listens on a socket that is in use, as the end of a message.
    private static func holder(of error: SystemError) -> String {
        guard error.errno == EADDRINUSE, let path = error.subject, let other = try? UnixSocket.connect(to: path),
            let peer = try? PeerCredentials(of: other.rawValue)
        else { return "" }
        let name = (try? BoundedFile.read("/proc/\(peer.pid)/comm", limit: 64)).map {
            String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self).printable(maxBytes: 64)
        }
        return ": process \(peer.pid)\(name.map { " (\($0))" } ?? "") of user \(peer.uid) listens there"
    }

    private static func exitStatus(_ error: SystemError) -> ExitStatus {
        switch error.errno {
        case EADDRINUSE: .unavailable
        case EACCES, EPERM: .noPermission
        default: .software
        }
    }
}
