// SPDX-License-Identifier: GPL-2.0-or-later
internal import Logging

/// What an admin sets: limits, times, devices, the log.
struct Settings: Hashable, Sendable {
    var maxSessions = 64
    var maxSessionsPerUser = 16
    var maxPoolBytesPerSession: UInt64 = 2 << 30
    var stallTimeout = Duration.seconds(30)
    var hardwareStallTimeout = Duration.seconds(5)
    var clientStallTimeout = Duration.seconds(30)
    var probeTimeout = Duration.seconds(5)
    var drainTimeout = Duration.seconds(10)
    var spareWorkers = 1
    /// Nodes separated by colons; nil for every render node.
    var devices: String?
    var logLevel = Logger.Level.info

    /// What a private daemon starts from: its one client waits for it, and repeats what went wrong with a session.
    static let ofPrivateDaemon = {
        var settings = Settings()
        settings.drainTimeout = .zero
        settings.logLevel = .error
        return settings
    }()

    /// Sets one value by its key; an empty one stands for the default, as in systemd's files.
    ///
    /// - Parameter base: where the defaults are.
    mutating func set(_ key: String, to text: String, base: Settings) throws(SettingFault) {
        guard let row = SettingsTable.row(key) else { throw SettingFault("there is no key \(key)") }
        if text.isEmpty { return row.reset(&self, base) }
        do throws(SettingFault) { try row.set(&self, text) } catch {
            throw SettingFault("\(key) takes \(row.takes): \(error.reason)")
        }
    }
}

/// Why a value cannot be set: one sentence without an end.
struct SettingFault: Error, Hashable {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}

/// One key: how it is read, and what the manual says of it.
struct SettingsRow: Sendable {
    let key: String
    /// What a value looks like.
    let takes: String
    let help: String
    let set: @Sendable (inout Settings, String) throws(SettingFault) -> Void
    let reset: @Sendable (inout Settings, Settings) -> Void
    /// The value as it would be written.
    let show: @Sendable (Settings) -> String

    /// A key of one property.
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

/// The keys of the configuration: the one table for reading, checking and the manual.
enum SettingsTable {
    static let rows: [SettingsRow] = [
        SettingsRow("MaxSessions", \.maxSessions, .count(1...4096), "Sessions of all users at once."),
        SettingsRow("MaxSessionsPerUser", \.maxSessionsPerUser, .count(1...4096), "Sessions of one user at once."),
        SettingsRow(
            "MaxPoolBytesPerSession", \.maxPoolBytesPerSession, .size((1 << 20)...(1 << 40)),
            "Memory for frames that one session may register."),
        SettingsRow(
            "SpareWorkers", \.spareWorkers, .count(0...1),
            "Encoder processes started ahead, so that a session need not wait for one to start."),
        SettingsRow(
            "StallTimeout", \.stallTimeout, .time(0.1...86400),
            "A session's process is killed after this long without progress in one call of a software codec."),
        SettingsRow(
            "HardwareStallTimeout", \.hardwareStallTimeout, .time(0.1...86400), "The same where hardware encodes."),
        SettingsRow(
            "ClientStallTimeout", \.clientStallTimeout, .time(0.1...86400),
            "A session ends when its client has taken no packet for this long."),
        SettingsRow(
            "ProbeTimeout", \.probeTimeout, .time(0.1...600),
            "A probe of a device is given up and killed after this long."),
        SettingsRow(
            "DrainTimeout", \.drainTimeout, .time(0...3600),
            "Running sessions may take this long to finish when the daemon is asked to end."),
        SettingsRow(
            "Devices", \.devices, .devices,
            "Device nodes to look at instead of every /dev/dri/renderD*; HWDAEMON_DEVICES wins."),
        SettingsRow("LogLevel", \.logLevel, .logLevel, "What is logged: this and what is more important."),
    ]

    static func row(_ key: String) -> SettingsRow? { rows.first { $0.key == key } }

    /// The manual's section.
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
