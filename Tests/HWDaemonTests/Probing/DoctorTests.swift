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

    /// What it prints, and the exit code.
    private func run(
        _ broker: BrokerProcess, _ arguments: [String], _ environment: [String: String]
    ) throws -> (text: Data, ChildProcess.Exit?) {
        let path = "\(broker.folder)/doctor"
        let output = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(output) }
        let child = try ChildProcess(
            spawning: "\(BrokerProcess.products)/hwctl", arguments: ["doctor"] + arguments,
            environment: environment.merging(["HWDAEMON_SOCKET": broker.socket]) { $1 },
            files: [.init(output, as: 1)])
        let exit = try child.wait(until: MonotonicTime.now + .seconds(70))
        return (try Data(contentsOf: URL(filePath: path)), exit)
    }

    /// The document, and the exit code.
    private func doctor(
        _ broker: BrokerProcess, _ environment: [String: String] = [:]
    ) throws -> (Document, ChildProcess.Exit?) {
        let (text, exit) = try run(broker, ["--json"], environment)
        return (try JSONDecoder().decode(Document.self, from: text), exit)
    }

    /// The only problem of a node, or of a machine without one, on which nothing is encoded; people read its cure, too.
    private func problem(
        _ broker: BrokerProcess, ofNode: Bool = true, _ environment: [String: String] = [:]
    ) throws -> Document.Problem {
        let (document, exit) = try doctor(broker, environment)
        #expect(exit == .exited(1) && !document.encode.hardware)
        let problems = document.problems.filter { ($0.device != nil) == ofNode }
        #expect(problems.count == 1, "\(problems)")
        let problem = try #require(problems.first)
        #expect(document.encode.reason?.contains(problem.problem) == true)
        let printed = String(decoding: try run(broker, [], environment).text, as: UTF8.self)
        let text = printed.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for part in [problem.problem, problem.remedy.map { "Cure: \($0)" }, problem.command].compactMap({ $0 }) {
            let words = part.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(text.contains(words), "\(printed)")
        }
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

    @Test func aMachineWithoutANodeIsRecognized() throws {
        let isContainer = ["/run/.containerenv", "/.dockerenv", "/run/systemd/container"].contains {
            FileManager.default.fileExists(atPath: $0)
        }
        let problem = try problem(BrokerProcess(), ofNode: false, ["container": ""])
        #expect(problem.cause == (isContainer ? .containerWithoutNode : .noRenderNode))
        #expect(isContainer || problem.command == "lspci -nnk -d ::0300")
    }

    @Test func aContainerWithoutANodeIsRecognized() throws {
        let problem = try problem(BrokerProcess(), ofNode: false, ["container": "podman"])
        #expect(problem.cause == .containerWithoutNode && problem.command == "docker run --device /dev/dri …")
    }

    @Test(.enabled(if: getuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0, "skipped: needs root and setpriv"))
    func aDaemonWithoutTheNodesGroupIsToJoinIt() throws {
        var template = Array("/tmp/hwdaemon-test-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { try? FileManager.default.removeItem(atPath: folder) }
        chmod(folder, 0o755)
        let node = "\(folder)/renderD128"
        try #require(mknod(node, S_IFCHR | 0o660, 0x103) == 0 && chown(node, 0, 5) == 0 && chmod(node, 0o660) == 0)
        for name in ["hwdaemon-probe", "hwdaemon-verify"] {
            try FileManager.default.copyItem(
                atPath: "\(BrokerProcess.products)/\(name)", toPath: "\(folder)/\(name)")
        }
        let nobody = "/usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups"
        let broker = try BrokerProcess(
            devices: node, workers: ["hwdaemon-probe": "#!/bin/sh\nexec \(nobody) \(folder)/$(basename $0)\n"])
        let problem = try problem(broker)
        #expect(problem.cause == .permission && problem.problem.contains("add the user to group tty"))
        #expect(problem.command == "usermod -aG tty hwdaemon && systemctl restart hwdaemon")
    }

    @Test func missingFirmwareIsNamed() throws {
        let problem = try problem(
            broker("constant", changing: ["FAKE_VA_KERNEL": "i915", "FAKE_VA_HUC": "\(ENOPKG)"]))
        #expect(problem.cause == .hucFirmware && problem.problem.contains("HuC firmware is not installed"))
        #expect(problem.command == "apt install firmware-misc-nonfree && reboot")
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
        let problem = try problem(broker)
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
