// SPDX-License-Identifier: GPL-2.0-or-later
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import Testing

/// NVENC through libavcodec: what it is opened with by the trace of NVIDIA's libraries in Tests/HWSim, and its faults.
@Suite(
    .enabled(
        if: SimulatedDriver.unavailableReason == nil, Comment(rawValue: SimulatedDriver.unavailableReason ?? "")))
struct NVENCTests {
    private let clip = Clip(format: .nv12, width: 320, height: 180, frames: 30)

    private func run(
        _ properties: [String: PropertyValue], _ change: (inout EncodeJob) -> Void = { _ in }
    ) throws -> (result: EncodeResult, sessions: [String], pictures: [String]) {
        var job = EncodeJob(clip, properties)
        change(&job)
        let outcome = try SimulatedDriver.runCard(job, "full")
        try #require(outcome.result.failure == nil, "\(outcome.result.failure ?? "")")
        #expect(outcome.result.pictures.count == job.clip.frames)
        return outcome
    }

    /// How many encoders were opened.
    private func opened(_ sessions: [String]) -> Int { sessions.count { $0.hasPrefix("session ") } }

    /// The words behind names in a line of the trace.
    private func values(_ line: String?) throws -> [String: String] {
        let words = try #require(line).split(separator: " ").map(String.init)
        return Dictionary(
            zip(words, words.dropFirst()).enumerated().filter { $0.offset % 2 == 0 }.map { $0.element }
        ) { first, _ in first }
    }

    /// Properties, and the words of the session's line in the trace.
    static let sessions: [(properties: [String: PropertyValue], words: [String: String])] = [
        (["QP": .int(30)], ["mode": "0", "constant": "27/30/31", "interval": "4", "gop": "250", "idr": "250"]),
        (
            ["AverageBitRate": .int(900_000)],
            ["mode": "1", "target": "900000", "peak": "1800000", "buffer": "900000", "min": "0", "max": "51"]
        ),
        (
            ["AverageBitRate": .int(900_000), "DataRateLimits": .array([.int(150_000), .int(1)])],
            ["mode": "1", "target": "900000", "peak": "1200000", "buffer": "1200000"]
        ),
        (
            ["ConstantBitRate": .int(500_000)],
            ["mode": "2", "target": "500000", "peak": "500000", "buffer": "500000"]
        ),
        // 40 - 38 * 0.5.
        (["Quality": .double(0.5)], ["mode": "1", "target": "0", "quality": "21.000"]),
        (
            ["AverageBitRate": .int(900_000), "MinAllowedFrameQP": .int(20), "MaxAllowedFrameQP": .int(40)],
            ["min": "20", "max": "40"]
        ),
        (["RealTime": .bool(true)], ["interval": "1", "tuning": "2", "zero-delay": "1"]),
        (["AllowFrameReordering": .bool(false)], ["interval": "1", "tuning": "1", "zero-delay": "0"]),
        (["MaxKeyFrameInterval": .int(1)], ["interval": "0", "gop": "1"]),
        (["MaxFrameDelayCount": .int(1)], ["interval": "2"]),
        (["ProfileLevel": .string("HEVC_Main10_AutoLevel")], ["depth": "10", "profile": "2"]),
    ]

