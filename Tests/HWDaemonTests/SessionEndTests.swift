// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDTransport
import HWDWire
import Testing

@testable import HWDaemon

@Suite("Session ends and probe results")
struct SessionEndTests {
    private let stall = SessionEnd.stall(after: .seconds(30))

    @Test func theWorkersOwnReportComesFirst() {
        let report = SessionError(.parameter, "the client did\nsomething\u{1b}[31m odd")
        let cause = SessionEnd.cause(reported: report, stopped: stall, exit: .signaled(9))
        #expect(cause.status == .parameter)
        #expect(cause.reason == "the client did something [31m odd")
    }

    @Test func aStallIsToldAsOne() {
        let cause = SessionEnd.cause(reported: nil, stopped: stall, exit: .signaled(9))
        #expect(cause.status.rawValue == -12912)
        #expect(cause.reason == "stopped after 30 s without progress in one codec call")
    }

    @Test(arguments: [(Int32(9), "SIGKILL"), (11, "SIGSEGV"), (6, "SIGABRT")])
    func aSignalIsNamed(_ number: Int32, _ name: String) {
        let cause = SessionEnd.cause(reported: nil, stopped: nil, exit: .signaled(number))
        #expect(cause.status.rawValue == -12912)
        #expect(cause.reason == "the encoder process was killed by signal \(number) (\(name))")
    }

    @Test func anExitWithoutAReportIsAnError() {
        let cause = SessionEnd.cause(reported: nil, stopped: nil, exit: .exited(0))
        #expect(cause.status.rawValue == -12912)
    }

    @Test func aLongReasonIsCut() {
        let line = SessionEnd.oneLine(String(repeating: "é", count: 100_000))
        #expect(line.utf8.count <= SessionEnd.maxReason + 3)
        #expect(line.hasSuffix("é…"))
        #expect(SessionEnd.oneLine("short") == "short")
    }

    @Test func deviceListsAreSplitAtColons() {
        #expect(Devices.parse("/dev/null::/dev/a:/dev/null:") == ["/dev/null", "/dev/a"])
        #expect(Devices.nodes(environment: "").isEmpty)
        let many = (0..<100).map { "/dev/\($0)" }.joined(separator: ":")
        #expect(Devices.nodes(environment: many).count == Devices.maximum)
    }

    @Test(
        "Only the daemon's own nodes and render nodes may be probed",
        arguments: [
            ("/dev/null", true), ("/dev/dri/renderD128", true), ("/dev/dri/renderD191", true),
            ("/dev/dri/renderD192", false), ("/dev/dri/renderD", false), ("/dev/watchdog", false),
            ("/dev/dri/renderD128/../../watchdog", false), ("", false), ("/dev/dri/card0", false),
        ])
    func mayProbe(_ node: String, _ allowed: Bool) {
        #expect(Devices.mayProbe(node, nodes: ["/dev/null"]) == allowed)
    }

    @Test func aProbeThatAnswersForAnotherNodeIsNotBelieved() {
        var results = ProbeResults()
        let request = ProbeRequest(.node("/dev/a"))
        results.add(.answer(ProbeAnswer(node: RenderNode(node: "/dev/b", state: .ready))), to: request)
        #expect(results.snapshot.nodes.map(\.node) == ["/dev/a"])
        #expect(results.snapshot.nodes.map(\.state) == [.failed])
        results.add(.answer(ProbeAnswer()), to: request)
        #expect(results.snapshot.nodes.map(\.reason) == ["the probe of this node answered for another"])
        results.add(.failure(.crashed, "it crashed"), to: request)
        #expect(results.snapshot.nodes == [RenderNode(node: "/dev/a", state: .crashed, reason: "it crashed")])
    }

