// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDTransport
import HWDWire
import Testing

@testable import HWDaemon

@Suite("Probe knowledge")
struct ProbeKnowledgeTests {
    private static let node = ProbeRequest.Subject.node("/dev/a")
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private static func failure(_ id: String, _ reason: String = "") -> CodecFailure {
        CodecFailure(codecID: id, reason: reason, isTransient: false)
    }

    private static func record(_ results: ProbeRecord.Result...) -> ProbeRecord {
        let key = ProbeRecord.Key(device: "d", driver: "v", kernel: "k", libraries: "l", catalogue: "c")
        return ProbeRecord(key: key, results: results)
    }

    private static let busy = ProbeRecord.Result(id: "a", verified: false, reason: "busy", passing: .busy)
    private static let good = ProbeRecord.Result(id: "b", verified: true, reason: nil)

    @Test func sessionsAvoidFailedHardwareForAMinute() {
        let start = Self.start
        var knowledge = ProbeKnowledge()
        knowledge.add(Self.failure("a", "it crashed"), now: start)
        knowledge.add(Self.failure("b", "it hung"), now: start + .seconds(30))
        knowledge.add(Self.failure("a", "again"), now: start + .seconds(31))
        #expect(knowledge.sessionFailures(now: start + .seconds(59)).map(\.reason) == ["it hung", "again"])
        #expect(knowledge.sessionFailures(now: start + .seconds(90)).map(\.codecID) == ["a"])
        #expect(knowledge.sessionFailures(now: start + .seconds(91)).isEmpty)
        for number in 0..<100 { knowledge.add(Self.failure("\(number)"), now: start) }
        // An encoder and a decoder of each of 16 nodes.
        #expect(knowledge.sessionFailures(now: start).count == 32)
        knowledge.invalidate()
        #expect(knowledge.sessionFailures(now: start).isEmpty)
    }

    @Test func retriesTemporaryFailuresAfterAPause() {
        var knowledge = ProbeKnowledge()
        func answer(_ result: ProbeRecord.Result) -> ProbeChild.Outcome {
            .answer(ProbeAnswer(node: RenderNode(node: "/dev/a", state: .ready), record: Self.record(result)))
        }
        func nodesToRetry(among nodes: [String] = ["/dev/a"], after delay: Duration) -> [String] {
            knowledge.takeNodesToRetry(among: nodes, now: Self.start + delay)
        }
        _ = knowledge.add(answer(Self.busy), to: ProbeRequest(Self.node), now: Self.start)
        #expect(nodesToRetry(after: .seconds(30)).isEmpty)
        // A node that is no longer one of the daemon's is left alone.
        #expect(nodesToRetry(among: ["/dev/b"], after: .seconds(31)).isEmpty)
        #expect(nodesToRetry(after: .seconds(31)) == ["/dev/a"])
        #expect(nodesToRetry(after: .seconds(31)).isEmpty)
        _ = knowledge.add(answer(Self.good), to: ProbeRequest(Self.node), now: Self.start)
        #expect(nodesToRetry(after: .seconds(90)).isEmpty)
    }

    /// The pause doubles for each verification with an unstable outcome, not for answers that repeat it.
    @Test func unstableDriversAreVerifiedLessAndLessOften() {
        var knowledge = ProbeKnowledge()
        let unstable = ProbeRecord.Result(id: "a", verified: false, reason: "unstable", passing: .unstable)
        var now = Self.start
        for pause in [30, 60, 120] {
            for delay in [0, 1] {
                _ = knowledge.add(
                    .answer(
                        ProbeAnswer(
                            node: RenderNode(node: "/dev/a", state: .ready), record: Self.record(unstable))),
                    to: ProbeRequest(Self.node), now: now + .seconds(delay))
            }
            #expect(knowledge.takeNodesToRetry(among: ["/dev/a"], now: now + .seconds(max(pause, 31))).isEmpty)
            now = now + .seconds(pause + 2)
            #expect(knowledge.takeNodesToRetry(among: ["/dev/a"], now: now) == ["/dev/a"])
        }
        // A node that is gone is not verified any more.
        knowledge.retain(nodes: [], now: now)
        #expect(knowledge.takeNodesToRetry(among: ["/dev/a"], now: now + .seconds(7200)).isEmpty)
    }

