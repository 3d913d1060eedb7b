// SPDX-License-Identifier: GPL-2.0-or-later
import Model
import Sessions
import Testing

private let software = EncoderDescription(
    id: "sw", name: "software", codec: "hevc", hardware: false, version: "1", bitDepths: [8, 10],
    pixelFormats: ["NV12"])
private let hardware = EncoderDescription(
    id: "hw", name: "hardware", codec: "hevc", hardware: true, version: "1", bitDepths: [8], pixelFormats: ["NV12"])
private let bareMachine = ProbeSnapshot(encoders: [software], nodes: [])
private let fullMachine = ProbeSnapshot(
    encoders: [hardware, software], nodes: [RenderNode(node: "/dev/dri/renderD128", state: .ready)])

@Suite struct PolicyTests {
    @Test func preferTakesHardwareWhereItIs() throws {
        let choice = try Policy.choose(Policy.Request(), snapshot: fullMachine)
        #expect(choice.encoder.id == "hw" && choice.fallbackReason == nil)
    }

    @Test func preferFallsBackAndSaysWhy() throws {
        let choice = try Policy.choose(Policy.Request(), snapshot: bareMachine)
        #expect(choice.encoder.id == "sw")
        #expect(choice.fallbackReason == "this machine has no render node (/dev/dri/renderD*)")
    }

    @Test func theNodesOwnReasonIsTheReason() throws {
        let snapshot = ProbeSnapshot(
            encoders: [software],
            nodes: [
                RenderNode(node: "/dev/dri/renderD128", state: .permission, reason: "permission denied: join render")
            ])
        let choice = try Policy.choose(Policy.Request(), snapshot: snapshot)
        #expect(choice.fallbackReason == "/dev/dri/renderD128: permission denied: join render")
    }

    @Test func requireIsRefusedWithTheReasonAndNotServedInSoftware() {
        let error = #expect(throws: SessionError.self) {
            try Policy.choose(Policy.Request(requireHardware: true), snapshot: bareMachine)
        }
        #expect(error?.status == .couldNotFindVideoEncoder)
        #expect(error?.reason.contains("no render node") == true)
    }

    @Test func requireImpliesEnable() throws {
        let request = try Policy.Request(
            specification: [
                "EnableHardwareAcceleratedVideoEncoder": .bool(false),
                "RequireHardwareAcceleratedVideoEncoder": .bool(true),
            ], bitDepth: 8)
        #expect(request.enableHardware && request.requireHardware)
        #expect(try Policy.choose(request, snapshot: fullMachine).encoder.id == "hw")
    }

    @Test func offIsNoFallback() throws {
        let choice = try Policy.choose(Policy.Request(enableHardware: false), snapshot: fullMachine)
        #expect(choice.encoder.id == "sw" && choice.fallbackReason == nil)
    }

    @Test func aDepthHardwareCannotWriteIsSaid() throws {
        let choice = try Policy.choose(Policy.Request(bitDepth: 10), snapshot: fullMachine)
        #expect(choice.encoder.id == "sw")
        #expect(choice.fallbackReason == "no hardware encoder here writes 10-bit HEVC")
    }

    @Test(arguments: [(true, Status.videoEncoderNotAvailableNow), (false, .couldNotFindVideoEncoder)])
    func aFailureIsNotTriedAgain(isTransient: Bool, status: Status) throws {
        let failure = Policy.Failure(encoderID: "hw", reason: "the context did not open", isTransient: isTransient)
        let choice = try Policy.choose(Policy.Request(), snapshot: fullMachine, failures: [failure])
        #expect(choice.encoder.id == "sw")
        #expect(choice.fallbackReason == "hw failed: the context did not open")
        let error = #expect(throws: SessionError.self) {
            try Policy.choose(Policy.Request(requireHardware: true), snapshot: fullMachine, failures: [failure])
        }
        #expect(error?.status == status)
    }

    @Test func anEncoderThatIsNotThereIsNamed() {
        let error = #expect(throws: SessionError.self) {
            try Policy.choose(Policy.Request(encoderID: "nvenc"), snapshot: bareMachine)
        }
        #expect(error?.status == .couldNotFindVideoEncoder)
        #expect(error?.reason.contains("nvenc") == true && error?.reason.contains("sw") == true)
    }

    @Test(arguments: [
        ("Quality", PropertyValue.double(1), Status.propertyNotSupported),
        ("EnableHardwareAcceleratedVideoEncoder", .string("yes"), .parameter),
        ("EncoderID", .int(3), .parameter),
    ])
    func aBadSpecificationIsRefused(key: String, value: PropertyValue, status: Status) {
        let error = #expect(throws: SessionError.self) {
            try Policy.Request(specification: [key: value], bitDepth: 8)
        }
        #expect(error?.status == status)
    }
}