    @Test func whatADriverOfVulkanSaysIsBoundedAndTheChoiceIsTheBrokers() {
        var device = ComputeDevice(
            id: "a", name: String(repeating: "n", count: 10_000), driver: "d\u{1b}[31m", apiVersion: "1.3.0",
            kind: .discrete, pciAddress: "0000:03:00.0", claimed: true,
            imports: ComputeDevice.Imports(hostMemoryAlignment: 4096, dmaBufs: true, dmaBufModifiers: true),
            limits: ComputeDevice.Limits(
                maxStorageBufferRange: 1 << 27, maxStorageBuffers: 8, timestampPeriod: 1, storage16Bit: true,
                float16: true))
        (device.tried, device.verified, device.chosen, device.choice) = (true, true, true, "I say so")
        var results = ProbeResults()
        let request = ProbeRequest(.vulkan)
        let many = Array(repeating: device, count: 100)
        results.add(.answer(ProbeAnswer(vulkan: VulkanReport(state: .ready, devices: many))), to: request)
        let report = results.snapshot.vulkan
        #expect(report?.devices.count == 16)
        #expect(report?.devices.count(where: \.chosen) == 1)
        #expect(report?.devices[0].choice == "the first of 16 GPUs: a discrete GPU")
        #expect(report?.devices[0].driver == "d [31m" && (report?.devices[0].name.utf8.count ?? 0) < 600)

        // The GPU that codes comes first.
        var node = RenderNode(node: "/dev/a", state: .ready)
        node.pciAddress = "0000:03:00.0"
        results.add(.answer(ProbeAnswer(node: node)), to: ProbeRequest(.node("/dev/a")))
        #expect(results.snapshot.vulkan?.devices[0].choice == "the GPU that VA-API uses, at 0000:03:00.0")
        #expect(results.vulkanHints == VulkanHints(preferred: "0000:03:00.0"))

        device.verified = false
        device.reason = "half floats came out wrong"
        results.add(.answer(ProbeAnswer(vulkan: VulkanReport(state: .ready, devices: [device]))), to: request)
        #expect(results.vulkanHints.faults == ["a": "half floats came out wrong"])
        results.add(.failure(.crashed, "it crashed"), to: request)
        #expect(results.vulkanHints.avoidReason == "color conversion is done on the CPU: it crashed")
        results.add(.answer(ProbeAnswer()), to: request)
        #expect(results.snapshot.vulkan?.state == .failed && results.vulkanHints.avoidReason == nil)
    }

    @Test func aVerificationThatCrashesLeavesTheEncoderAndSaysSo() {
        var results = ProbeResults()
        let encoder = EncoderDescription(
            id: "soft", name: "soft", codec: "hevc", hardware: false, version: "1", bitDepths: [8],
            pixelFormats: ["NV12"])
        var path = CodecPath(
            id: "p", codec: "hevc", operation: .encode, profile: "main", bitDepth: 8, driver: "soft 1")
        path.claimed = true
        path.verified = true
        results.add(
            .answer(ProbeAnswer(encoders: [encoder], paths: [path])),
            to: ProbeRequest(.software, verification: .startup))
        results.add(.failure(.crashed, "it crashed"), to: ProbeRequest(.software, verification: .always))
        #expect(results.snapshot.encoders.map(\.id) == ["soft"])
        #expect(results.snapshot.paths.map(\.verified) == [false])
        #expect(results.snapshot.paths.map(\.reason) == ["it crashed"])
        results.add(.failure(.crashed, "again"), to: ProbeRequest(.software, verification: .startup))
        #expect(results.snapshot.encoders.isEmpty && !results.knowsSoftware)
    }

    @Test func hardwareComesFirstAndClaimsAreBounded() {
        func encoder(_ id: String, hardware: Bool) -> EncoderDescription {
            EncoderDescription(
                id: id, name: String(repeating: "n", count: 100_000), codec: "hevc", hardware: hardware,
                version: "1", bitDepths: [8], pixelFormats: Array(repeating: "NV12", count: 1000))
        }
        var results = ProbeResults()
        results.add(
            .answer(ProbeAnswer(encoders: [encoder("soft", hardware: false), encoder("liar", hardware: true)])),
            to: ProbeRequest(.software))
        var path = CodecPath(
            id: String(repeating: "i", count: 100_000), codec: "hevc", operation: .encode, profile: "main",
            bitDepth: 8, device: "/dev/a", driver: "d")
        path.quirks = Array(repeating: "q", count: 1000)
        var stranger = path
        stranger.device = "/dev/b"
        results.add(
            .answer(
                ProbeAnswer(
                    node: RenderNode(node: "/dev/a", state: .ready), encoders: [encoder("hard", hardware: true)],
                    paths: [stranger] + Array(repeating: path, count: 1000))),
            to: ProbeRequest(.node("/dev/a")))
        #expect(results.snapshot.paths.count < 100)
        #expect(
            results.snapshot.paths.allSatisfy {
                $0.device == "/dev/a" && $0.id.utf8.count < 1024 && $0.quirks.count <= 16
            })
        let snapshot = results.snapshot
        #expect(snapshot.encoders.map(\.id) == ["hard", "soft"])
        #expect(snapshot.encoders.allSatisfy { $0.name.utf8.count < 1024 && $0.pixelFormats.count <= 16 })
        #expect(results.snapshot(of: "/dev/none").encoders.map(\.id) == ["soft"])
    }
}
