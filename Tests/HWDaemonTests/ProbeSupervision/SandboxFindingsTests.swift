// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDPolicy
import HWDWire
import Testing

@testable import HWDaemon

@Suite struct SandboxFindingsTests {
    private static func quirk(_ id: String, _ driver: String, _ sandbox: String, pci: String? = nil)
        -> PropertyValue
    {
        var fields: [String: PropertyValue] = [
            "id": .string(id), "driver": .string(driver), "sandbox": .string(sandbox), "why": .string("it \(id)s"),
        ]
        if let pci { fields["pci_ids"] = .array([.string(pci)]) }
        return .object(fields)
    }

    private static func node(_ name: String, driver: String?, pciID: String? = nil) -> RenderNode {
        var node = RenderNode(node: name, state: .ready)
        (node.driver, node.pciID) = (driver, pciID)
        return node
    }

    @Test("The loosest quirk of the nodes that a process may open decides")
    func quirks() {
        var findings = SandboxFindings()
        findings.quirks = [Capabilities.Quirk](bounding: [
            Self.quirk("leak", "A *", "report"), Self.quirk("hang", "B *", "off", pci: "8086:*"),
            .string("nonsense"),
        ])
        let (a, b) = (Self.node("/dev/a", driver: "A 1"), Self.node("/dev/b", driver: "B 1", pciID: "8086:1234"))
        #expect(findings.quirk([a])?.id == "leak" && findings.quirk([a, b])?.id == "hang")
        #expect(findings.quirk([Self.node("/dev/c", driver: "B 1", pciID: "1002:1")]) == nil)
        // A driver that no probe has listed.
        #expect(findings.quirk([Self.node("/dev/d", driver: nil, pciID: "8086:1234")]) == nil)
        #expect(
            findings.warnings([a, b]) == [
                "/dev/a: the sandbox of its driver only reports, by the quirk leak: it leaks",
                "/dev/b: the sandbox of its driver is off, by the quirk hang: it hangs",
            ])
    }

    @Test("A quirk loosens the configured sandbox and never tightens it")
    func modes() {
        let quirks = [Capabilities.Quirk](bounding: [
            Self.quirk("leak", "*", "report"), Self.quirk("hang", "*", "off"),
        ])
        var settings = Settings()
        for (mode, expected) in [
            (SandboxRequest.Mode.enforce, [SandboxRequest.Mode.report, .off]), (.report, [.report, .off]),
            (.off, [.off, .off]),
        ] {
            settings.sandbox = mode
            let confinement = Confinement(settings)
            #expect(quirks.map { confinement.session(runsDriver: true, quirk: $0).mode } == expected)
            #expect(confinement.session(runsDriver: true).mode == mode)
            #expect(confinement.probe(.software, quirk: quirks[1]).mode == mode)
        }
    }

    @Test("A probe reaches the node that it examines and no other render node")
    func nodes() {
        var settings = Settings()
        settings.devices = "/dev/dri/renderD128:/dev/dri/renderD129"
        let confinement = Confinement(settings)
        #expect(confinement.probe(.node("/dev/dri/renderD129"), quirk: nil).nodes == ["/dev/dri/renderD129"])
        #expect(confinement.probe(.software, quirk: nil).nodes.isEmpty)
        #expect(confinement.probe(.software, quirk: nil).policy == .codec)
        settings.devices = nil
        let nodes = Confinement(settings).probe(.node("/dev/dri/renderD130"), quirk: nil).nodes
        #expect(nodes.first == "/dev/dri/renderD130" && nodes.contains("/dev/nvidiactl"))
        #expect(nodes.filter { $0.hasPrefix("/dev/dri/renderD") }.count == 1)
    }

    @Test("Drivers that the sandbox keeps away are named once, until a probe opens them")
    func refused() {
        var findings = SandboxFindings()
        let driver = RefusedDriver(driver: "/opt/a.json", path: "/opt/a\u{1b}.so", reason: "Permission denied")
        findings.note([driver], by: ProbeRequest(.vulkan))
        let sentence =
            "the driver /opt/a.json cannot be opened in its sandbox: /opt/a .so: Permission denied"
        #expect(findings.warnings([]) == [sentence])
        #expect(findings.warnings([], besides: ["1 driver is installed (/opt/a.json)"]).isEmpty)
        findings.retain(nodes: [])
        #expect(findings.warnings([]) == [sentence])
        findings.note([], by: ProbeRequest(.vulkan))
        #expect(findings.warnings([]).isEmpty)
    }

    @Test("Each user's sessions have a cache of their own, and codecs have none")
    func caches() throws {
        var template = Array("/tmp/hwdaemon-test-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let confinement = Confinement(Settings(), cache: DriverCache(folder: "\(folder)/drivers"))
        let alice = confinement.session(runsDriver: true, user: 1000)
        #expect(alice.cache == "\(folder)/drivers/1000" && alice.writable == ["\(folder)/drivers/1000"])
        #expect(confinement.probe(.vulkan, quirk: nil).cache == "\(folder)/drivers/probe")
        #expect(confinement.session(runsDriver: false, user: 1000).cache == nil)
        #expect(confinement.probe(.software, quirk: nil).cache == nil)
        #expect(Confinement(Settings()).session(runsDriver: true, user: 1000).cache == nil)
        var status = stat()
        #expect(stat("\(folder)/drivers/1000", &status) == 0 && status.st_mode & 0o777 == 0o700)
    }
}
