// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Testing

@Suite(
    "VA-API drivers under a broker", .serialized,
    .enabled(if: FakeDriver.whyNot == nil, Comment(rawValue: FakeDriver.whyNot ?? "")))
struct DriverTests {
    private func broker(_ behaviour: String, vendor: String? = nil) throws -> BrokerProcess {
        try BrokerProcess(
            devices: "/dev/null", environment: FakeDriver.environment(behaviour, vendor: vendor))
    }

    @Test func doesNotOfferClaimsThatFailTheirTrial() throws {
        let snapshot = try broker("ready").probe()
        let node = try #require(snapshot.nodes.first)
        #expect(node.state == .ready && node.driver == "Fake driver 1.2.3 for tests")
        let failed = "encoding failed: vaCreateConfig"
        #expect(node.reason?.hasPrefix("its HEVC encoder is not used: \(failed)") == true)

        let paths = snapshot.paths.filter { $0.device == "/dev/null" }
        #expect(
            paths.map(\.id) == [
                "hevc-main-encode", "hevc-main10-encode", "hevc-main-decode", "hevc-main10-decode",
            ])
        #expect(paths.map(\.claimed) == [true, false, true, false])
        #expect(paths.allSatisfy { !$0.verified && $0.driver == "Fake driver 1.2.3 for tests" })
        let reasons = paths.map { $0.reason ?? "" }
        #expect(reasons[0].hasPrefix(failed))
        #expect(reasons[1].contains("VAEntrypointEncSlice, nor VAEntrypointEncSliceLP"))
        // libavcodec queries image formats, of which the driver has none.
        #expect(reasons[2].hasPrefix("decoding failed: ") && reasons[2].contains("/dev/null"))
        #expect(reasons[3].contains("VAEntrypointVLD of VAProfileHEVCMain10"))
        #expect(
            paths.first?.hardware
                == HardwareLimits(
                    entrypoint: "VAEntrypointEncSliceLP", maxWidth: 4096, rateControl: ["CBR", "CQP"],
                    packedHeaders: ["SEQUENCE"]))
        // The choice of encoder sees only what is verified.
        #expect(snapshot.encoders.map(\.hardware) == [false])
    }

    @Test func refusesRequiredHardwareWithTheReason() throws {
        let broker = try broker("ready")
        let reply = try broker.connect().ask(
            CreateCompressionSession.method,
            TestClient.parameters(
                ",\"encoder_specification\":{\"RequireHardwareAcceleratedVideoEncoder\":true}"),
            extra: ",\"upgrade\":true")
        #expect(reply.error == "org.hwdaemon.CouldNotFindVideoEncoder")
        #expect(reply["reason"]?.description.contains("encoding failed: vaCreateConfig") == true)
    }

    @Test func appliesAndReportsQuirks() throws {
        let vendor = "Mesa Gallium driver 22.3.6 for AMD Radeon RX 580 (polaris10, LLVM 15.0.6, DRM 3.49)"
        let snapshot = try broker("ready", vendor: vendor).probe()
        let mesa = try #require(snapshot.paths.first)
        #expect(mesa.driver == vendor)
        #expect(
            mesa.quirks == [
                "mesa-22-own-headers", "mesa-one-qp", "mesa-unwritten-coded-status", "mesa-unreported-minimum-size",
                "radeonsi-ctb-64-aligned-size",
            ])
        #expect(mesa.features.isEmpty)
        // Those of its other paths, too, each once.
        #expect(snapshot.quirks?.count == Set(snapshot.paths.flatMap(\.quirks)).count)
        let headers = try #require(snapshot.quirks?.first { $0.id == "mesa-22-own-headers" })
        #expect(headers.fixedIn == "23.0" && headers.link == "https://gitlab.freedesktop.org/mesa/mesa")
        #expect(headers.disabledFeatures == [.temporalLayers, .alphaLayer, .bFrames] && !headers.disablesPath)

        let nvidia = try broker("ready", vendor: "VA-API NVDEC driver [direct backend]").probe()
        let encode = try #require(nvidia.paths.first)
        #expect(encode.quirks == ["nvidia-decode-only"])
        #expect(encode.reason?.hasPrefix("disabled by the quirk nvidia-decode-only: ") == true)
    }

    @Test func reportsLibvasErrorForADriverThatDoesNotStart() throws {
        let failing = try #require(
            try BrokerProcess(devices: "/dev/null", environment: FakeDriver.unnamed("fail")).probe().nodes.first)
        #expect(failing.state == .driverFailed && failing.opened && failing.driver == nil)
        #expect(
            failing.reason?.hasPrefix("the VA-API driver failed: vaInitialize: ") == true,
            "\(failing.reason ?? "")")

        var environment = try FakeDriver.environment("ready")
        environment["LIBVA_DRIVER_NAME"] = "nonesuch"
        let missing = try #require(
            try BrokerProcess(devices: "/dev/null", environment: environment).probe().nodes.first)
        #expect(missing.state == .driverFailed)
        let file = "\(environment["LIBVA_DRIVERS_PATH"] ?? "")/nonesuch_drv_video.so"
        #expect(
            missing.reason?.hasPrefix("the VA-API driver failed: vaInitialize: ") == true
                && missing.reason?.contains(file) == true)
        #expect(failing.cause == .driverFailed && missing.cause == .driverName)
        #expect(missing.reason?.hasSuffix("; LIBVA_DRIVER_NAME is nonesuch") == true)
    }

    @Test func addsWhatADriverPrintsWhereItsStatusSaysNothing() throws {
        let node = try #require(
            try BrokerProcess(devices: "/dev/null", environment: FakeDriver.unnamed("complain")).probe().nodes.first
        )
        #expect(node.state == .driverFailed && node.cause == .driverFailed)
        #expect(
            node.reason?.hasSuffix("; it printed: fake: libfake.so.1: [31m cannot open shared object file") == true,
            "\(node.reason ?? "")")
    }

    @Test func triesAFailedVerificationAgainInAFreshProcess() throws {
        var template = Array("/tmp/hwdaemon-test-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var environment = try FakeDriver.environment("unstable")
        environment["FAKE_VA_STATE"] = "\(folder)/state"
        environment["HWDAEMON_SANDBOX_PATHS"] = folder
        let broker = try BrokerProcess(devices: "/dev/null", environment: environment)
        let snapshot = try broker.probe()
        let path = try #require(snapshot.paths.first)
        #expect(!path.verified)
        #expect(
            path.reason?.hasPrefix("unstable: first encoding failed: vaCreateConfig: invalid parameter") == true,
            "\(path.reason ?? "")")
        #expect(path.reason?.contains(", then encoding failed: vaCreateConfig") == true)
        #expect(snapshot.nodes.first?.cause == .unstable)
        // Later attempts end alike.
        let later = try #require(try broker.probe("{\"verify\":true}").paths.first)
        #expect(later.reason?.hasPrefix("encoding failed: vaCreateConfig") == true, "\(later.reason ?? "")")
    }

    @Test func confinesCrashingAndHangingDriversToTheirNodes() throws {
        let crashed = try broker("crash").probe()
        #expect(crashed.nodes.map(\.state) == [.crashed])
        #expect(crashed.nodes.map(\.reason) == ["the probe of this node crashed (signal 11, SIGSEGV)"])

        // The daemon serves calls while a probe hangs.
        let busy = try BrokerProcess(
            ["--set", "ProbeTimeout=60"], devices: "/dev/null", environment: FakeDriver.environment("hang"))
        _ = try busy.childProcess("hwdaemon-probe")
        #expect(try busy.connect().ask("org.varlink.service.GetInfo").error == nil)
        // The probe of the software ends soon, and may have been the first that was found.
        _ = try busy.childProcess("hwdaemon-probe")

        let broker = try broker("hang")
        let hung = try broker.probe()
        #expect(hung.nodes.map(\.state) == [.timedOut])
        #expect(hung.nodes.map(\.reason) == ["the probe of this node timed out after 5 s"])
        for snapshot in [crashed, hung] {
            #expect(snapshot.encoders.map(\.id) == ["org.hwdaemon.encoder.x265"])
            #expect(snapshot.paths.count == 4 && snapshot.paths.allSatisfy(\.verified))
        }
        try waitFor("no probe to be left") { broker.children.isEmpty }
    }
}
