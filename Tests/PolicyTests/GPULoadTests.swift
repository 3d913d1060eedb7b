// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import Testing

@Suite("The load of GPUs")
struct GPULoadTests {
    private static func encoder(_ id: String, _ gpu: String?, bitDepths: [Int] = [8]) -> EncoderDescription {
        EncoderDescription(
            id: id, name: id, codec: "hevc", hardware: gpu != nil, version: "1", bitDepths: bitDepths,
            pixelFormats: ["NV12"], device: gpu.map { "/dev/dri/\($0)" }, pciAddress: gpu)
    }

    private static func decodePath(_ gpu: String) -> CodecPath {
        var path = CodecPath(
            id: "hevc-main-decode", codec: "hevc", operation: .decode, profile: "main", bitDepth: 8,
            device: "/dev/dri/\(gpu)", driver: "driver")
        (path.claimed, path.verified) = (true, true)
        return path
    }

    /// Two GPUs that encode and decode, and software.
    private static let machine: ProbeSnapshot = {
        var nodes = [RenderNode(node: "/dev/dri/a", state: .ready), RenderNode(node: "/dev/dri/b", state: .ready)]
        (nodes[0].pciAddress, nodes[1].pciAddress) = ("a", "b")
        return ProbeSnapshot(
            encoders: [
                encoder("enc.a", "a"), encoder("enc.b", "b", bitDepths: [8, 10]),
                encoder("sw", nil, bitDepths: [8, 10]),
            ],
            nodes: nodes, paths: [decodePath("a"), decodePath("b")])
    }()
    private static let (decodesA, decodesB) = ("org.hwdaemon.decoder.vaapi.a", "org.hwdaemon.decoder.vaapi.b")

    private static func loads(_ uses: [(String, Double)], maxSessions: Int? = nil) -> [HardwareLoad] {
        GPULoad.loads(
            of: uses.map { GPULoad.Use(codecID: $0.0, pixelRate: $0.1) }, on: machine, maxSessions: maxSessions)
    }

    @Test func anEncoderAndADecoderShareTheirGPUsLoad() {
        let loads = Self.loads([("enc.a", 100), (Self.decodesA, 20), ("enc.b", 50), ("sw", 1000)])
        #expect(loads.map(\.codecID) == ["enc.a", "enc.b", Self.decodesA, Self.decodesB])
        #expect(loads.map(\.pixelRate) == [120, 50, 120, 50])
        #expect(loads.map(\.sessionCount) == [2, 1, 2, 1])
        #expect(loads.allSatisfy { !$0.isFull })
    }

    @Test func choosesTheGPUThatDoesLeast() throws {
        func choice(_ uses: [(String, Double)], _ change: (inout EncoderPolicy.Request) -> Void = { _ in }) throws
            -> String
        {
            var request = EncoderPolicy.Request()
            request.loads = Self.loads(uses)
            change(&request)
            return try EncoderPolicy.choose(request, snapshot: Self.machine).encoder.id
        }
        // The first of equal ones.
        #expect(try choice([]) == "enc.a")
        #expect(try choice([("enc.a", 1)]) == "enc.b")
        // One session of 4K is more than two of 720p.
        let large = 3840.0 * 2160 * 30
        #expect(try choice([("enc.a", large), ("enc.b", 1280 * 720 * 60), ("enc.b", 1280 * 720 * 60)]) == "enc.b")
        #expect(try choice([("enc.a", 5), (Self.decodesB, 6)]) == "enc.a")
        // A GPU that the session names or had before comes first.
        #expect(try choice([("enc.a", 1)]) { $0.preferredGPU = "a" } == "enc.a")
        #expect(try choice([("enc.a", 1)]) { $0.previousID = "enc.a" } == "enc.a")
        #expect(try choice([("enc.b", 1)]) { $0.bitDepth = 10 } == "enc.b")
        #expect(try choice([("enc.a", 1)]) { $0.codecID = "enc.a" } == "enc.a")
    }

    /// Sessions that come one after another, each of which counts from then on.
    @Test func sharesOutEqualSessionsEqually() throws {
        var uses: [(String, Double)] = []
        for _ in 0..<10 {
            var request = EncoderPolicy.Request()
            request.loads = Self.loads(uses)
            uses.append((try EncoderPolicy.choose(request, snapshot: Self.machine).encoder.id, 1280 * 720 * 30))
        }
        #expect(uses.map(\.0) == (0..<5).flatMap { _ in ["enc.a", "enc.b"] })
    }

    @Test func aFullGPUTakesNoMore() throws {
        var request = EncoderPolicy.Request()
        request.loads = Self.loads([("enc.a", 1), (Self.decodesA, 1), ("enc.b", 100)], maxSessions: 2)
        #expect(try EncoderPolicy.choose(request, snapshot: Self.machine).encoder.id == "enc.b")

        request.loads = Self.loads([("enc.a", 1), ("enc.b", 1)], maxSessions: 1)
        let software = try EncoderPolicy.choose(request, snapshot: Self.machine)
        #expect(software.encoder.id == "sw")
        let reason = "enc.a is not available now: its GPU has 1 session, as many as MaxHardwareSessions allows"
        #expect(software.fallbackReason?.hasPrefix(reason) == true)
        request.requireHardware = true
        let error = #expect(throws: SessionError.self) { try EncoderPolicy.choose(request, snapshot: Self.machine) }
        #expect(error?.status == .videoEncoderNotAvailableNow)

        // A full GPU that does not fit anyway is no reason to try again.
        request.bitDepth = 12
        let misfit = #expect(throws: SessionError.self) {
            try EncoderPolicy.choose(request, snapshot: Self.machine)
        }
        #expect(misfit?.status == .couldNotFindVideoEncoder)
    }

    @Test func decodersAreChosenInTheSameWay() throws {
        var request = try DecoderPolicy.Request(specification: [:], bitDepth: 8)
        func id() throws -> String { try DecoderPolicy.choose(request, snapshot: Self.machine).decoder.id }
        #expect(try id() == Self.decodesA)
        request.loads = Self.loads([("enc.a", 1)])
        #expect(try id() == Self.decodesB)
        request.loads = Self.loads([("enc.a", 1), ("enc.b", 2)], maxSessions: 1)
        let choice = try DecoderPolicy.choose(request, snapshot: Self.machine)
        #expect(choice.decoder.id == DecoderDescription.software.id)
        #expect(choice.fallbackReason?.contains("MaxHardwareSessions") == true)
    }

    @Test func aPriorityFollowsFromTheProperties() throws {
        var properties = PropertyStore(backend: .x265)
        #expect(SessionPriority(properties) == .normal)
        try properties.set(["Priority": .string("background")], isOpen: false)
        #expect(SessionPriority(properties) == .background)
        try properties.set(["RealTime": .bool(true)], isOpen: false)
        #expect(SessionPriority(properties) == .realTime)
        #expect(SessionPriority.background < .normal && .normal < SessionPriority.realTime)
        #expect(throws: SessionError.self) { try properties.set(["Priority": .string("high")], isOpen: false) }
        #expect(throws: SessionError.self) { try properties.set(["Priority": .string("normal")], isOpen: true) }
        #expect(SessionPriority(call: ["Priority": .int(3)]) == .normal)
    }
}
