// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDControlCommands

@Suite("Diagnoses of machines")
struct DiagnosisTests {
    private static let software = EncoderDescription(
        id: "org.hwdaemon.encoder.x265", name: "x265 3.5", codec: "hevc", hardware: false, version: "3.5",
        bitDepths: [8, 10], pixelFormats: ["NV12"])

    private static func node(
        _ state: RenderNode.State, _ cause: ProbeCause?, pciID: String? = nil, reason: String = "a reason"
    ) -> ProbeSnapshot {
        var node = RenderNode(node: "/dev/dri/renderD128", state: state, reason: reason)
        (node.cause, node.pciID) = (cause, pciID)
        return ProbeSnapshot(encoders: [software], nodes: [node])
    }

    private static func command(_ snapshot: ProbeSnapshot, _ machine: Machine = Machine()) -> String? {
        let diagnosis = Diagnosis(snapshot, machine)
        return diagnosis.problems.count == 1 ? diagnosis.problems[0].command : nil
    }

    @Test("A machine and a container without a render node have different cures")
    func noNode() {
        let empty = ProbeSnapshot(encoders: [Self.software], nodes: [])
        #expect(Diagnosis(empty, Machine()).problems.map(\.cause) == [.noRenderNode])
        let contained = Diagnosis(empty, Machine(isContainer: true))
        #expect(contained.problems.map(\.cause) == [.containerWithoutNode])
        #expect(contained.problems.first?.command?.contains("--device /dev/dri") == true)
        #expect(contained.encode.hardware == false && contained.encode.by == "x265 3.5")
        #expect(contained.encode.reason == "this container has no render node (/dev/dri/renderD*)")
    }

    @Test(
        "A crash on NVIDIA's own node is that of NVIDIA's driver, and on a render node that of VA-API's",
        arguments: [
            ("/dev/nvidia0", "NVIDIA's driver", "apt policy nvidia-driver libcuda1 libnvcuvid1"),
            ("/dev/dri/renderD128", "the VA-API driver", "journalctl -u hwdaemon -p warning"),
        ])
    func crashed(_ device: String, _ driver: String, _ command: String) throws {
        for cause in [ProbeCause.driverCrashed, .driverHung, .unstable] {
            let problem = Diagnosis.Problem(cause, "a reason", device: device)
            let remedy = try #require(problem.remedy)
            #expect(remedy.hasPrefix("install another version of \(driver), and report the fault to "), "\(remedy)")
            #expect(problem.command == command)
        }
    }