    @Test func reportsWhetherRecordsChanged() {
        var knowledge = ProbeKnowledge(records: [.software: Self.record(Self.good)])
        func changes(_ outcome: ProbeChild.Outcome) -> Bool { knowledge.add(outcome, to: ProbeRequest(.software)) }
        #expect(!changes(.answer(ProbeAnswer(record: Self.record(Self.good)))))
        #expect(!changes(.answer(ProbeAnswer())))
        #expect(!changes(.failure(.crashed, "it crashed")))
        #expect(knowledge.records[.software] == Self.record(Self.good))
        #expect(changes(.answer(ProbeAnswer(record: Self.record(Self.busy, Self.good)))))
    }

    @Test func reusesAnAnswerWhileItsFilesAreUnchanged() {
        var knowledge = ProbeKnowledge()
        let request = ProbeRequest(Self.node)
        var answer = ProbeAnswer(
            node: RenderNode(node: "/dev/a", state: .ready), files: [FileStamp(path: "/lib/driver", stamp: "1")])
        _ = knowledge.add(.answer(answer), to: request)
        #expect(knowledge.answers(Self.node, .unlessKnown, isUnchanged: { _ in true }))
        #expect(knowledge.answers(Self.node, .never, isUnchanged: { _ in true }))
        #expect(!knowledge.answers(Self.node, .always, isUnchanged: { _ in true }))
        #expect(!knowledge.answers(Self.node, .never, isUnchanged: { $0.path != "/lib/driver" }))
        #expect(!knowledge.answers(.software, .never, isUnchanged: { _ in true }))
        knowledge.invalidate()
        #expect(!knowledge.answers(Self.node, .never, isUnchanged: { _ in true }))

        // A claim that was not tried is no answer to a request for verification.
        answer.untried = ["hevc-main-encode"]
        _ = knowledge.add(.answer(answer), to: request)
        #expect(!knowledge.answers(Self.node, .unlessKnown, isUnchanged: { _ in true }))
        #expect(knowledge.answers(Self.node, .never, isUnchanged: { _ in true }))
        _ = knowledge.add(.failure(.crashed, "it crashed"), to: request)
        #expect(!knowledge.answers(Self.node, .never, isUnchanged: { _ in true }))
    }

    /// A session that encodes does not wait for a card's decoders.
    @Test(arguments: [(["d"], false), (["d", "e"], true)])
    func waitsOnlyForWhatASessionMayUse(untried: [String], waits: Bool) {
        var knowledge = ProbeKnowledge()
        func path(_ id: String, _ operation: CodecOperation) -> CodecPath {
            CodecPath(
                id: id, codec: "hevc", operation: operation, profile: "main", bitDepth: 8, device: "/dev/nvidia0",
                driver: "NVIDIA")
        }
        let answer = ProbeAnswer(
            node: RenderNode(node: "/dev/nvidia0", state: .ready), paths: [path("d", .decode), path("e", .encode)],
            untried: untried)
        _ = knowledge.add(.answer(answer), to: ProbeRequest(.node("/dev/nvidia0"), verification: .startup))
        knowledge.beginVerification(of: "/dev/nvidia0")
        #expect(knowledge.isVerifying(for: .compression) == waits)
        #expect(knowledge.isVerifying(for: .decompression))
    }

    @Test func verifiesANodeUntilEveryPathWasTried() {
        var knowledge = ProbeKnowledge()
        let request = ProbeRequest(Self.node, verification: .startup)
        let claimed = ProbeAnswer(node: RenderNode(node: "/dev/a", state: .ready), untried: ["hevc-main-encode"])
        _ = knowledge.add(.answer(claimed), to: request)
        #expect(knowledge.untriedNodes == ["/dev/a"])
        #expect(knowledge.snapshot.nodes.map(\.state) == [.ready])
        knowledge.beginVerification(of: "/dev/a")
        #expect(knowledge.isVerifying(for: .compression))
        #expect(knowledge.snapshot.nodes.map(\.state) == [.verifying])
        let failed = ProbeAnswer(node: RenderNode(node: "/dev/a", state: .ready, reason: "its frames are wrong"))
        _ = knowledge.add(.answer(failed), to: request)
        #expect(!knowledge.isVerifying(for: .compression) && knowledge.untriedNodes.isEmpty)
        #expect(knowledge.snapshot.nodes.map(\.reason) == ["its frames are wrong"])
    }

    @Test func cardsAreVerifiedForAllSessions() {
        var knowledge = ProbeKnowledge()
        let card = "/dev/nvidia0"
        let claimed = ProbeAnswer(node: RenderNode(node: card, state: .ready), untried: ["hevc-main-decode"])
        _ = knowledge.add(.answer(claimed), to: ProbeRequest(.node(card), verification: .startup))
        knowledge.beginVerification(of: card)
        #expect(knowledge.isVerifying(for: .decompression))
        #expect(knowledge.snapshot.nodes.first?.reason?.contains("codecs are still being verified") == true)
    }

