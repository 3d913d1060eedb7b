// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
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
            var by: String?
            var reason: String?
        }

        struct Problem: Decodable {
            var cause: ProbeCause?
            var device: String?
            var problem: String
            var remedy: String?
            var command: String?
            var link: String?
        }

        var encode: Ability
        var decode: Ability
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
        let exit = try child.waitForExit()
        return (try Data(contentsOf: URL(filePath: path)), exit)
    }

    /// The document, and the exit code.
    private func doctor(
        _ broker: BrokerProcess, _ environment: [String: String] = [:]
    ) throws -> (Document, ChildProcess.Exit?) {
        let (text, exit) = try run(broker, ["--json"], environment)
        return (try JSONDecoder().decode(Document.self, from: text), exit)
    }

    /// The only problem of a node, or of a machine without one, on which nothing is encoded, with a cure and a command.
    private func problem(
        _ broker: BrokerProcess, ofNode: Bool = true, _ environment: [String: String] = [:]
    ) throws -> Document.Problem {
        let (document, exit) = try doctor(broker, environment)
        #expect(exit == .exited(1) && !document.encode.hardware)
        let problems = document.problems.filter { ($0.device != nil) == ofNode }
        #expect(problems.count == 1, "\(problems)")
        let problem = try #require(problems.first)
        let (remedy, command) = (
            try #require(problem.remedy, "\(problem)"), try #require(problem.command, "\(problem)")
        )
        #expect(document.encode.reason?.contains(problem.problem) == true)
        #expect(document.encode.by?.hasPrefix("x265") == true && document.decode.by != nil)
        let printed = String(decoding: try run(broker, [], environment).text, as: UTF8.self)
        let text = printed.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for part in [problem.problem, "Cure: \(remedy) \(command)", problem.link.map { "More: \($0)" } ?? ""] {
            let words = part.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(words.isEmpty || text.contains(words), "\(printed)")
        }
        return problem
    }

    private func broker(
        _ behaviour: String, vendor: String? = nil, pciID: String? = nil,
        changing environment: [String: String] = [:]
    ) throws -> BrokerProcess {
        try BrokerProcess(
            devices: "/dev/null",
            environment: FakeDriver.environment(behaviour, vendor: vendor, pciID: pciID).merging(environment) { $1 }
        )
    }

    /// A broker whose driver nobody has named, on a device of AMD's.
    private func unnamed(_ behaviour: String, changing environment: [String: String] = [:]) throws -> BrokerProcess
    {
        try BrokerProcess(
            devices: "/dev/null", environment: FakeDriver.unnamed(behaviour).merging(environment) { $1 })
    }

    @Test(
        "What keeps a driver from working has its own cause, and a command",
        arguments: [
            // A probe that crashes has not reported the device's numbers, from which the package follows.
            ("crash", ProbeCause.driverCrashed, nil, "journalctl -u hwdaemon -p warning"),
            ("decoder", .noEncoder, "1002:73bf", "hwctl probe --table"),
            ("busy", .busy, "1002:73bf", "fuser -v /dev/dri/renderD*"),
            ("fail", .driverFailed, "1002:73bf", "journalctl -k -b | grep -i drm"),
        ] as [(String, ProbeCause, String?, String)])
    func drivers(_ behaviour: String, _ cause: ProbeCause, _ pciID: String?, _ command: String) throws {
        let problem = try problem(unnamed(behaviour))
        #expect(problem.cause == cause && problem.remedy == cause.remedy(pciID: pciID))
        #expect(problem.command == command && !problem.problem.contains("LIBVA_DRIVER_NAME"))
    }

    @Test func anEncoderOfIntelsOtherPackageIsNamed() throws {
        let problem = try problem(broker("decoder", pciID: "8086:8a52"))
        #expect(problem.cause == .noEncoder && problem.command == "apt install intel-media-va-driver-non-free")
    }

    @Test(
        "A name of a driver that does not exist, or not start, is to be removed",
        arguments: [("ready", "nonesuch"), ("fail", "fake"), ("complain", "fake")])
    func wrongNames(_ behaviour: String, _ name: String) throws {
        let problem = try problem(broker(behaviour, pciID: "1002:73bf", changing: ["LIBVA_DRIVER_NAME": name]))
        #expect(problem.cause == .driverName && problem.problem.contains("LIBVA_DRIVER_NAME is \(name)"))
        #expect(problem.remedy == "remove LIBVA_DRIVER_NAME from the daemon's environment")
        #expect(problem.command == (getuid() == 0 ? "systemctl edit hwdaemon" : "unset LIBVA_DRIVER_NAME"))
        #expect(problem.problem.contains("libfake.so.1") == (behaviour == "complain"))
    }

    @Test(
        "The package of a missing driver follows from the device",
        arguments: [
            ("1002:73bf", "amdgpu", "radeonsi", "mesa-va-drivers"),
            ("8086:8a52", "i915", "i965", "intel-media-va-driver"),
        ])
    func missingDriver(_ pciID: String, _ kernel: String, _ name: String, _ package: String) throws {
        var environment = try FakeDriver.environment("ready", pciID: pciID)
        environment["LIBVA_DRIVER_NAME"] = nil
        environment["FAKE_VA_KERNEL"] = kernel
        let problem = try problem(BrokerProcess(devices: "/dev/null", environment: environment))
        #expect(problem.cause == .driverMissing && problem.problem.contains("\(name)_drv_video.so"), "\(problem)")
        #expect(problem.command == "apt install \(package)")
    }

    @Test func aDriverOfAnotherLibvaIsRecognized() throws {
        var environment = try FakeDriver.unnamed("ready")
        let own = try #require(environment["LIBVA_DRIVERS_PATH"])
        let folder = "\(own)/stranger"
        mkdir(folder, 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // A library without any entry of a driver.
        try FileManager.default.copyItem(
            atPath: try #require(environment["LD_PRELOAD"]), toPath: "\(folder)/radeonsi_drv_video.so")
        environment["LIBVA_DRIVERS_PATH"] = folder
        let problem = try problem(BrokerProcess(devices: "/dev/null", environment: environment))
        #expect(problem.cause == .driverVersion, "\(problem)")
        #expect(problem.command == "apt install --reinstall libva2 mesa-va-drivers")
    }

    @Test func aMachineWithoutANodeIsRecognized() throws {
        // A virtual machine made from a container's image has such a file, and the kernel's first namespaces.
        let first = ["cgroup": 4_026_531_835, "pid": 4_026_531_836, "uts": 4_026_531_838, "ipc": 4_026_531_839]
        let isFirst = first.allSatisfy { name, number in
            let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/\(name)")
            return link == "\(name):[\(number)]"
        }
        let isContainer =
            !isFirst
            && ["/run/.containerenv", "/.dockerenv", "/run/systemd/container"].contains {
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
        #expect(problem.remedy == "let the daemon's user join the group tty, which owns the node")
        #expect(problem.command == "usermod -aG tty hwdaemon && systemctl restart hwdaemon")
    }

    @Test func missingFirmwareIsNamed() throws {
        let problem = try problem(
            broker("constant", changing: ["FAKE_VA_KERNEL": "i915", "FAKE_VA_HUC": "\(ENOPKG)"]))
        #expect(problem.cause == .hucFirmware && problem.problem.contains("HuC firmware is not installed"))
        #expect(problem.command == "apt install firmware-misc-nonfree && reboot")
    }

    @Test func missingFirmwareOfVideoEnginesIsNamed() throws {
        let without = try problem(unnamed("bare", changing: ["FAKE_VA_RINGS": "0"]))
        #expect(without.cause == .vcnFirmware && without.problem.contains("no video engine"), "\(without)")
        #expect(without.command == "apt install firmware-amd-graphics && reboot")
        // With an engine, the driver is the one that lacks the codec.
        #expect(try problem(unnamed("bare", changing: ["FAKE_VA_RINGS": "1"])).cause == .noEncoder)
    }

    @Test func aQuirkIsNamed() throws {
        let problem = try problem(
            broker("ready", vendor: "VA-API NVDEC driver [direct backend]", pciID: "10de:2204"))
        #expect(problem.cause == .quirk && problem.problem.contains("nvidia-decode-only"), "\(problem)")
        #expect(problem.link == "https://github.com/elFarto/nvidia-vaapi-driver")
        // No version of it encodes.
        #expect(
            problem.remedy == "a file in /etc/hwdaemon/capabilities.d can override the quirk"
                && problem.command == "hwctl probe --table")
    }

    /// Hides libva in a file system of its own, over the folder that has it, and executes a program there.
    private static let hiding = """
        set -e
        folder=$(dirname "$(readlink -f "$(/sbin/ldconfig -p | awk '/libva\\.so\\.2 / {print $NF; exit}')")")
        mount -t tmpfs hwdaemon /mnt
        mkdir /mnt/upper /mnt/work
        for file in "$folder"/libva.so.2* "$folder"/libva-drm.so.2*; do mknod "/mnt/upper/${file##*/}" c 0 0; done
        mount -t overlay hwdaemon -o "lowerdir=$folder,upperdir=/mnt/upper,workdir=/mnt/work" "$folder"
        exec "$@"
        """
    private static let hidden = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", hiding, "hide"]

    /// Whether this process may do so.
    private static let canHide: Bool = {
        let child = try? ChildProcess(
            spawning: hidden[0], arguments: Array(hidden.dropFirst()) + ["/bin/true"])
        return (try? child?.waitForExit()) == .exited(0)
    }()

    @Test(
        "Without libva nothing is coded, in software either, and its packages are named",
        .enabled(if: canHide, "needs permission to mount a file system"), arguments: ["", "/dev/null"])
    func missingLibva(_ devices: String) throws {
        let broker = try BrokerProcess(devices: devices, prefix: Self.hidden)
        let (document, exit) = try doctor(broker, ["container": ""])
        #expect(exit == .exited(1) && !document.encode.hardware && !document.decode.hardware)
        for ability in [document.encode, document.decode] {
            #expect(ability.by == nil && ability.reason?.contains("libva") == true, "\(ability)")
        }
        let problems = document.problems.filter { $0.cause == .libraryMissing }
        #expect(problems.map(\.device) == [nil] + (devices.isEmpty ? [] : [devices]))
        #expect(problems.allSatisfy { $0.command == "apt install libva2 libva-drm2" && $0.remedy != nil })
        // And that is what a client gets.
        let reply = try broker.connect().ask(
            CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        #expect(reply.error != nil, "\(reply)")
    }

    @Test func aMissingLibraryOfTheReferenceLeavesTheEncoder() throws {
        let script = """
            #!/bin/sh
            case $0 in *verify)
                echo "$0: error while loading shared libraries: libavcodec.so.59: cannot open shared object file" >&2
                exit 127;;
            esac
            exec \(BrokerProcess.products)/hwdaemon-probe

            """
        let (document, exit) = try doctor(BrokerProcess(workers: ["hwdaemon-probe": script]))
        #expect(exit == .exited(1) && document.encode.by?.hasPrefix("x265") == true && document.decode.by == nil)
        #expect(document.problems.first?.command == "apt install libavcodec59", "\(document.problems)")
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
        #expect(vanished.command == "ls -l /dev/dri/by-path")
    }
}
