// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDWire
import Logging
import Testing

@testable import HWDaemon

@Suite("Settings")
struct SettingsTests {
    private func parse(_ text: String, base: Settings = Settings()) -> (settings: Settings, faults: [String]) {
        var settings = base
        var faults: [String] = []
        SettingsFiles.parse(text, named: "a.conf", base: base, &settings, &faults)
        return (settings, faults)
    }

    @Test("The installed hwdaemon.conf has every key, with its description and its default, as comments")
    func installedFile() throws {
        let path = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../systemd/hwdaemon.conf")
            .standardized.path
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.allSatisfy { $0.hasPrefix("#") })
        let keys = lines.filter { !$0.hasPrefix("# ") }.map { String($0.dropFirst()) }
        #expect(keys == SettingsTable.rows.map { "\($0.key)=\($0.show(Settings()))" })
        let text = lines.filter { $0.hasPrefix("# ") }.map { $0.dropFirst(2) }.joined(separator: " ")
        for row in SettingsTable.rows { #expect(text.contains("\(row.help) Takes \(row.takes)."), "\(row.key)") }
        let parsed = parse(keys.joined(separator: "\n"))
        #expect(parsed.settings == Settings() && parsed.faults.isEmpty)
    }

    @Test func readsAndWritesEveryKey() {
        let text = """
            # limits
            MaxSessions=7
              MaxSessionsPerUser =  3\t
            MaxPoolBytesPerSession=512M\r
            StallTimeout=1.5
            HardwareStallTimeout=200ms
            ClientStallTimeout=2 min
            IdleTimeout=0
            PrepareTimeout=90
            OrphanTimeout=2h

            ; times
            ProbeTimeout=3s
            DrainTimeout=0
            Devices=/dev/null:/dev/dri/renderD129
            LogLevel=notice
            """
        let (settings, faults) = parse(text)
        #expect(faults.isEmpty)
        var expected = Settings()
        expected.maxSessions = 7
        expected.maxSessionsPerUser = 3
        expected.maxPoolBytesPerSession = 512 << 20
        expected.stallTimeout = .milliseconds(1500)
        expected.hardwareStallTimeout = .milliseconds(200)
        expected.clientStallTimeout = .seconds(120)
        expected.idleTimeout = .zero
        expected.prepareTimeout = .seconds(90)
        expected.orphanTimeout = .seconds(7200)
        expected.probeTimeout = .seconds(3)
        expected.drainTimeout = .zero
        expected.devices = "/dev/null:/dev/dri/renderD129"
        expected.logLevel = .notice
        #expect(settings == expected)

        // Written values can be read again, so the manual's defaults are correct.
        let written = SettingsTable.rows.map { "\($0.key)=\($0.show(settings))" }.joined(separator: "\n")
        #expect(parse(written).settings == expected)
        let defaults = SettingsTable.rows.map { "\($0.key)=\($0.show(Settings()))" }.joined(separator: "\n")
        #expect(parse(defaults, base: expected).settings.maxSessions == Settings().maxSessions)
    }

    @Test func restoresDefaultsAndPrefersLaterLines() {
        let (settings, faults) = parse(
            "MaxSessions=5\nMaxSessions=6\nDevices=/dev/null\nDevices=\nDrainTimeout=\n", base: .ofPrivateDaemon)
        #expect(faults.isEmpty)
        #expect(settings.maxSessions == 6)
        #expect(settings.devices == nil)
        #expect(settings.drainTimeout == .zero)
    }

    @Test(
        "Reports wrong lines with their numbers",
        arguments: [
            ("MaxSessions=0", "MaxSessions takes 1 to 4096: 0 is out of range"),
            ("MaxSessions=4097", "MaxSessions takes 1 to 4096: 4097 is out of range"),
            (
                "MaxSessions=99999999999999999999",
                "MaxSessions takes 1 to 4096: '99999999999999999999' is not a whole number"
            ),
            ("MaxSessions=many", "MaxSessions takes 1 to 4096: 'many' is not a whole number"),
            ("MaxSession=1", "there is no key MaxSession"),
            ("[Daemon]", "'[Daemon]' is not Key=Value"),
            ("=3", "there is no key "),
            ("StallTimeout=nan", "StallTimeout takes 0.1 to 86400 seconds (s, ms, min, h): 'nan' is not a time"),
            ("StallTimeout=1e9", "StallTimeout takes 0.1 to 86400 seconds (s, ms, min, h): '1e9' is not a time"),
            ("StallTimeout=-1", "StallTimeout takes 0.1 to 86400 seconds (s, ms, min, h): '-1' is not a time"),
            (
                "StallTimeout=2 days",
                "StallTimeout takes 0.1 to 86400 seconds (s, ms, min, h): '2 days' is not a time"
            ),
            (
                "MaxPoolBytesPerSession=17592186044416G",
                "MaxPoolBytesPerSession takes 1M to 1T (bytes, K, M, G, T): 17592186044416G is out of range"
            ),
            (
                "MaxPoolBytesPerSession=1.5G",
                "MaxPoolBytesPerSession takes 1M to 1T (bytes, K, M, G, T): '1.5G' is not a size"
            ),
            ("Devices=null", "Devices takes absolute paths, separated by colons: 'null' is not an absolute path"),
            (
                "LogLevel=loud",
                "LogLevel takes one of debug, info, notice, warning, error: 'loud' is not one of them"
            ),
        ])
    func reportsWrongLines(_ line: String, _ sentence: String) {
        let (settings, faults) = parse("# one\n\n\(line)\nMaxSessions=5\n")
        #expect(faults == ["a.conf:3: \(sentence)"])
        #expect(settings.maxSessions == 5)
    }

