// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import Testing

/// `hwctl doctor` on machines that are broken on purpose.
@Suite(
    "Diagnoses of a broker's machine", .serialized,
    .enabled(if: FakeDriver.whyNot == nil, Comment(rawValue: FakeDriver.whyNot ?? "")))
struct DoctorTests {
    /// The members of the document that are compared.
    private struct Document: Decodable {
        struct Ability: Decodable {
            var hardware: Bool
            var reason: String?
        }

        struct Problem: Decodable {
            var cause: ProbeCause?
            var device: String?
            var problem: String
            var remedy: String?
            var command: String?
        }

        var encode: Ability
        var problems: [Problem]
    }

    /// The document, and the exit code.
    private func doctor(_ broker: BrokerProcess) throws -> (Document, ChildProcess.Exit?) {
        let path = "\(broker.folder)/doctor.json"
        let output = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(output) }
        let child = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwctl", arguments: ["doctor", "--json"],
            environment: ["HWDAEMON_SOCKET": broker.socket], files: [.init(output, as: 1)])
        let exit = try child.wait(until: MonotonicTime.now + .seconds(70))
        return (try JSONDecoder().decode(Document.self, from: Data(contentsOf: URL(filePath: path))), exit)
    }

    /// The only problem of a node on which nothing is encoded.
    private func problem(_ broker: BrokerProcess) throws -> Document.Problem {
        let (document, exit) = try doctor(broker)
        #expect(exit == .exited(1) && !document.encode.hardware)
        let problems = document.problems.filter { $0.device != nil }
        #expect(problems.count == 1, "\(problems)")
        let problem = try #require(problems.first)
        #expect(document.encode.reason?.contains(problem.problem) == true)
        return problem
    }

    private func broker(
        _ behaviour: String, vendor: String? = nil, changing environment: [String: String] = [:]
    ) throws -> BrokerProcess {
        try BrokerProcess(
            devices: "/dev/null",
            environment: FakeDriver.environment(behaviour, vendor: vendor).merging(environment) { $1 })
    }

    @Test(
        "What keeps a driver from working has its own cause",
        arguments: [
            ("crash", ProbeCause.driverCrashed), ("decoder", .noEncoder), ("busy", .busy), ("fail", .driverFailed),
        ])
    func drivers(_ behaviour: String, _ cause: ProbeCause) throws {
        let problem = try problem(broker(behaviour))
        #expect(problem.cause == cause && problem.remedy == cause.remedy())
    }

    @Test func aWrongDriverNameIsNamed() throws {
        let problem = try problem(broker("ready", changing: ["LIBVA_DRIVER_NAME": "nonesuch"]))
        #expect(problem.cause == .driverName && problem.problem.contains("LIBVA_DRIVER_NAME is nonesuch"))
    }

    @Test func aMissingDriverNamesItsFile() throws {
        var environment = try FakeDriver.environment("ready")
        environment["LIBVA_DRIVER_NAME"] = nil
        environment["FAKE_VA_KERNEL"] = "amdgpu"
        let problem = try problem(BrokerProcess(devices: "/dev/null", environment: environment))
        #expect(problem.cause == .driverMissing && problem.problem.contains("radeonsi_drv_video.so"), "\(problem)")
    }

    @Test func aDriverOfAnotherLibvaIsRecognized() throws {
        let environment = try FakeDriver.environment("ready")
        let folder = try #require(environment["LIBVA_DRIVERS_PATH"])
        let stranger = "\(folder)/stranger_drv_video.so"
        try FileManager.default.copyItem(atPath: "\(folder)/nodes.so", toPath: stranger)
        defer { unlink(stranger) }
        let problem = try problem(broker("ready", changing: ["LIBVA_DRIVER_NAME": "stranger"]))
        #expect(problem.cause == .driverVersion, "\(problem)")
    }

    @Test func aQuirkIsNamed() throws {
        let problem = try problem(broker("ready", vendor: "VA-API NVDEC driver [direct backend]"))
        #expect(problem.cause == .quirk && problem.problem.contains("nvidia-decode-only"), "\(problem)")
    }

    @Test func aMissingLibraryOfTheProbeIsNamed() throws {
        let script = """
            #!/bin/sh
            echo "hwdaemon-probe: error while loading shared libraries: libva.so.2: cannot open shared object file" >&2
            exit 127

            """
        let broker = try BrokerProcess(devices: "/dev/null", workers: ["hwdaemon-probe": script])
        let (document, exit) = try doctor(broker)
        #expect(exit == .exited(1))
        let problem = try #require(document.problems.first { $0.device == "/dev/null" })
        #expect(
            problem.cause == .libraryMissing && problem.command == "apt install libva2 libva-drm2", "\(problem)")
    }

    @Test func aNodeThatVanishesWhileTheDaemonRunsIsReported() throws {
        var template = Array("/tmp/hwdaemon-test-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let node = "\(folder)/renderD128"
        try FileManager.default.createSymbolicLink(atPath: node, withDestinationPath: "/dev/null")
        let broker = try BrokerProcess(devices: node, environment: FakeDriver.environment("decoder"))
        #expect(try problem(broker).cause == .noEncoder)
        unlink(node)
        let vanished = try problem(broker)
        #expect(vanished.cause == .nodeMissing && vanished.device == node, "\(vanished)")
    }
}
