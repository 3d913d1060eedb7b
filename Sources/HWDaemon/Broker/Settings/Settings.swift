// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDWire
internal import Logging

/// The administrator's settings: limits, timeouts, devices, log level.
struct Settings: Hashable, Sendable {
    var maxSessions = 64
    var maxSessionsPerUser = 16
    var maxRealTimeSessionsPerUser = SessionShare.percent(50)
    /// Zero: no limit.
    var maxHardwareSessions = 0
    var maxPoolBytesPerSession: UInt64 = 2 << 30
    var maxMemory = MemoryLimit.percent(75)
    var stallTimeout = Duration.seconds(30)
    var hardwareStallTimeout = Duration.seconds(5)
    var clientStallTimeout = Duration.seconds(30)
    /// Zero: never.
    var idleTimeout = Duration.seconds(60)
    /// Zero: never.
    var prepareTimeout = Duration.seconds(60)
    var orphanTimeout = Duration.seconds(3600)
    var probeTimeout = Duration.seconds(5)
    var drainTimeout = Duration.seconds(10)
    /// Zero: no bound.
    var upgradeTimeout = Duration.zero
    var spareWorkers = 1
    /// Nodes to probe, separated by colons; nil for every render node.
    var devices: String?
    var sandbox = SandboxRequest.Mode.enforce
    /// Separated by colons; nil for none.
    var sandboxPaths: String?
    var logLevel = Logger.Level.info

    /// The defaults of a private daemon: its only client waits for it to end, reports failed sessions itself, and
    /// takes nothing from other users.
    static let ofPrivateDaemon = {
        var settings = Settings()
        settings.drainTimeout = .zero
        settings.idleTimeout = .zero
        settings.prepareTimeout = .zero
        settings.logLevel = .error
        return settings
    }()

    /// Sets a value by its key; an empty one restores the default, as in systemd's files.
    ///
    /// - Parameter base: holds the defaults.
    mutating func set(_ key: String, to text: String, base: Settings) throws(SettingFault) {
        guard let row = SettingsTable.row(key) else { throw SettingFault("there is no key \(key)") }
        if text.isEmpty { return row.reset(&self, base) }
        do throws(SettingFault) { try row.set(&self, text) } catch {
            throw SettingFault("\(key) takes \(row.takes): \(error.reason)")
        }
    }
}

/// Why a value cannot be set.
struct SettingFault: Error, Hashable {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}

/// One key: how its value is read and written, and its description in the manual.
struct SettingsRow: Sendable {
    let key: String
    /// The form of a value, for the manual and error messages.
    let takes: String
    let help: String
    let set: @Sendable (inout Settings, String) throws(SettingFault) -> Void
    let reset: @Sendable (inout Settings, Settings) -> Void
    /// The value as it is written in a file.
    let show: @Sendable (Settings) -> String

    /// A key that sets one property.
    init<Value>(
        _ key: String, _ property: any WritableKeyPath<Settings, Value> & Sendable, _ kind: SettingKind<Value>,
        _ help: String
    ) {
        self.key = key
        self.help = help
        takes = kind.takes
        set = { (settings, text) throws(SettingFault) in settings[keyPath: property] = try kind.read(text) }
        reset = { settings, base in settings[keyPath: property] = base[keyPath: property] }
        show = { kind.show($0[keyPath: property]) }
    }
}

/// The keys of the configuration: the single source for reading, checking and the manual.
enum SettingsTable {
    static let rows: [SettingsRow] = [
        SettingsRow("MaxSessions", \.maxSessions, .count(1...4096), "Sessions of all users that may run at once."),
        SettingsRow(
            "MaxSessionsPerUser", \.maxSessionsPerUser, .count(1...4096),
            "Sessions of one user that may run at once."),
        SettingsRow(
            "MaxRealTimeSessionsPerUser", \.maxRealTimeSessionsPerUser, .sessionShare(0...4096),
            "Sessions of one user whose threads may run before others (RealTime); further ones run as normal ones."),
        SettingsRow(
            "MaxHardwareSessions", \.maxHardwareSessions, .count(0...4096),
            "Sessions that encode or decode on one GPU at once; 0: no limit. Further ones use another GPU or software."
        ),
        SettingsRow(
            "MaxPoolBytesPerSession", \.maxPoolBytesPerSession, .size((1 << 20)...(1 << 40)),
            "Memory for frames that a session may register."),
        SettingsRow(
            "MaxMemory", \.maxMemory, .memory(MemoryLimit.least...(1 << 44)),
            "Memory that the sessions of all users may have together, pools included; one user may have half of it."
        ),
        SettingsRow(
            "SpareWorkers", \.spareWorkers, .count(0...1),
            "Processes started in advance, so that a session need not wait for one to start."),
        SettingsRow(
            "StallTimeout", \.stallTimeout, .time(0.1...86400),
            "Time without progress in a software codec's call after which its process is killed."),
        SettingsRow(
            "HardwareStallTimeout", \.hardwareStallTimeout, .time(0.1...86400), "The same for hardware codecs."),
        SettingsRow(
            "ClientStallTimeout", \.clientStallTimeout, .time(0.1...86400),
            "Time after which a session ends because its client has taken no packet."),
        SettingsRow(
            "IdleTimeout", \.idleTimeout, .time(0...86400),
            "Time without a call after which a connection that has no session is closed; 0: never."),
        SettingsRow(
            "PrepareTimeout", \.prepareTimeout, .time(0...86400),
            "Time after which a session ends whose client has neither registered a pool nor prepared it; 0: never."),
        SettingsRow(
            "OrphanTimeout", \.orphanTimeout, .time(0...86400),
            "Time for which running sessions may continue after the daemon was killed."),
        SettingsRow(
            "ProbeTimeout", \.probeTimeout, .time(0.1...600),
            "Time after which a probe of a device is killed."),
        SettingsRow(
            "DrainTimeout", \.drainTimeout, .time(0...3600),
            "Time that running sessions have to finish when the daemon is asked to stop."),
        SettingsRow(
            "UpgradeTimeout", \.upgradeTimeout, .time(0...604_800),
            "Time that sessions have to finish in the daemon that was upgraded; 0: as long as they take."),
        SettingsRow(
            "Devices", \.devices, .paths(atMost: Devices.maxCount),
            "Device nodes to use instead of every /dev/dri/renderD* and /dev/nvidia0 to 7; HWDAEMON_DEVICES overrides it."
        ),
        SettingsRow(
            "Sandbox", \.sandbox, .sandboxMode,
            "Whether sessions' processes may make only the system calls, and open only the files, that codecs and "
                + "drivers need; report lets calls through, and the kernel's audit log names them."),
        SettingsRow(
            "SandboxPaths", \.sandboxPaths, .paths(atMost: 16),
            "Paths beneath which drivers may read and write, besides what they need; HWDAEMON_SANDBOX_PATHS "
                + "overrides it."),
        SettingsRow("LogLevel", \.logLevel, .logLevel, "The least severe level that is logged."),
    ]

    static func row(_ key: String) -> SettingsRow? { rows.first { $0.key == key } }

    /// The manual's list of keys.
    static var manual: String {
        rows.map { row in
            """
              \(row.key)=\(row.show(Settings()))
                  \(row.help)
                  Takes \(row.takes).
            """
        }.joined(separator: "\n")
    }
}
