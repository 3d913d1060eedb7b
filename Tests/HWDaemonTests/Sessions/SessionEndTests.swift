// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@testable import HWDaemon

@Suite("Session ends")
struct SessionEndTests {
    private let stall = SessionEnd.stall(after: .seconds(30), .compression)

    @Test func prefersTheWorkersReport() {
        let report = SessionError(.parameter, "the client did\nsomething\u{1b}[31m odd")
        let error = SessionEnd.error(reported: report, stopped: stall, exit: .signaled(9), .compression)
        #expect(error.status == .parameter)
        #expect(error.reason == "the client did something [31m odd")
    }

    @Test func reportsAStall() {
        let error = SessionEnd.error(reported: nil, stopped: stall, exit: .signaled(9), .compression)
        #expect(error.status.rawValue == -12912)
        #expect(error.reason.hasPrefix("stopped after 30 s"))
    }

    @Test(arguments: [(Int32(9), "SIGKILL"), (11, "SIGSEGV"), (6, "SIGABRT")])
    func namesTheSignal(_ number: Int32, _ name: String) {
        let error = SessionEnd.error(reported: nil, stopped: nil, exit: .signaled(number), .compression)
        #expect(error.status.rawValue == -12912)
        #expect(error.reason.contains("encoder") && error.reason.contains("signal \(number) (\(name))"))
    }

    @Test func reportsAnExitWithoutAReportAsAMalfunction() {
        let error = SessionEnd.error(reported: nil, stopped: nil, exit: .exited(0), .compression)
        #expect(error.status.rawValue == -12912)
    }

    @Test func truncatesLongReasons() {
        let line = String(repeating: "é", count: 100_000).printable()
        #expect(line.utf8.count <= 1024 + 3)
        #expect(line.hasSuffix("é…"))
        #expect("short".printable() == "short")
    }

    @Test func splitsDeviceListsAtColons() {
        #expect(Devices.parse("/dev/null::/dev/a:/dev/null:") == ["/dev/null", "/dev/a"])
        #expect(Devices.nodes(deviceList: "").isEmpty)
        let many = (0..<100).map { "/dev/\($0)" }.joined(separator: ":")
        #expect(Devices.nodes(deviceList: many).count == Devices.maxCount)
    }

    @Test("A list of devices grants the nodes that NVIDIA's cards share only where it names such a card")
    func sharedNodes() {
        #expect(Devices.granted(deviceList: "/dev/dri/renderD128") == ["/dev/dri/renderD128"])
        #expect(
            Devices.granted(deviceList: "/dev/nvidia1") == ["/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"])
        let (with, without) = (
            Devices.ofOtherDrivers(deviceList: nil) { $0 == "/dev/nvidia-uvm" },
            Devices.ofOtherDrivers(deviceList: nil) { _ in false }
        )
        #expect(with.contains("/dev/nvidia-uvm") && with.filter { $0 != "/dev/nvidia-uvm" } == without)
    }

    @Test("Drivers may listen on sockets only where there is a card of NVIDIA's")
    func sockets() {
        let request = Confinement(Settings()).session(runsDriver: true)
        #expect(request.nodes.contains("/dev/nvidia-uvm") == (access("/dev/nvidia-uvm", F_OK) == 0))
    }

    @Test(
        "Only the daemon's own nodes and render nodes may be probed",
        arguments: [
            ("/dev/null", true), ("/dev/dri/renderD128", true), ("/dev/dri/renderD191", true),
            ("/dev/dri/renderD192", false), ("/dev/dri/renderD", false), ("/dev/watchdog", false),
            ("/dev/dri/renderD128/../../watchdog", false), ("", false), ("/dev/dri/card0", false),
            ("/dev/nvidia0", true), ("/dev/nvidia7", true), ("/dev/nvidia8", false), ("/dev/nvidiactl", false),
        ])
    func mayProbe(_ node: String, _ allowed: Bool) {
        #expect(Devices.mayProbe(node, nodes: ["/dev/null"]) == allowed)
    }
}
