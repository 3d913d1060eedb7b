// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite("Verification under a broker", .serialized)
struct VerificationTests {
    private static let notYet = "not verified: no frames were sent through it yet"

    /// A directory that is removed with the object.
    private final class Folder {
        let path: String

        init() throws {
            var template = Array("/tmp/hwdaemon-test-XXXXXX".utf8CString)
            path = try #require(mkdtemp(&template).map { String(cString: $0) })
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ name: String, _ text: String) throws {
            try text.write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8)
        }
    }

    @Test func verifiesSoftwareUnlessAskedNotTo() throws {
        let broker = try BrokerProcess()
        let listed = try broker.probe("{\"verify\":false}")
        #expect(listed.paths.map(\.reason) == Array(repeating: Self.notYet, count: 4))
        #expect(listed.paths.allSatisfy { $0.claimed && !$0.verified && $0.device == nil })

        let verified = try broker.probe()
        #expect(
            verified.paths.map(\.id) == [
                "hevc-main-encode", "hevc-main10-encode", "hevc-main-decode", "hevc-main10-decode",
            ])
        #expect(verified.paths.allSatisfy { $0.claimed && $0.verified && $0.reason == nil })
        #expect(verified.paths[0].driver.hasPrefix("x265 "))
        #expect(verified.paths[2].driver.hasPrefix("libavcodec "))
        #expect(verified.warnings.isEmpty)
        // The results are kept.
        #expect(try broker.probe("{\"verify\":false}").paths.allSatisfy(\.verified))
    }

    @Test func storesResultsOnDisk() throws {
        let state = try Folder()
        let environment = ["STATE_DIRECTORY": state.path]
        let file = "\(state.path)/probe-cache.json"
        _ = try BrokerProcess(environment: environment).probe()
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: state.path) == ["probe-cache.json"])
        let list = "{\"verify\":false}"
        #expect(try BrokerProcess(environment: environment).probe(list).paths.allSatisfy(\.verified))

        // Results for another kernel, and damaged files, do not count.
        let text = try String(contentsOfFile: file, encoding: .utf8)
        for damaged in [
            text.replacingOccurrences(of: "\"kernel\" : \"", with: "\"kernel\" : \"other-"),
            String(text.dropLast(text.count / 2)), "", "{}", "[1,2", text + "x",
            text.replacingOccurrences(of: "\"schema\" : 1", with: "\"schema\" : 9"),
        ] {
            try damaged.write(toFile: file, atomically: false, encoding: .utf8)
            let broker = try BrokerProcess(environment: environment)
            let paths = try broker.probe(list).paths
            #expect(paths.map(\.verified) == [false, false, false, false], "\(damaged)\n\(paths)\n\(broker.log)")
        }
        // A damaged file is replaced.
        #expect(try BrokerProcess(environment: environment).probe().paths.allSatisfy(\.verified))
        #expect(try BrokerProcess(environment: environment).probe(list).paths.allSatisfy(\.verified))
    }

    @Test func reusesAnswersWhileFilesAreUnchanged() throws {
        let folder = try Folder()
        try folder.write("starts", "")
        let overrides = try Folder()
        func starts() throws -> Int { try String(contentsOfFile: "\(folder.path)/starts", encoding: .utf8).count }
        func counting(_ program: String) -> String {
            "#!/bin/sh\nprintf x >>\(folder.path)/starts\nexec \(BrokerProcess.products)/\(program)\n"
        }
        let broker = try BrokerProcess(
            workers: [
                "hwdaemon-probe": counting("hwdaemon-probe"), "hwdaemon-verify": counting("hwdaemon-verify"),
            ], environment: ["HWDAEMON_CAPABILITIES_DIR": overrides.path])
        let first = try broker.probe()
        #expect(first.paths.allSatisfy { $0.verified })
        let before = try starts()
        #expect(try broker.probe() == first)
        #expect(try broker.probe("{\"verify\":false}") == first)
        #expect(try starts() == before)

        // An override that did not exist before.
        try overrides.write(
            "10-less.json", #"{"schema": 1, "paths": [{"id": "hevc-main-decode", "enabled": false}]}"#)
        #expect(try broker.probe().paths.count == first.paths.count - 1)
        #expect(try starts() > before)
    }

    @Test func appliesOverridesAndNamesInvalidOnes() throws {
        let overrides = try Folder()
        let state = try Folder()
        let environment = ["STATE_DIRECTORY": state.path, "HWDAEMON_CAPABILITIES_DIR": overrides.path]
        #expect(try BrokerProcess(environment: environment).probe().warnings.isEmpty)
        try overrides.write(
            "10-no-main10.json",
            """
            {"schema": 1, "quirks": [{"id": "local-x265", "driver": "x265 {version}*", "paths": ["*-main10-encode"],
             "versions": {"from": "1"}, "disable_path": true, "why": "not wanted here"}]}
            """)
        try overrides.write(
            "20-no-decoder.json", #"{"schema": 1, "paths": [{"id": "hevc-main-decode", "enabled": false}]}"#)
        try overrides.write("30-bad.json", "{")
        try overrides.write("40-typo.json", #"{"schema": 1, "quirks": [{"id": "a", "drivr": "x", "why": "y"}]}"#)
        try overrides.write("ignored.txt", "{")
        let broker = try BrokerProcess(environment: environment)
        let snapshot = try broker.probe()
        #expect(snapshot.warnings.count == 2)
        #expect(snapshot.warnings.first?.hasPrefix("\(overrides.path)/30-bad.json is left out: ") == true)
        #expect(snapshot.warnings.last?.hasPrefix("\(overrides.path)/40-typo.json is left out: ") == true)
        #expect(snapshot.warnings.last?.contains("drivr") == true)
        #expect(snapshot.paths.map(\.id) == ["hevc-main-encode", "hevc-main10-encode", "hevc-main10-decode"])
        #expect(snapshot.paths.map(\.verified) == [true, false, true])
        #expect(snapshot.paths[1].reason?.contains("local-x265: not wanted here") == true)
        #expect(snapshot.encoders.map(\.bitDepths) == [[8]])
        #expect(broker.log.contains("30-bad.json is left out"))
    }

    @Test func usesTheCatalogueOfTheEnvironment() throws {
        let folder = try Folder()
        try folder.write("mine.json", #"{"schema": 1, "paths": [], "quirks": []}"#)
        let mine = try BrokerProcess(environment: ["HWDAEMON_CAPABILITIES": "\(folder.path)/mine.json"]).probe()
        #expect(mine.paths.isEmpty && mine.warnings.isEmpty)
        let gone = try BrokerProcess(environment: ["HWDAEMON_CAPABILITIES": "/nowhere.json"]).probe()
        #expect(gone.paths.count == 4)
        #expect(gone.warnings == ["/nowhere.json is left out: No such file or directory"])
    }

    /// An administrator who sets a driver's debug variable finds its text in the log, in lines of the log's own.
    @Test func logsWhatSuccessfulProbesPrint() throws {
        let printing = #"printf 'a driver\047s text\nin \033[31mlines\n' >&2"#
        let probe = "#!/bin/sh\n\(printing)\nexec \(BrokerProcess.products)/hwdaemon-"
        let broker = try BrokerProcess(
            workers: ["hwdaemon-probe": probe + "probe\n", "hwdaemon-verify": probe + "verify\n"])
        #expect(try broker.probe().paths.allSatisfy(\.verified))
        try waitFor("the log") { broker.log.contains("a probe printed: a driver's text; in ") }
        #expect(!broker.log.contains("\u{1B}"))
    }

    @Test func startsSessionsDuringVerification() throws {
        // Only verification hangs, for longer than this test may; the probe at the start is the real one.
        let broker = try BrokerProcess(
            ["--set", "ProbeTimeout=600"],
            workers: ["hwdaemon-verify": "#!/bin/sh\necho $$ >$0.pid\nexec sleep 600\n"])
        let prober = try broker.connect()
        try prober.call(Probe.method)
        var verifier: Int32?
        try waitFor("verification") {
            let text = try? String(contentsOfFile: "\(broker.folder)/hwdaemon-verify.pid", encoding: .utf8)
            verifier = text.flatMap { Int32($0.dropLast()) }
            return verifier != nil
        }
        _ = try broker.connect().create()
        #expect(broker.isRunning(try #require(verifier)))
    }
}