    @Test("The group that owns the node is named")
    func group() {
        let machine = Machine(user: "alice", groups: ["/dev/dri/renderD128": "video"])
        #expect(Self.command(Self.node(.permission, .permission), machine) == "usermod -aG video alice")
        let remedy = Diagnosis(Self.node(.permission, .permission), machine).problems.first?.remedy
        #expect(remedy == "let the daemon's user join the group video, which owns the node")
        #expect(Self.command(Self.node(.permission, .permission)) == "usermod -aG render USER")
        let service = Machine(user: "hwdaemon", hasService: true)
        #expect(
            Self.command(Self.node(.permission, .permission), service)
                == "usermod -aG render hwdaemon && systemctl restart hwdaemon")
    }

    @Test(
        "The package follows from the vendor",
        arguments: [
            ("8086:8a52", ProbeCause.driverMissing, "apt install intel-media-va-driver"),
            ("1002:73bf", .driverMissing, "apt install mesa-va-drivers"),
            ("10de:2204", .driverMissing, "apt install nvidia-vaapi-driver"),
            ("8086:8a52", .noEncoder, "apt install intel-media-va-driver-non-free"),
            ("8086:8a52", .hucFirmware, "apt install firmware-misc-nonfree && reboot"),
            ("1002:73bf", .vcnFirmware, "apt install firmware-amd-graphics && reboot"),
        ])
    func package(_ pciID: String, _ cause: ProbeCause, _ command: String) {
        #expect(Self.command(Self.node(.ready, cause, pciID: pciID)) == command)
    }

    @Test("Every known cause has a remedy, or a reason that names it", arguments: ProbeCause.allCases)
    func everyCause(_ cause: ProbeCause) {
        let isNamedByItsReason = cause == .permission || cause == .unknown
        #expect((cause.remedy(pciID: "8086:8a52") == nil) == isNamedByItsReason)
        #expect((cause.remedy(pciID: "8086:8a52", group: "render") == nil) == (cause == .unknown))
        // Its reason names the file of a Vulkan driver, which any package may have installed.
        let hasNoCommand: [ProbeCause] = [.unknown, .vulkanManifest, .vulkanLibrary, .driverRefused]
        for pciID in [nil, "8086:8a52", "1002:73bf", "1a03:2000"] {
            #expect((cause.command(pciID: pciID) == nil) == hasNoCommand.contains(cause), "\(pciID ?? "none")")
        }
    }

    @Test(
        "A missing library has Debian's package",
        arguments: [
            ("libva.so.2", "apt install libva2 libva-drm2"), ("libva-drm.so.2", "apt install libva2 libva-drm2"),
            ("libx265.so.199", "apt install libx265-199"), ("libavcodec.so.59", "apt install libavcodec59"),
            ("libvpx.so.7", "apt --fix-broken install"), ("libx265.so.1 && reboot", "apt --fix-broken install"),
        ])
    func library(_ name: String, _ command: String) {
        let reason = "it printed: p: error while loading shared libraries: \(name): cannot open shared object file"
        #expect(Self.command(Self.node(.failed, .libraryMissing, reason: reason)) == command)
    }

    @Test("Without libva neither codec in software starts; without libavcodec the encoder does")
    func softwareFailure() {
        func diagnosis(_ library: String) -> Diagnosis {
            var snapshot = ProbeSnapshot(encoders: [Self.software], nodes: [])
            snapshot.softwareFailure = ProbeSnapshot.SoftwareFailure(
                reason: "error while loading shared libraries: \(library): cannot", cause: .libraryMissing)
            return Diagnosis(snapshot, Machine())
        }
        let (libva, codecs) = (diagnosis("libva.so.2"), diagnosis("libavcodec.so.59"))
        for diagnosis in [libva, codecs] {
            #expect(diagnosis.problems.map(\.cause) == [.libraryMissing, .noRenderNode])
            #expect(diagnosis.decode.by == nil && diagnosis.decode.reason?.contains("libraries") == true)
        }
        #expect(libva.encode.by == nil && libva.encode.reason?.contains("libva.so.2") == true)
        #expect(codecs.encode.by == "x265 3.5" && codecs.encode.reason?.contains("no render node") == true)
    }

    @Test(
        "A decoder in software that was not verified is used, unless it lacks a library",
        arguments: [
            ("the probe crashed", "FFmpeg 5.1"), ("\(ProbeCause.linkerMessage)libavcodec.so.59: cannot", nil),
        ])
    func unverifiedDecoder(_ reason: String, _ driver: String?) {
        var path = CodecPath(
            id: "hevc-main-decode", codec: "hevc", operation: .decode, profile: "main", bitDepth: 8,
            driver: "FFmpeg 5.1")
        (path.claimed, path.reason) = (true, reason)
        var snapshot = ProbeSnapshot(encoders: [Self.software], nodes: [], paths: [path])
        snapshot.softwareFailure = ProbeSnapshot.SoftwareFailure(reason: reason)
        let decode = Diagnosis(snapshot, Machine()).decode
        #expect(!decode.hardware && decode.by == driver)
        #expect((decode.reason == reason) == (driver == nil), "\(decode.reason ?? "none")")
    }

    @Test("A codec in software that returns wrong pictures is a problem")
    func softwareFault() {
        var path = CodecPath(
            id: "hevc-main-encode", codec: "hevc", operation: .encode, profile: "main", bitDepth: 8,
            driver: "x265 3.5")
        (path.claimed, path.reason) = (true, "frames came back changed")
        let found = Diagnosis(ProbeSnapshot(encoders: [Self.software], nodes: [], paths: [path]), Machine())
            .problems
        #expect(found.first?.problem == "hevc-main-encode in software: frames came back changed")
    }

    @Test(
        "What a quirk takes away is a problem where a later driver has it, else a limit", arguments: ["23.0", nil])
    func lostFeatures(_ fixedIn: String?) throws {
        var node = RenderNode(node: "/dev/dri/renderD128", state: .ready)
        (node.driver, node.pciID) = ("Mesa 22.3.6", "1002:73bf")
        var path = CodecPath(
            id: "hevc-main-encode", codec: "hevc", operation: .encode, profile: "main", bitDepth: 8,
            device: node.node,
            driver: "Mesa 22.3.6")
        (path.claimed, path.verified, path.quirks) = (true, true, ["own-headers", "one-qp"])
        var encoder = Self.software
        (encoder.hardware, encoder.name) = (true, "Mesa 22.3.6 on \(node.node)")
        var snapshot = ProbeSnapshot(encoders: [encoder], nodes: [node], paths: [path])
        snapshot.quirks = [
            QuirkDescription(id: "one-qp", why: "a setting", fixedIn: "24.1", link: "https://example.org/other"),
            QuirkDescription(
                id: "own-headers", why: "it writes its own headers",
                disabledFeatures: [.temporalLayers, .alphaLayer],
                fixedIn: fixedIn, link: "https://example.org/headers"),
        ]
        let diagnosis = Diagnosis(snapshot, Machine())
        #expect(diagnosis.encode.hardware && diagnosis.encode.reason == nil)
        #expect(diagnosis.problems.count + diagnosis.limits.count == 1)
        let found = try #require((diagnosis.problems + diagnosis.limits).first)
        #expect(diagnosis.problems.isEmpty == (fixedIn == nil))
        #expect(found.problem == "Mesa 22.3.6 is without temporal levels, alpha: it writes its own headers")
        #expect(found.lost == [.temporalLayers, .alphaLayer] && found.quirk == "own-headers")
        #expect(found.remedy == fixedIn.map { "install version \($0) or later of the driver" })
        #expect(found.command == fixedIn.map { _ in "apt install -t bookworm-backports mesa-va-drivers" })
        let text = DoctorCommand.text(diagnosis)
        #expect(text.contains("   More: https://example.org/headers (quirk own-headers)"))
        #expect(text.contains("No problem was found.") == (fixedIn == nil))
        #expect(!text.contains("one-qp"))
    }

    @Test("Working hardware has no problem, and a path that fails beside it has one")
    func working() {
        var encoder = Self.software
        (encoder.hardware, encoder.name, encoder.bitDepths) = (true, "iHD on /dev/dri/renderD128", [8])
        var node = RenderNode(node: "/dev/dri/renderD128", state: .ready)
        node.driver = "iHD"
        var decoder = CodecPath(
            id: "hevc-main-decode", codec: "hevc", operation: .decode, profile: "main", bitDepth: 8,
            device: node.node,
            driver: "iHD")
        (decoder.claimed, decoder.verified) = (true, true)
        var snapshot = ProbeSnapshot(encoders: [encoder, Self.software], nodes: [node], paths: [decoder])
        let healthy = Diagnosis(snapshot, Machine())
        #expect(healthy.problems.isEmpty && healthy.encode.hardware && healthy.decode.hardware)
        #expect(healthy.encode.by == "HEVC of 8 bits by iHD on /dev/dri/renderD128" && healthy.encode.reason == nil)

        var broken = decoder
        (broken.id, broken.operation, broken.verified) = ("hevc-main10-encode", .encode, false)
        (broken.reason, broken.cause) = ("disabled by the quirk q: it returns wrong pictures", .quirk)
        snapshot.paths.append(broken)
        let partly = Diagnosis(snapshot, Machine())
        #expect(partly.encode.hardware && partly.problems.map(\.cause) == [.quirk])
        #expect(partly.problems.first?.problem == "hevc-main10-encode: \(broken.reason ?? "")")
    }

    @Test("Paragraphs break at spaces and keep long words")
    func paragraphs() {
        let text = Paragraphs.paragraph("Title", "one two three four", indent: 7, columns: 16)
        #expect(text == "Title  one two\n       three\n       four")
        #expect(Paragraphs.paragraph("", "abcdefghijkl", indent: 2, columns: 6) == "  abcdefghijkl")
    }

    @Test("OpenMetrics text becomes Prometheus's format")
    func prometheus() {
        let open = """
            # TYPE a counter
            # UNIT a bytes
            # HELP a Some \\"bytes\\" of C:\\\\ and more.
            a_total{x="# HELP"} 3
            # TYPE b info
            # HELP b Facts.
            b_info{version="1"} 1
            # TYPE c gauge
            # HELP c Some.
            c 2
            # EOF

            """
        #expect(
            PrometheusText.text(open) == """
                # TYPE a_total counter
                # HELP a_total Some "bytes" of C:\\\\ and more.
                a_total{x="# HELP"} 3
                # TYPE b_info gauge
                # HELP b_info Facts.
                b_info{version="1"} 1
                # TYPE c gauge
                # HELP c Some.
                c 2

                """)
    }
}