    @Test func reportsBinaryDataOnOneLine() {
        let (_, faults) = parse("\u{1b}[31m\u{0}" + String(repeating: "x", count: 10000))
        #expect(faults.count == 1)
        #expect(faults.allSatisfy { $0.utf8.count < 400 && !$0.contains("\u{1b}") })
    }

    @Test func readsTheMainFileThenTheOthersByName() throws {
        let folder = NSTemporaryDirectory() + "hwdaemon-test-\(getpid())-conf"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let files = [
            "hwdaemon.conf": "MaxSessions=1\nMaxSessionsPerUser=1\nStallTimeout=1\nDrainTimeout=1",
            "10-site.conf": "MaxSessionsPerUser=2\nStallTimeout=2\nDrainTimeout=2",
            "20-host.conf": "StallTimeout=3\nDrainTimeout=3", "30-host.conf.bak": "MaxSessions=4",
            ".40.conf": "MaxSessions=4",
        ]
        for (name, text) in files {
            try text.write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
        }
        let settings = try SettingsFiles(
            folder: folder, base: Settings(), overrides: [("DrainTimeout", "4")]
        ).load()
        #expect(settings.maxSessions == 1)
        #expect(settings.maxSessionsPerUser == 2)
        #expect(settings.stallTimeout == .seconds(3))
        #expect(settings.drainTimeout == .seconds(4))

        try String(repeating: "#", count: 70000).write(
            toFile: "\(folder)/50.conf", atomically: false, encoding: .utf8)
        try "Wrong".write(toFile: "\(folder)/60.conf", atomically: false, encoding: .utf8)
        let fault = #expect(throws: ConfigurationFault.self) {
            try SettingsFiles(folder: folder, base: Settings(), overrides: [("MaxSessions", "x")]).load()
        }
        #expect(
            fault?.lines == [
                "\(folder)/50.conf: more than 65536 bytes", "\(folder)/60.conf:1: 'Wrong' is not Key=Value",
                "command line: MaxSessions takes 1 to 4096: 'x' is not a whole number",
            ])
    }

    @Test func matchesTheTableInTheAdministratorsGuide() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/admin.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        for row in SettingsTable.rows {
            let cells = lines.filter { $0.hasPrefix("| `\(row.key)` |") }
                .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
            #expect(cells.map { $0[1] } == [row.show(Settings())], "\(row.key)")
        }
    }

    @Test(
        "Warns of paths that open a shared tree to drivers",
        arguments: [
            "/", "//", "/home/", "/etc/.", "/root", "/proc", "/sys", "/dev", "/var", "/run", "/usr/../home",
        ], ["", "/usr/local/nvidia:"])
    func warnsOfSharedTrees(_ path: String, _ others: String) {
        var settings = Settings()
        settings.sandboxPaths = others + path
        #expect(Confinement(settings).warning?.contains("all of \(path) to drivers") == true)
        settings.sandbox = .off
        #expect(Confinement(settings).warning == nil)
    }

    @Test(arguments: [nil as String?, "/usr/local/nvidia", "/opt/vendor/lib:/etc/vulkan", "/home/alice/cache"])
    func acceptsFoldersOfDrivers(_ paths: String?) {
        var settings = Settings()
        settings.sandboxPaths = paths
        #expect(Confinement(settings).warning == nil)
    }

    @Test func acceptsAMissingDirectory() throws {
        let nowhere = SettingsFiles(folder: "/nowhere/hwdaemon", base: Settings(), overrides: [])
        #expect(try nowhere.load() == Settings())
    }

    @Test func writesLogLinesInLogfmt() {
        let line = StandardErrorLog.line(
            "session ended",
            [("code", "-12912"), ("reason", "it said \"no\"\nand \\ went"), ("empty", ""), ("size", "64x64")])
        #expect(
            line == #"session ended code=-12912 reason="it said \"no\" and \\ went" empty="" size=64x64"#)
    }
}
