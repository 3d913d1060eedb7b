// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import Testing

private func node(_ path: String, pci: String? = nil, _ state: RenderNode.State = .ready) -> RenderNode {
    var node = RenderNode(node: path, state: state, reason: state == .ready ? nil : "it may not be opened")
    node.pciAddress = pci
    return node
}

private func path(
    _ device: String, depth: Int = 8, verified: Bool = true, reason: String? = nil, maxWidth: Int? = nil
) -> CodecPath {
    var path = CodecPath(
        id: "hevc-decode-\(depth)", codec: "hevc", operation: .decode, profile: depth > 8 ? "main10" : "main",
        bitDepth: depth, device: device, driver: "driver")
    path.claimed = true
    path.verified = verified
    path.reason = reason
    path.hardware = HardwareLimits(entrypoint: "VAEntrypointVLD", maxWidth: maxWidth)
    return path
}

@Suite struct DecoderPolicyTests {
    private static let software = "org.hwdaemon.decoder.libavcodec"
    private static let gpu = "org.hwdaemon.decoder.vaapi.0000:03:00.0"
    private static let machine = ProbeSnapshot(
        encoders: [], nodes: [node("/dev/dri/renderD128", pci: "0000:03:00.0")],
        paths: [path("/dev/dri/renderD128")])

    private func choose(
        _ specification: [String: PropertyValue] = [:], depth: Int = 8, width: Int = 64,
        _ snapshot: ProbeSnapshot = machine, _ failures: [CodecFailure] = []
    ) throws -> DecoderPolicy.Choice {
        try DecoderPolicy.choose(
            DecoderPolicy.Request(
                specification: specification, bitDepth: depth, size: PictureSize(width: width, height: 64)),
            snapshot: snapshot, failures: failures)
    }

    private func error(_ body: () throws -> DecoderPolicy.Choice) -> SessionError? {
        do {
            _ = try body()
            return nil
        } catch { return error as? SessionError }
    }

    @Test func prefersVerifiedHardware() throws {
        let choice = try choose()
        #expect(choice.decoder.id == Self.gpu)
        #expect(choice.decoder.device == "/dev/dri/renderD128")
        #expect(choice.fallbackReason == nil)
    }

    @Test("NVIDIA's card is a decoder of its own kind, and says why it is not used")
    func choosesNVDEC() throws {
        let card = node("/dev/nvidia0", pci: "0000:00:06.0")
        let machine = ProbeSnapshot(
            encoders: [], nodes: [card], paths: [path("/dev/nvidia0"), path("/dev/nvidia0", depth: 10)])
        let id = "org.hwdaemon.decoder.nvdec.0000:00:06.0"
        for depth in [8, 10] {
            let choice = try choose(depth: depth, machine)
            #expect(choice.decoder.id == id && choice.decoder.device == "/dev/nvidia0")
        }
        let full = CodecFailure(codecID: id, reason: "the GPU has no memory left", isTransient: true)
        let choice = try choose(Self.noSpecification, machine, [full])
        #expect(choice.decoder.id == Self.software)
        #expect(choice.fallbackReason == "\(id) failed: the GPU has no memory left")
    }

    @Test func reportsTheReasonOfEveryFallback() throws {
        let require: [String: PropertyValue] = ["RequireHardwareAcceleratedVideoDecoder": .bool(true)]
        let nothing = ProbeSnapshot(encoders: [], nodes: [])
        let closed = ProbeSnapshot(encoders: [], nodes: [node("/dev/dri/renderD128", .permission)])
        let failed = ProbeSnapshot(
            encoders: [],
            nodes: [RenderNode(node: "/dev/dri/renderD128", state: .driverFailed, reason: "vaInitialize failed")])
        let unverified = ProbeSnapshot(
            encoders: [], nodes: Self.machine.nodes,
            paths: [path("/dev/dri/renderD128", verified: false, reason: "frames came back wrong")])
        let small = ProbeSnapshot(
            encoders: [], nodes: Self.machine.nodes, paths: [path("/dev/dri/renderD128", maxWidth: 32)])
        let cases: [(ProbeSnapshot, Int, String)] = [
            (nothing, 8, "no render node"), (closed, 8, "may not be opened"),
            (failed, 8, "vaInitialize failed"), (unverified, 8, "came back wrong"),
            (small, 8, "does not decode pictures of 64x64"), (Self.machine, 10, "decodes 10-bit HEVC"),
        ]
        for (snapshot, depth, reason) in cases {
            let choice = try choose(depth: depth, snapshot)
            #expect(choice.decoder.id == Self.software)
            #expect(choice.fallbackReason?.contains(reason) ?? false, "\(choice.fallbackReason ?? "none")")
            let refusal = error { try choose(require, depth: depth, snapshot) }
            #expect(refusal?.status == .couldNotFindVideoDecoder)
            #expect(refusal?.reason.contains(reason) ?? false)
        }
    }

    @Test func excludesAFailedDecoderFromTheNextChoice() throws {
        let busy = CodecFailure(codecID: Self.gpu, reason: "the device is busy", isTransient: true)
        let choice = try choose(Self.noSpecification, Self.machine, [busy])
        #expect(choice.decoder.id == Self.software)
        #expect(choice.fallbackReason?.contains("busy") ?? false)
        let refusal = error {
            try choose(["RequireHardwareAcceleratedVideoDecoder": .bool(true)], Self.machine, [busy])
        }
        #expect(refusal?.status == .videoDecoderNotAvailableNow)
    }

    private static let noSpecification: [String: PropertyValue] = [:]

    @Test func honorsTheSpecification() throws {
        #expect(try choose(["EnableHardwareAcceleratedVideoDecoder": .bool(false)]).decoder.id == Self.software)
        #expect(try choose(["EnableHardwareAcceleratedVideoDecoder": .bool(false)]).fallbackReason == nil)
        #expect(try choose(["DecoderID": .string(Self.software)]).decoder.id == Self.software)
        #expect(try choose(["DecoderID": .string(Self.gpu)]).decoder.id == Self.gpu)
        // As in VideoToolbox, requiring hardware enables it.
        let both: [String: PropertyValue] = [
            "EnableHardwareAcceleratedVideoDecoder": .bool(false),
            "RequireHardwareAcceleratedVideoDecoder": .bool(true),
        ]
        #expect(try choose(both).decoder.id == Self.gpu)
        #expect(error { try choose(["DecoderID": .string("x")]) }?.status == .couldNotFindVideoDecoder)
        #expect(error { try choose(["DecoderID": .int(1)]) }?.status == .parameter)
        #expect(error { try choose(["Quality": .double(1)]) }?.status == .propertyNotSupported)
    }
}
