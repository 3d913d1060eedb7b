// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import Testing

private let software = EncoderDescription(
    id: "sw", name: "software", codec: "hevc", hardware: false, version: "1", bitDepths: [8, 10],
    pixelFormats: ["NV12"])
private let hardware = EncoderDescription(
    id: "hw", name: "hardware", codec: "hevc", hardware: true, version: "1", bitDepths: [8], pixelFormats: ["NV12"])
private let bareMachine = ProbeSnapshot(encoders: [software], nodes: [])
private let fullMachine = ProbeSnapshot(
    encoders: [hardware, software], nodes: [RenderNode(node: "/dev/dri/renderD128", state: .ready)])

@Suite struct EncoderPolicyTests {
    @Test func prefersHardware() throws {
        let choice = try EncoderPolicy.choose(EncoderPolicy.Request(), snapshot: fullMachine)
        #expect(choice.encoder.id == "hw" && choice.fallbackReason == nil)
    }

    @Test func fallsBackWithAReason() throws {
        let choice = try EncoderPolicy.choose(EncoderPolicy.Request(), snapshot: bareMachine)
        #expect(choice.encoder.id == "sw")
        #expect(choice.fallbackReason?.contains("no render node") == true)
    }

    /// An app's question gets the answer that a session that requires hardware would get.
    @Test func answersWhetherHardwareIsSupported() {
        func encoding(_ codec: String, _ bitDepth: Int, _ snapshot: ProbeSnapshot) -> HardwareSupport {
            HardwareSupport(encoding: codec, bitDepth: bitDepth, size: nil, snapshot: snapshot, failures: [])
        }
        #expect(encoding("hevc", 8, fullMachine).codecID == "hw")
        let deep = encoding("hevc", 10, fullMachine)
        #expect(deep.codecID == nil && deep.reason == "no hardware encoder here encodes 10-bit HEVC")
        #expect(encoding("hevc", 8, bareMachine).reason?.contains("no render node") == true)
        #expect(encoding("av1", 8, fullMachine).reason == "sessions encode hevc, not av1")
        let failure = CodecFailure(codecID: "hw", reason: "it crashed", isTransient: false)
        let failed = HardwareSupport(
            encoding: "hevc", bitDepth: 8, size: nil, snapshot: fullMachine, failures: [failure])
        #expect(failed.codecID == nil && failed.reason == "hw failed: it crashed")
        let decoding = HardwareSupport(
            decoding: "hevc", bitDepth: 8, size: nil, snapshot: fullMachine, failures: [])
        #expect(decoding.codecID == nil && decoding.reason == "/dev/dri/renderD128: no HEVC decoder found on it")
    }

    /// Whether a HEIC file can be written, in which tiles and by what.
    @Test func answersWhetherStillsAreSupported() {
        func support(
            _ side: Int?, _ tile: Int?, _ snapshot: ProbeSnapshot, depth: Int = 8
        ) -> StillSupport {
            let size = side.map { PictureSize(width: $0, height: $0) }
            return StillSupport(bitDepth: depth, size: size, tile: tile, snapshot: snapshot, failures: [])
        }
        let grid = support(4000, nil, fullMachine)
        #expect(grid.codecID == "hw" && grid.isHardware && grid.reason == nil)
        #expect(grid.tiling?.columns == 8 && grid.tiling?.rows == 8 && grid.tiling?.width == 512)
        let any = support(nil, nil, bareMachine)
        #expect(any.codecID == "sw" && !any.isHardware && any.tiling == nil)
        #expect(any.reason?.contains("no render node") == true)
        #expect(support(4000, nil, fullMachine, depth: 10).codecID == "sw")
        #expect(support(6000, 0, fullMachine).reason?.contains("level") == true)
        #expect(support(6000, 0, fullMachine).codecID == nil)
        let wide = StillSupport(
            bitDepth: 8, size: PictureSize(width: 16_400, height: 64), tile: 0, snapshot: fullMachine, failures: [])
        #expect(wide.reason?.contains("16384 samples on a side") == true && wide.codecID == nil)
        #expect(support(200_000, nil, fullMachine).reason?.contains("391x391 tiles") == true)
        #expect(support(100, nil, fullMachine, depth: 12).codecID == nil)
    }

