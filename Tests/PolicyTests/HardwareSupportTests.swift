// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import Testing

/// What an app is answered about hardware decoders, and the list of decoders.
@Suite struct HardwareSupportTests {
    private static let node = "/dev/dri/renderD128"
    private static let id = "org.hwdaemon.decoder.vaapi.0000:03:00.0"

    private static func path(
        _ codec: String, _ bitDepth: Int, side: Int? = nil, fault: String? = nil, device: String? = node
    ) -> CodecPath {
        var path = CodecPath(
            id: "\(codec)-\(bitDepth)", codec: codec, operation: .decode, profile: "main", bitDepth: bitDepth,
            device: device, driver: "driver 1.0")
        path.claimed = true
        path.verified = fault == nil
        path.reason = fault
        path.hardware = HardwareLimits(entrypoint: "VAEntrypointVLD", maxWidth: side, maxHeight: side)
        return path
    }

    private static func machine(_ paths: [CodecPath]) -> ProbeSnapshot {
        var ready = RenderNode(node: node, state: .ready)
        ready.pciAddress = "0000:03:00.0"
        return ProbeSnapshot(encoders: [], nodes: [ready], paths: paths)
    }

    private static func decoding(
        _ codec: String, _ bitDepth: Int, _ side: Int? = nil, _ paths: [CodecPath], failures: [CodecFailure] = []
    ) -> HardwareSupport {
        HardwareSupport(
            decoding: codec, bitDepth: bitDepth, size: side.map { PictureSize(width: $0, height: $0) },
            snapshot: machine(paths), failures: failures)
    }

    @Test func namesTheVerifiedDecoderOfHEVC() {
        let paths = [Self.path("hevc", 8, side: 4096), Self.path("hevc", 10, side: 2048)]
        for (depth, side) in [(8, nil), (8, 4096), (10, 2048)] as [(Int, Int?)] {
            let answer = Self.decoding("hevc", depth, side, paths)
            #expect(answer.codecID == Self.id && answer.reason == nil)
        }
        // Each bit depth has its own limits.
        let large = Self.decoding("hevc", 10, 4096, paths)
        #expect(large.codecID == nil && large.reason?.contains("4096x4096") == true)
        let deep = Self.decoding("hevc", 12, nil, paths)
        #expect(deep.codecID == nil && deep.reason == "no hardware decoder here decodes 12-bit HEVC")
        let failure = CodecFailure(codecID: Self.id, reason: "it crashed", isTransient: false)
        let failed = Self.decoding("hevc", 8, nil, paths, failures: [failure])
        #expect(failed.codecID == nil && failed.reason == "\(Self.id) failed: it crashed")
    }

    @Test func namesTheFaultOfAnUnverifiedDecoder() {
        let answer = Self.decoding("hevc", 8, nil, [Self.path("hevc", 8, fault: "frame 0 came back wrong")])
        #expect(answer.codecID == nil && answer.reason == "\(Self.id) is not used: frame 0 came back wrong")
    }

    /// A decoder that sessions do not use is supported hardware, with that as the reason.
    @Test(arguments: ["h264", "vp9", "av1"])
    func answersAboutOtherCodecs(codec: String) {
        let paths = [Self.path("hevc", 8), Self.path(codec, 8, side: 4096)]
        let failure = CodecFailure(codecID: Self.id, reason: "it crashed", isTransient: false)
        let answer = Self.decoding(codec, 8, 4096, paths, failures: [failure])
        #expect(answer.codecID == Self.id && answer.reason?.contains("not \(codec)") == true)
        #expect(Self.decoding(codec, 8, 4097, paths).codecID == nil)
        let deep = Self.decoding(codec, 10, nil, paths)
        #expect(deep.codecID == nil && deep.reason?.hasPrefix("no hardware decoder here decodes 10-bit ") == true)
        let wrong = Self.decoding(codec, 8, nil, [Self.path(codec, 8, fault: "the frame differs")])
        #expect(wrong.codecID == nil && wrong.reason == "\(Self.id) is not used: the frame differs")
        let other = Self.decoding(codec, 8, nil, [Self.path("hevc", 8)])
        #expect(other.codecID == nil && other.reason?.hasSuffix(" decoder found on it") == true)
    }

    /// The limits of one bit depth are not those of another, and neither is its state.
    @Test func listsADecoderForEachCodecAndBitDepth() throws {
        let list = DecoderPolicy.list(
            Self.machine([
                Self.path("hevc", 8, side: 4096), Self.path("hevc", 10, side: 2048),
                Self.path("av1", 8, fault: "no"),
            ]))
        #expect(list.map(\.codec) == ["hevc", "hevc", "av1", "hevc"])
        #expect(list.map(\.bitDepths) == [[8], [10], [8], [8, 10]])
        #expect(list.map(\.maxWidth) == [4096, 2048, nil, nil])
        #expect(list.map(\.verified) == [true, true, false, true])
        #expect(list.map(\.reason) == [nil, nil, "no", nil])
        #expect(list.map(\.hardware) == [true, true, true, false])
        #expect(list.prefix(3).allSatisfy { $0.id == Self.id && $0.device == Self.node })
    }

    /// Sessions choose among decoders of HEVC only.
    @Test func sessionsIgnoreOtherCodecs() throws {
        let snapshot = Self.machine([Self.path("h264", 8)])
        #expect(DecoderPolicy.candidates(snapshot).map(\.hardware) == [false])
        let choice = try DecoderPolicy.choose(
            DecoderPolicy.Request(specification: [:], bitDepth: 8), snapshot: snapshot)
        #expect(!choice.decoder.hardware && choice.fallbackReason?.contains("no HEVC decoder") == true)
    }
}