    @Test func publishesOnlyAfterACompleteLook() {
        var knowledge = ProbeKnowledge()
        _ = knowledge.add(
            .answer(ProbeAnswer(node: RenderNode(node: "/dev/a", state: .ready))), to: ProbeRequest(Self.node))
        knowledge.publish(isCompleteRound: false, now: Self.start)
        #expect(knowledge.published == nil && knowledge.lastCompleteRound == nil)
        knowledge.publish(isCompleteRound: true, now: Self.start)
        #expect(knowledge.published?.nodes.map(\.node) == ["/dev/a"] && knowledge.lastCompleteRound == Self.start)
        knowledge.retain(nodes: [], now: Self.start)
        #expect(knowledge.published?.nodes.count == 1)
        knowledge.publish(isCompleteRound: false, now: Self.start + .seconds(1))
        #expect(knowledge.published?.nodes.isEmpty == true && knowledge.lastCompleteRound == Self.start)
    }

    @Test func rejectsAnAnswerAboutAnotherNode() {
        var knowledge = ProbeKnowledge()
        let request = ProbeRequest(Self.node)
        _ = knowledge.add(.answer(ProbeAnswer(node: RenderNode(node: "/dev/b", state: .ready))), to: request)
        #expect(knowledge.snapshot.nodes.map(\.node) == ["/dev/a"])
        #expect(knowledge.snapshot.nodes.map(\.state) == [.failed])
        _ = knowledge.add(.answer(ProbeAnswer()), to: request)
        #expect(knowledge.snapshot.nodes.first?.reason?.contains("another") == true)
        _ = knowledge.add(.failure(.crashed, "it crashed"), to: request)
        var crashed = RenderNode(node: "/dev/a", state: .crashed, reason: "it crashed")
        crashed.cause = .driverCrashed
        #expect(knowledge.snapshot.nodes == [crashed])
    }

    @Test func leavesHungDriversAloneForGrowingPauses() {
        var knowledge = ProbeKnowledge()
        func isAnswered(_ verification: ProbeRequest.Verification, after delay: Duration) -> Bool {
            knowledge.answers(Self.node, verification, now: Self.start + delay, isUnchanged: { _ in true })
        }
        func hang(after delay: Duration) {
            _ = knowledge.add(
                .failure(.timedOut, "it hung"), to: ProbeRequest(Self.node), now: Self.start + delay)
        }
        hang(after: .zero)
        #expect(isAnswered(.unlessKnown, after: .seconds(29)) && isAnswered(.never, after: .seconds(29)))
        // On demand everything is tried.
        #expect(!isAnswered(.always, after: .seconds(29)))
        #expect(!isAnswered(.unlessKnown, after: .seconds(31)))
        hang(after: .seconds(31))
        #expect(isAnswered(.unlessKnown, after: .seconds(90)) && !isAnswered(.unlessKnown, after: .seconds(92)))
        for _ in 0..<20 { hang(after: .seconds(100)) }
        #expect(isAnswered(.never, after: .seconds(3699)) && !isAnswered(.never, after: .seconds(3701)))
        knowledge.invalidate()
        #expect(!isAnswered(.never, after: .seconds(101)))
        // A driver that starts again is as good as new.
        hang(after: .zero)
        let ready = ProbeAnswer(node: RenderNode(node: "/dev/a", state: .ready), record: Self.record(Self.good))
        _ = knowledge.add(.answer(ready), to: ProbeRequest(Self.node), now: Self.start)
        hang(after: .seconds(200))
        #expect(!isAnswered(.never, after: .seconds(231)))
    }

    @Test func repeatsNoFatalTrialOnRequestDuringThePause() {
        let fatal = ProbeRecord.Result(id: "c", verified: false, reason: "it hung", passing: .fatal)
        let wrong = ProbeRecord.Result(id: "d", verified: false, reason: "its frames are wrong")
        var knowledge = ProbeKnowledge()
        knowledge.addFatalFailure(of: Self.node, now: Self.start)
        let answer = ProbeAnswer(
            node: RenderNode(node: "/dev/a", state: .ready), record: Self.record(Self.good, fatal, wrong))
        _ = knowledge.add(.answer(answer), to: ProbeRequest(Self.node), now: Self.start)
        func known(after delay: Duration) -> [String]? {
            knowledge.knownOnRequest(Self.node, now: Self.start + delay)?.results.map(\.id)
        }
        #expect(known(after: .seconds(29)) == ["b", "c"])
        #expect(known(after: .seconds(31)) == ["b"])
    }