    @Test("Properties become NVENC's parameters", arguments: sessions.indices)
    func opens(index: Int) throws {
        let (properties, words) = Self.sessions[index]
        let outcome = try run(properties)
        let session = try values(outcome.sessions.first)
        for (name, value) in words { #expect(session[name] == value, "\(properties): \(outcome.sessions)") }
        #expect(outcome.sessions.count == 1)
    }

    @Test("A constant QP is that of P pictures, and I and B pictures follow it")
    func quantisers() throws {
        let pictures = try run(["QP": .int(30)]).pictures.map(values)
        let found = Set(pictures.map { "\($0["type"] ?? "")\($0["qp"] ?? "")" })
        #expect(found == ["IDR27", "P30", "B31"], "\(found)")
    }

    @Test("Bounds hold for every picture, and with a constant rate the notices say that there are none")
    func bounds() throws {
        let bounds: [String: PropertyValue] = ["MinAllowedFrameQP": .int(30), "MaxAllowedFrameQP": .int(33)]
        let kept = try run(bounds.merging(["AverageBitRate": .int(600_000)]) { $1 })
        let quantisers = try kept.pictures.map { Int(try values($0)["qp"] ?? "") ?? 0 }
        #expect(quantisers.allSatisfy { (30...33).contains($0) }, "\(quantisers)")
        #expect(kept.result.notes.isEmpty)
        let without = try run(bounds.merging(["ConstantBitRate": .int(600_000)]) { $1 })
        #expect(without.result.notes.contains { $0.hasPrefix("MinAllowedFrameQP, MaxAllowedFrameQP") })
    }

    static let rates: [(name: String, bits: Int64)] = [
        ("AverageBitRate", 600_000), ("ConstantBitRate", 600_000), ("AverageBitRate", 1_500_000),
    ]

    @Test("Bit rates are kept", arguments: rates.indices)
    func keepsRate(index: Int) throws {
        let rate = Self.rates[index]
        let outcome = try run([rate.name: .int(rate.bits)]) {
            $0.clip = Clip(format: .nv12, width: 144, height: 128, frames: 75)
        }
        // Three seconds at 25 Hz, of which the first may deviate.
        let bits = outcome.result.pictures.dropFirst(25).reduce(0) { $0 + $1.data.count } * 8 / 2
        #expect(Double(bits) > 0.7 * Double(rate.bits) && Double(bits) < 1.3 * Double(rate.bits), "\(bits) bit/s")
    }

    @Test("A rate changes in the open encoder, with a key frame; another quality needs another encoder")
    func changes() throws {
        let rate = try run(["AverageBitRate": .int(900_000)]) {
            $0.changes = [10: ["AverageBitRate": .int(300_000)]]
        }
        #expect(try rate.sessions.map { try values($0)["target"] } == ["900000", "300000"])
        #expect(opened(rate.sessions) == 1)
        #expect(rate.result.pictures.filter(\.isSync).map(\.frameID) == [0, 10])
        #expect(rate.result.formatChanges.isEmpty)
        let quality = try run(["Quality": .double(0.9)]) { $0.changes = [10: ["Quality": .double(0.2)]] }
        #expect(try quality.sessions.map { try values($0)["quality"] } == ["6.000", "32.000"])
        #expect(opened(quality.sessions) == 2)
        #expect(quality.result.formatChanges.isEmpty)
    }

    @Test(
        "A raised rate that exceeds the stream's level needs another encoder, and a lower one does not",
        arguments: [(1_000_000, 1_400_000, 1), (1_000_000, 3_000_000, 2), (3_000_000, 2_000_000, 1)])
    func levels(first: Int64, second: Int64, encoders: Int) throws {
        // 320x180 at 25 Hz are of level 2, which has 1,500,000 bits a second.
        let outcome = try run(["ConstantBitRate": .int(first)]) {
            $0.changes = [10: ["ConstantBitRate": .int(second)]]
        }
        #expect(try outcome.sessions.map { try values($0)["target"] } == ["\(first)", "\(second)"])
        #expect(opened(outcome.sessions) == encoders)
    }

    @Test("After another mode of the rate its rates change in the open encoder")
    func changesAgain() throws {
        let outcome = try run(["Quality": .double(0.5)]) {
            $0.changes = [
                6: ["Quality": .null, "AverageBitRate": .int(800_000)], 12: ["AverageBitRate": .int(700_000)],
                18: ["AverageBitRate": .int(600_000)],
            ]
        }
        #expect(try outcome.sessions.map { try values($0)["target"] } == ["0", "800000", "700000", "600000"])
        #expect(opened(outcome.sessions) == 2, "\(outcome.sessions)")
    }

    @Test(
        "Of what a chip lacks, the notice says what, and no structure is opened that needs it",
        arguments: [
            ("no-b", "this GPU's encoder has no B pictures", "1"),
            ("no-b-references", "this GPU's encoder does not refer to B pictures", "4"),
        ])
    func structures(personality: String, words: String, interval: String) throws {
        var job = EncodeJob(clip, ["AverageBitRate": .int(900_000)])
        job.changes = [10: ["AverageBitRate": .int(300_000)]]
        job.frameQPs = [12: 20]
        let outcome = try SimulatedDriver.runCard(job, personality)
        #expect(outcome.result.failure == nil && outcome.result.pictures.count == 30)
        // The change of the rate takes none of them away.
        #expect(outcome.result.notes.contains("AllowFrameReordering: \(words)"), "\(outcome.result.notes)")
        #expect(outcome.result.notes.contains { $0.hasPrefix("BaseFrameQP") }, "\(outcome.result.notes)")
        let sessions = try outcome.sessions.map(values)
        #expect(sessions.allSatisfy { $0["interval"] == interval } && sessions.count == 2, "\(outcome.sessions)")
    }

    @Test("RealTime returns each picture with its frame")
    func realTime() throws {
        let result = try run(["RealTime": .bool(true)]) { $0.forced = [7] }.result
        #expect(result.maxHeld == 0)
        #expect(result.pictures.map(\.pts) == (0..<30).map(Int64.init))
        #expect(result.pictures.filter(\.isSync).map(\.frameID) == [0, 7])
    }

    @Test("Key frames on demand end their group of B pictures, and the interval counts from them")
    func keyFrames() throws {
        let result = try run(["MaxKeyFrameInterval": .int(12)]) { $0.forced = [5] }.result
        #expect(result.pictures.filter(\.isSync).map(\.frameID) == [0, 5, 17, 29])
        #expect(result.pictures.filter(\.isSync).allSatisfy { $0.nalUnitType == 19 || $0.nalUnitType == 20 })
    }

    @Test("Only slices are in samples: the session writes its own messages")
    func samples() throws {
        let result = try run(["ConstantBitRate": .int(600_000)]).result
        for picture in result.pictures {
            var units = try LengthPrefixedNALUnits([UInt8](picture.data)[...], lengthSize: 4)
            while let unit = try units.next() {
                #expect(try NALUnitHeader(nal: Array(unit.prefix(2))).nalUnitType.isSlice)
            }
        }
    }

    @Test("What the library cannot do is in the notices")
    func notices() throws {
        let result = try run(
            [
                "ReferenceBufferCount": .int(4), "CalculateMeanSquaredError": .bool(true), "Quality": .double(0.5),
                "DataRateLimits": .array([.int(200_000), .int(1)]),
            ]
        ) { $0.frameQPs = [3: 20] }.result
        for name in ["ReferenceBufferCount", "CalculateMeanSquaredError", "DataRateLimits", "BaseFrameQP"] {
            #expect(result.notes.contains { $0.hasPrefix(name) }, "\(name): \(result.notes)")
        }
    }

    /// Personalities with a fault.
    static let faults: [(personality: String, status: Status, words: String, isTransient: Bool)] = [
        ("no-nvenc", .couldNotFindVideoEncoder, "this GPU has no encoder", false),
        ("old-driver", .videoEncoderMalfunction, "too old for libavcodec", false),
        ("three-sessions,busy", .videoEncoderNotAvailableNow, "busy", true),
        ("no-device", .videoEncoderMalfunction, "CUDA finds no device", false),
        ("gpu-memory-1", .videoEncoderNotAvailableNow, "no memory left", true),
        ("fail-init", .videoEncoderMalfunction, "CUDA_ERROR_UNKNOWN", false),
        ("liar", .videoEncoderMalfunction, "0 bytes", false),
        ("fail-at-1", .videoEncoderMalfunction, "asked to fail", false),
        ("fail-at-4", .videoEncoderMalfunction, "asked to fail", false),
    ]

    @Test("Each fault has its reason", arguments: faults.indices)
    func reportsTheFault(index: Int) throws {
        let fault = Self.faults[index]
        let result = try SimulatedDriver.runCard(EncodeJob(clip), fault.personality).result
        let reason = try #require(result.failure)
        #expect(reason.contains(fault.words), "\(reason)")
        #expect(Status(rawValue: result.status) == fault.status, "\(reason)")
        #expect(result.isTransient == fault.isTransient)
    }

    @Test("An old driver is named with the one that is needed")
    func oldDriver() throws {
        let reason = try #require(SimulatedDriver.runCard(EncodeJob(clip), "old-driver").result.failure)
        #expect(["470.57", "520.56", "550.54"].contains { reason.contains("needs \($0) or later") }, "\(reason)")
    }

    @Test("A chip's limits are named")
    func limits() throws {
        let deep = EncodeJob(Clip(format: .p010, width: 144, height: 128, frames: 1))
        let refused = try SimulatedDriver.runCard(deep, "8-bit-only").result
        #expect(refused.failure?.contains("10 bit encode not supported") == true, "\(refused.failure ?? "")")
        let large = EncodeJob(Clip(format: .nv12, width: 1296, height: 64, frames: 1))
        let limited = try SimulatedDriver.runCard(large, "size-limited").result
        #expect(limited.failure?.contains("1296 exceeds 1280") == true, "\(limited.failure ?? "")")
        #expect(Status(rawValue: limited.status) == .couldNotFindVideoEncoder)
    }
}
