// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite("Probes of a broker", .serialized)
struct ProbeTests {
    private func probe(_ broker: BrokerProcess, _ device: String? = nil) throws -> ProbeSnapshot {
        try broker.probe(device.map { "{\"device\":\"\($0)\"}" } ?? "{}")
    }

    @Test func reportsAReasonForEveryNode() throws {
        let file = "/tmp/hwdaemon-test-file-\(getpid())"
        try #require(FileManager.default.createFile(atPath: file, contents: nil))
        defer { unlink(file) }
        let broker = try BrokerProcess(devices: "/dev/null:/nowhere/renderD128:\(file)")
        let snapshot = try probe(broker)
        #expect(snapshot.schema == 2)
        #expect(snapshot.encoders.map(\.id) == ["org.hwdaemon.encoder.x265"])
        #expect(snapshot.nodes.map(\.node) == ["/dev/null", "/nowhere/renderD128", file])
        #expect(snapshot.nodes.map(\.state) == [.notADevice, .absent, .notADevice])
        #expect(
            snapshot.nodes.map(\.reason) == [
                "/dev/null is a character device but not a DRM render node", "no such device",
                "\(file) is not a character device",
            ])
        #expect(try probe(broker, "/dev/null").nodes.map(\.node) == ["/dev/null"])
        // A node that is not one of the daemon's is reported once and forgotten.
        #expect(try probe(broker, "/dev/dri/renderD191").nodes.count == 1)
        #expect(try probe(broker).nodes.count == 3)
    }

    @Test func reportsNoNodesForAnEmptyDeviceList() throws {
        #expect(try probe(BrokerHolder.shared.get()).nodes.isEmpty)
    }

    /// A character device of group `tty`; nil unless root can create one.
    private static let closedNode: String? = {
        let path = "/tmp/hwdaemon-test-node-\(getpid())"
        // That of a killed run whose process had this number.
        unlink(path)
        guard getuid() == 0, access("/usr/bin/setpriv", X_OK) == 0,
            mknod(path, S_IFCHR | 0o660, 0x103) == 0, chown(path, 0, 5) == 0, chmod(path, 0o660) == 0
        else { return nil }
        return path
    }()

    @Test(
        .enabled(if: closedNode != nil, "skipped: needs root, mknod and setpriv"))
    func namesTheGroupOfANodeWithoutPermission() throws {
        let node = try #require(Self.closedNode)
        defer { unlink(node) }
        // The user nobody needs access to the executables.
        let folder = "/tmp/hwdaemon-test-bin-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["hwdaemon-probe", "hwdaemon-verify", "hwdaemon-encoder"] {
            try FileManager.default.copyItem(
                atPath: "\(BrokerProcess.products)/\(name)", toPath: "\(folder)/\(name)")
        }
        let wrapper =
            "#!/bin/sh\nexec /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups \(folder)/$(basename $0)\n"
        let broker = try BrokerProcess(devices: node, workers: ["hwdaemon-probe": wrapper])
        let found = try #require(try probe(broker).nodes.first)
        #expect(!found.opened && found.state == .permission)
        #expect(found.reason == "permission denied: add the user to group tty")
    }

    @Test func reportsProbesThatCrashOrDoNotAnswer() throws {
        let script = """
            #!/bin/sh
            kill -SEGV $$
            """
        let crashing = try BrokerProcess(devices: "/dev/null", workers: ["hwdaemon-probe": script])
        #expect(
            try probe(crashing).nodes.map(\.reason) == ["the probe of this node crashed (signal 11, SIGSEGV)"])
        let silent = try BrokerProcess(
            devices: "/dev/null", workers: ["hwdaemon-probe": "#!/bin/sh\nprintf garbage >&4\nexit 4\n"])
        #expect(
            try probe(silent).nodes.map(\.reason) == ["the probe of this node did not answer (exit status 4)"])
    }

    @Test func sharesAndBoundsAProbeThatHangs() throws {
        let broker = try BrokerProcess(
            // A missing node, so that Vulkan is not verified in the background.
            devices: "/nowhere/renderD128",
            workers: ["hwdaemon-probe": "#!/bin/sh\necho x >>$0.count\nexec sleep 60\n"])
        // Other calls are served meanwhile; a Create call waits for the probe.
        #expect(try broker.connect().ask("org.varlink.service.GetInfo").error == nil)
        let creating = try broker.connect()
        try creating.call(CreateCompressionSession.method, TestClient.parameters(), extra: ",\"upgrade\":true")
        let clients = try (0..<5).map { _ in try broker.connect() }
        for client in clients { try client.call(Probe.method, "{\"verify\":false}") }
        for client in clients {
            let text = try #require(try client.receive())
            // The software codecs have 15 s, because a busy machine is not a fault.
            #expect(text.contains("timed out after 5 s") && text.contains("timed out after 15 s"))
        }
        // No encoder was found, as the session's worker reports.
        #expect(try creating.reply().error == "org.hwdaemon.CouldNotFindVideoEncoder")
        // Listing a node needs no decoder; listing the software does, because that includes its decoder.
        for (name, lines) in [("hwdaemon-probe", "x\nx\nx\nx\n"), ("hwdaemon-verify", "x\n")] {
            #expect(try String(contentsOfFile: "\(broker.folder)/\(name).count", encoding: .utf8) == lines)
        }
        try waitFor("no probe to be left") { broker.children.isEmpty }
    }
}

extension BrokerProcess {
    /// The result of `Probe`.
    func probe(_ parameters: String = "{}") throws -> ProbeSnapshot {
        let client = try connect()
        try client.call(Probe.method, parameters)
        let text = try #require(try client.receive())
        return try VarlinkReply.decode(ProbeSnapshot.self, from: Array(text.utf8))
    }
}