    @Test func keepsSoftwareEncodersWhoseVerificationCrashed() {
        var knowledge = ProbeKnowledge()
        let encoder = EncoderDescription(
            id: "soft", name: "soft", codec: "hevc", hardware: false, version: "1", bitDepths: [8],
            pixelFormats: ["NV12"])
        var path = CodecPath(
            id: "p", codec: "hevc", operation: .encode, profile: "main", bitDepth: 8, driver: "soft 1")
        path.claimed = true
        path.verified = true
        _ = knowledge.add(
            .answer(ProbeAnswer(encoders: [encoder], paths: [path])),
            to: ProbeRequest(.software, verification: .startup))
        _ = knowledge.add(.failure(.crashed, "it crashed"), to: ProbeRequest(.software, verification: .always))
        #expect(knowledge.snapshot.encoders.map(\.id) == ["soft"])
        #expect(knowledge.snapshot.paths.map(\.verified) == [false])
        #expect(knowledge.snapshot.paths.map(\.reason) == ["it crashed"])
        _ = knowledge.add(.failure(.crashed, "again"), to: ProbeRequest(.software, verification: .startup))
        #expect(knowledge.snapshot.encoders.isEmpty && !knowledge.knowsSoftware)
    }

    @Test func keepsTheDecodersIfTheStartupProbeEndsLast() {
        var knowledge = ProbeKnowledge()
        func path(_ operation: CodecOperation) -> CodecPath {
            CodecPath(
                id: "\(operation)", codec: "hevc", operation: operation, profile: "main", bitDepth: 8,
                driver: "soft 1")
        }
        let whole = ProbeChild.Outcome.answer(ProbeAnswer(paths: [path(.encode), path(.decode)]))
        let part = ProbeChild.Outcome.answer(ProbeAnswer(paths: [path(.encode)]))
        let startup = ProbeRequest(.software, verification: .startup)
        _ = knowledge.add(whole, to: ProbeRequest(.software, verification: .never))
        _ = knowledge.add(part, to: startup)
        #expect(knowledge.snapshot.paths.map(\.operation) == [.encode, .decode])
        _ = knowledge.add(.failure(.crashed, "it crashed"), to: startup)
        #expect(knowledge.snapshot.paths.map(\.operation) == [.encode, .decode])
        // After a reload the codecs may be others.
        knowledge.invalidate()
        _ = knowledge.add(part, to: startup)
        #expect(knowledge.snapshot.paths.map(\.operation) == [.encode])
    }
}

@Suite("Bounds of probe answers")
struct ProbeBoundsTests {
    @Test func keepsHardwareEncodersOfTheProbedNodeOnly() {
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
        var knowledge = ProbeKnowledge()
        let answer = ProbeAnswer(
            node: RenderNode(node: "/dev/a", state: .ready), hardware: [encoder("/dev/b"), encoder("/dev/a")])
        _ = knowledge.add(.answer(answer), to: ProbeRequest(.node("/dev/a")))
        #expect(knowledge.hardwareEncoders.map(\.node) == ["/dev/a"])
        let paths = knowledge.hardwareEncoders[0].paths
        #expect(paths.count == 16 && paths[0].features.count == 16)
        #expect(paths[0].features[0].rawValue.utf8.count < 600)
        #expect(paths[0].adjustments == ["ctb_size": .int(64), "list": .array([.int(1)])])
    }