    @Test func reportsTheReasonOfTheNode() throws {
        let snapshot = ProbeSnapshot(
            encoders: [software],
            nodes: [
                RenderNode(
                    node: "/dev/dri/renderD128", state: .permission, reason: "permission denied: join render")
            ])
        let choice = try EncoderPolicy.choose(EncoderPolicy.Request(), snapshot: snapshot)
        #expect(choice.fallbackReason == "/dev/dri/renderD128: permission denied: join render")
    }

    /// A card that decodes is ready, so that only its paths say why it does not encode.
    @Test func namesWhyACardDoesNotEncode() throws {
        let card = RenderNode(node: "/dev/nvidia0", state: .driverFailed, reason: "libcuda.so.1 cannot be loaded")
        let render = RenderNode(node: "/dev/dri/renderD128", state: .permission, reason: "permission denied")
        func reason(_ nodes: [RenderNode], _ paths: [CodecPath] = []) throws -> String? {
            let snapshot = ProbeSnapshot(encoders: [software], nodes: nodes, paths: paths)
            return try EncoderPolicy.choose(EncoderPolicy.Request(), snapshot: snapshot).fallbackReason
        }
        #expect(
            try reason([render, card])
                == "/dev/dri/renderD128: permission denied; /dev/nvidia0: libcuda.so.1 cannot be loaded")
        let ready = RenderNode(node: "/dev/nvidia0", state: .ready)
        #expect(try reason([ready]) == "/dev/nvidia0: no HEVC encoder found on it")
        var path = CodecPath(
            id: "hevc-main-encode", codec: "hevc", operation: .encode, profile: "main", bitDepth: 8,
            device: "/dev/nvidia0", driver: "NVIDIA NVENC")
        path.reason = "this GPU has no encoder (NVENC)"
        let words = "/dev/nvidia0: its HEVC encoder is not used: this GPU has no encoder (NVENC)"
        #expect(try reason([ready], [path]) == words)
        // The node's reason is the decoder's.
        let untrue = RenderNode(node: "/dev/nvidia0", state: .ready, reason: "its HEVC decoder is not used: wrong")
        #expect(try reason([untrue], [path]) == words)
    }

    /// What passes on a card is shown by its encoders, and not by the node, whose decoders may work or be busy themselves.
    @Test(
        arguments: [
            (RenderNode.State.ready, ProbeCause.busy, Status.videoEncoderNotAvailableNow),
            (.busy, .busy, .videoEncoderNotAvailableNow), (.ready, .noEncoder, .couldNotFindVideoEncoder),
            (.busy, .noEncoder, .couldNotFindVideoEncoder), (.verifying, .noEncoder, .videoEncoderNotAvailableNow),
        ])
    func tellsABusyCardFromOneWithoutEncoder(state: RenderNode.State, cause: ProbeCause, status: Status) {
        let card = RenderNode(node: "/dev/nvidia0", state: state)
        var path = CodecPath(
            id: "hevc-main-encode", codec: "hevc", operation: .encode, profile: "main", bitDepth: 8,
            device: "/dev/nvidia0", driver: "NVIDIA NVENC")
        (path.reason, path.cause) = ("a reason", cause)
        let snapshot = ProbeSnapshot(encoders: [software], nodes: [card], paths: [path])
        let error = #expect(throws: SessionError.self) {
            try EncoderPolicy.choose(EncoderPolicy.Request(requireHardware: true), snapshot: snapshot)
        }
        #expect(error?.status == status)
    }

    @Test func refusesRequiredHardwareInsteadOfFallingBack() {
        let error = #expect(throws: SessionError.self) {
            try EncoderPolicy.choose(EncoderPolicy.Request(requireHardware: true), snapshot: bareMachine)
        }
        #expect(error?.status == .couldNotFindVideoEncoder)
        #expect(error?.reason.contains("no render node") == true)
    }

    @Test func requiringHardwareEnablesIt() throws {
        let request = try EncoderPolicy.Request(
            specification: [
                "EnableHardwareAcceleratedVideoEncoder": .bool(false),
                "RequireHardwareAcceleratedVideoEncoder": .bool(true),
            ], bitDepth: 8)
        #expect(request.enableHardware && request.requireHardware)
        #expect(try EncoderPolicy.choose(request, snapshot: fullMachine).encoder.id == "hw")
    }

    @Test func reportsNoFallbackWhenHardwareIsDisabled() throws {
        let choice = try EncoderPolicy.choose(EncoderPolicy.Request(enableHardware: false), snapshot: fullMachine)
        #expect(choice.encoder.id == "sw" && choice.fallbackReason == nil)
    }

    @Test func reportsADepthThatHardwareDoesNotEncode() throws {
        let choice = try EncoderPolicy.choose(EncoderPolicy.Request(bitDepth: 10), snapshot: fullMachine)
        #expect(choice.encoder.id == "sw")
        #expect(choice.fallbackReason?.contains("10-bit") == true)
    }

    @Test(arguments: [(true, Status.videoEncoderNotAvailableNow), (false, .couldNotFindVideoEncoder)])
    func doesNotRetryAFailedEncoder(isTransient: Bool, status: Status) throws {
        let failure = CodecFailure(codecID: "hw", reason: "the context did not open", isTransient: isTransient)
        let choice = try EncoderPolicy.choose(EncoderPolicy.Request(), snapshot: fullMachine, failures: [failure])
        #expect(choice.encoder.id == "sw")
        #expect(choice.fallbackReason == "hw failed: the context did not open")
        let error = #expect(throws: SessionError.self) {
            try EncoderPolicy.choose(
                EncoderPolicy.Request(requireHardware: true), snapshot: fullMachine, failures: [failure])
        }
        #expect(error?.status == status)
    }

    @Test func namesAnUnknownEncoder() {
        let error = #expect(throws: SessionError.self) {
            try EncoderPolicy.choose(EncoderPolicy.Request(codecID: "nvenc"), snapshot: bareMachine)
        }
        #expect(error?.status == .couldNotFindVideoEncoder)
        #expect(error?.reason.contains("nvenc") == true && error?.reason.contains("sw") == true)
    }

    @Test(arguments: [
        ("Quality", PropertyValue.double(1), Status.propertyNotSupported),
        ("EnableHardwareAcceleratedVideoEncoder", .string("yes"), .parameter),
        ("EncoderID", .int(3), .parameter),
    ])
    func refusesAnInvalidSpecification(key: String, value: PropertyValue, status: Status) {
        let error = #expect(throws: SessionError.self) {
            try EncoderPolicy.Request(specification: [key: value], bitDepth: 8)
        }
        #expect(error?.status == status)
    }

    /// Two GPUs: the first encodes 8 bits, the second both depths but only small pictures.
    private static let twoGPUs: ProbeSnapshot = {
        var first = hardware
        (first.device, first.pciAddress) = ("/dev/dri/renderD128", "0000:03:00.0")
        var second = hardware
        (second.id, second.bitDepths, second.device) = ("hw2", [8, 10], "/dev/dri/renderD129")
        second.sizes = PictureSizes(maxWidth: 1280, maxHeight: 720)
        return ProbeSnapshot(
            encoders: [first, second, software],
            nodes: [
                RenderNode(node: "/dev/dri/renderD128", state: .ready),
                RenderNode(node: "/dev/dri/renderD129", state: .ready),
            ])
    }()

    @Test func triesTheNextHardwareAfterAFailureThenSoftware() throws {
        var failures = [CodecFailure(codecID: "hw", reason: "it crashed", isTransient: false)]
        let second = try EncoderPolicy.choose(EncoderPolicy.Request(), snapshot: Self.twoGPUs, failures: failures)
        #expect(second.encoder.id == "hw2" && second.fallbackReason == nil)
        failures.append(CodecFailure(codecID: "hw2", reason: "it is busy", isTransient: true))
        let third = try EncoderPolicy.choose(EncoderPolicy.Request(), snapshot: Self.twoGPUs, failures: failures)
        #expect(third.encoder.id == "sw")
        #expect(third.fallbackReason == "hw failed: it crashed; hw2 failed: it is busy")
        let error = #expect(throws: SessionError.self) {
            try EncoderPolicy.choose(
                EncoderPolicy.Request(requireHardware: true), snapshot: Self.twoGPUs, failures: failures)
        }
        // One of them may become available.
        #expect(error?.status == .videoEncoderNotAvailableNow)
    }

    @Test(arguments: [
        "0000:03:00.0", "/dev/dri/renderD128", "/dev/dri/by-path/pci-0000:03:00.0-render",
    ])
    func selectsAGPUByAddressOrNode(name: String) throws {
        let wanted = try EncoderPolicy.Request(
            specification: ["RequiredEncoderGPURegistryID": .string(name)], bitDepth: 8)
        #expect(wanted.requireHardware && wanted.enableHardware)
        #expect(try EncoderPolicy.choose(wanted, snapshot: Self.twoGPUs).encoder.id == "hw")
        let preferred = try EncoderPolicy.Request(
            specification: ["PreferredEncoderGPURegistryID": .string("/dev/dri/renderD129")], bitDepth: 8)
        #expect(try EncoderPolicy.choose(preferred, snapshot: Self.twoGPUs).encoder.id == "hw2")
        #expect(!preferred.requireHardware)
    }

    @Test func refusesAnUnknownRequiredGPU() throws {
        let wanted = try EncoderPolicy.Request(
            specification: ["RequiredEncoderGPURegistryID": .string("x")], bitDepth: 8)
        let error = #expect(throws: SessionError.self) { try EncoderPolicy.choose(wanted, snapshot: Self.twoGPUs) }
        #expect(error?.status == .couldNotFindVideoEncoder)
        #expect(error?.reason.contains("0000:03:00.0, /dev/dri/renderD129") == true)
        // An unknown preferred GPU is ignored.
        let preferred = try EncoderPolicy.Request(
            specification: ["PreferredEncoderGPURegistryID": .string("x")], bitDepth: 8)
        #expect(try EncoderPolicy.choose(preferred, snapshot: Self.twoGPUs).encoder.id == "hw")
    }

    @Test func skipsHardwareForPicturesThatExceedItsLimits() throws {
        var request = EncoderPolicy.Request(bitDepth: 10)
        request.size = PictureSize(width: 1280, height: 720)
        #expect(try EncoderPolicy.choose(request, snapshot: Self.twoGPUs).encoder.id == "hw2")
        request.size = PictureSize(width: 1920, height: 1080)
        let choice = try EncoderPolicy.choose(request, snapshot: Self.twoGPUs)
        #expect(choice.encoder.id == "sw")
        #expect(choice.fallbackReason?.contains("hw2 takes 1x1 to 1280x720") == true)
    }

    @Test func choosesSoftwareForPropertiesThatOnlyItSupportsUnlessHardwareIsRequired() throws {
        var request = EncoderPolicy.Request()
        request.softwareProperties = ["X265Preset"]
        let choice = try EncoderPolicy.choose(request, snapshot: fullMachine)
        #expect(choice.encoder.id == "sw" && choice.fallbackReason?.contains("X265Preset") == true)
        // The session then refuses the property by name.
        request.requireHardware = true
        #expect(try EncoderPolicy.choose(request, snapshot: fullMachine).encoder.id == "hw")
    }

    @Test(arguments: [
        (RenderNode.State.verifying, Status.videoEncoderNotAvailableNow),
        (.busy, .videoEncoderNotAvailableNow), (.crashed, .couldNotFindVideoEncoder),
    ])
    func reportsHardwareUnderVerificationAsNotAvailableNow(state: RenderNode.State, status: Status) throws {
        let snapshot = ProbeSnapshot(
            encoders: [software], nodes: [RenderNode(node: "/dev/a", state: state, reason: "so it is")])
        let error = #expect(throws: SessionError.self) {
            try EncoderPolicy.choose(EncoderPolicy.Request(requireHardware: true), snapshot: snapshot)
        }
        #expect(error?.status == status && error?.reason.contains("/dev/a: so it is") == true)
        let choice = try EncoderPolicy.choose(EncoderPolicy.Request(), snapshot: snapshot)
        #expect(choice.fallbackReason == "/dev/a: so it is")
    }
}
