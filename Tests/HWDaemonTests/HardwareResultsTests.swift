// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDTransport
import HWDWire
import Testing

@testable import HWDaemon

@Suite("What is known of hardware")
struct HardwareResultsTests {
    @Test func anEncoderInTroubleIsLeftAloneForAWhileAndThenTriedAgain() {
        var failureBackoff = FailureBackoff()
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        failureBackoff.add(CodecFailure(codecID: "a", reason: "it crashed", isTransient: false), now: start)
        failureBackoff.add(
            CodecFailure(codecID: "b", reason: "it hung", isTransient: false), now: start + .seconds(30))
        failureBackoff.add(CodecFailure(codecID: "a", reason: "again", isTransient: false), now: start + .seconds(31))
        #expect(failureBackoff.present(now: start + .seconds(59)).map(\.reason) == ["it hung", "again"])
        #expect(failureBackoff.present(now: start + .seconds(90)).map(\.codecID) == ["a"])
        #expect(failureBackoff.present(now: start + .seconds(91)).isEmpty)
        for number in 0..<100 {
            failureBackoff.add(CodecFailure(codecID: "\(number)", reason: "", isTransient: false), now: start)
        }
        // An encoder and a decoder of each of 16 nodes.
        #expect(failureBackoff.present(now: start).count == 32)
        failureBackoff.forget()
        #expect(failureBackoff.present(now: start).isEmpty)
    }

    @Test func aNodeIsBeingVerifiedAsLongAsAPathIsUntried() {
        var results = ProbeResults()
        let request = ProbeRequest(.node("/dev/a"), verification: .startup)
        results.add(
            .answer(ProbeAnswer(node: RenderNode(node: "/dev/a", state: .ready), untried: ["hevc-main-encode"])),
            to: request)
        #expect(results.untried == ["/dev/a"])
        #expect(results.snapshot.nodes.map(\.state) == [.ready])
        results.verifying = ["/dev/a", "/dev/gone"]
        results.settle()
        #expect(results.verifying == ["/dev/a"])
        #expect(results.snapshot.nodes.map(\.state) == [.verifying])
        results.add(
            .answer(ProbeAnswer(node: RenderNode(node: "/dev/a", state: .ready, reason: "it lies"))), to: request)
        results.settle()
        #expect(results.verifying.isEmpty && results.untried.isEmpty)
        #expect(results.snapshot.nodes.map(\.reason) == ["it lies"])
    }

    @Test func aProbeSpeaksOfItsOwnNodeOnlyAndNotTooMuch() {
        var results = ProbeResults()
        func encoder(_ node: String) -> HardwareEncoder {
            let path = HardwareEncoder.Path(
                bitDepth: 8, vaProfile: "p", vaEntrypoint: "e", vaRTFormat: "f",
                features: Array(repeating: CodecFeature(rawValue: String(repeating: "x", count: 9999)), count: 999),
                adjustments: [
                    "ctb_size": .int(64), "list": .array([.int(1), .array([.int(2)]), .null]),
                    "deep": .object(["a": .int(1)]),
                ])
            return HardwareEncoder(encoderID: "id", node: node, paths: Array(repeating: path, count: 99))
        }
        results.add(
            .answer(
                ProbeAnswer(
                    node: RenderNode(node: "/dev/a", state: .ready),
                    hardware: [encoder("/dev/b"), encoder("/dev/a")])),
            to: ProbeRequest(.node("/dev/a")))
        #expect(results.hardware.map(\.node) == ["/dev/a"])
        let paths = results.hardware[0].paths
        #expect(paths.count == 16 && paths[0].features.count == 16 && paths[0].features[0].rawValue.utf8.count < 600)
        #expect(paths[0].adjustments == ["ctb_size": .int(64), "list": .array([.int(1)])])
    }

    @Test func whatMayPassIsNotRemembered() {
        let key = ProbeRecord.Key(device: "d", driver: "v", kernel: "k", libraries: "l", catalogue: "c")
        let busy = ProbeRecord.Result(id: "a", verified: false, reason: "busy", passing: .busy)
        let good = ProbeRecord.Result(id: "b", verified: true, reason: nil)
        #expect(ProbeRecord(key: key, results: [busy, good]).lasting?.results == [good])
        #expect(ProbeRecord(key: key, results: [busy]).lasting == nil)
    }
}