    @Test func listsHardwareFirstAndBoundsClaims() {
        func encoder(_ id: String, hardware: Bool) -> EncoderDescription {
            EncoderDescription(
                id: id, name: String(repeating: "n", count: 100_000), codec: "hevc", hardware: hardware,
                version: "1", bitDepths: [8], pixelFormats: Array(repeating: "NV12", count: 1000))
        }
        var knowledge = ProbeKnowledge()
        let software = [encoder("soft", hardware: false), encoder("false claim", hardware: true)]
        _ = knowledge.add(.answer(ProbeAnswer(encoders: software)), to: ProbeRequest(.software))
        var path = CodecPath(
            id: String(repeating: "i", count: 100_000), codec: "hevc", operation: .encode, profile: "main",
            bitDepth: 8, device: "/dev/a", driver: "d")
        path.quirks = Array(repeating: "q", count: 1000)
        var foreign = path
        foreign.device = "/dev/b"
        let answer = ProbeAnswer(
            node: RenderNode(node: "/dev/a", state: .ready), encoders: [encoder("hard", hardware: true)],
            paths: [foreign] + Array(repeating: path, count: 1000))
        _ = knowledge.add(.answer(answer), to: ProbeRequest(.node("/dev/a")))
        let snapshot = knowledge.snapshot
        #expect(snapshot.paths.count < 100)
        #expect(
            snapshot.paths.allSatisfy {
                $0.device == "/dev/a" && $0.id.utf8.count < 1024 && $0.quirks.count <= 16
            })
        #expect(snapshot.encoders.map(\.id) == ["hard", "soft"])
        #expect(snapshot.encoders.allSatisfy { $0.name.utf8.count < 1024 && $0.pixelFormats.count <= 16 })
        #expect(knowledge.snapshot(of: "/dev/none").encoders.map(\.id) == ["soft"])
    }

    @Test func boundsVulkanReportsAndChoosesTheDeviceItself() {
        var device = ComputeDevice(
            id: "a", name: String(repeating: "n", count: 10_000), driver: "d\u{1b}[31m", apiVersion: "1.3.0",
            kind: .discrete, pciAddress: "0000:03:00.0", claimed: true,
            imports: ComputeDevice.Imports(hostMemoryAlignment: 4096, dmaBufs: true, dmaBufModifiers: true),
            limits: ComputeDevice.Limits(
                maxStorageBufferRange: 1 << 27, maxStorageBuffers: 8, timestampPeriod: 1, storage16Bit: true,
                float16: true))
        (device.tried, device.verified, device.chosen, device.choice) = (true, true, true, "forged")
        var knowledge = ProbeKnowledge()
        let request = ProbeRequest(.vulkan)
        let many = VulkanReport(state: .ready, devices: Array(repeating: device, count: 100))
        _ = knowledge.add(.answer(ProbeAnswer(vulkan: many)), to: request)
        let report = knowledge.snapshot.vulkan
        #expect(report?.devices.count == 16)
        #expect(report?.devices.count(where: \.chosen) == 1)
        #expect(report?.devices[0].choice.contains("16 GPUs") == true)
        #expect(report?.devices[0].driver == "d [31m" && (report?.devices[0].name.utf8.count ?? 0) < 600)

        // The GPU that codes is preferred.
        var node = RenderNode(node: "/dev/a", state: .ready)
        node.pciAddress = "0000:03:00.0"
        _ = knowledge.add(.answer(ProbeAnswer(node: node)), to: ProbeRequest(.node("/dev/a")))
        #expect(knowledge.snapshot.vulkan?.devices[0].choice.contains("0000:03:00.0") == true)
        #expect(knowledge.vulkanHints == VulkanHints(preferred: "0000:03:00.0"))

        device.speed = ComputeDevice.Speed(picture: 2, cpuPicture: 1, cpuThreads: 4, opening: 100)
        _ = knowledge.add(
            .answer(ProbeAnswer(vulkan: VulkanReport(state: .ready, devices: [device]))), to: request)
        #expect(knowledge.vulkanHints.speeds == ["a": device.speed])
        #expect(knowledge.snapshot.vulkan?.devices[0].chosen == false)

        device.verified = false
        device.reason = "half floats came out wrong"
        _ = knowledge.add(
            .answer(ProbeAnswer(vulkan: VulkanReport(state: .ready, devices: [device]))), to: request)
        #expect(knowledge.vulkanHints.faults == ["a": "half floats came out wrong"])
        _ = knowledge.add(.failure(.crashed, "it crashed"), to: request)
        #expect(knowledge.vulkanHints.avoidReason?.hasSuffix(": it crashed") == true)
        _ = knowledge.add(.answer(ProbeAnswer()), to: request)
        #expect(knowledge.snapshot.vulkan?.state == .failed && knowledge.vulkanHints.avoidReason == nil)
    }
}

@Suite("Probe records")
struct ProbeRecordTests {
    @Test func omitsTemporaryFailuresFromLastingResults() {
        let key = ProbeRecord.Key(device: "d", driver: "v", kernel: "k", libraries: "l", catalogue: "c")
        let busy = ProbeRecord.Result(id: "a", verified: false, reason: "busy", passing: .busy)
        let good = ProbeRecord.Result(id: "b", verified: true, reason: nil)
        #expect(ProbeRecord(key: key, results: [busy, good]).lasting?.results == [good])
        #expect(ProbeRecord(key: key, results: [busy]).lasting == nil)
    }
}
