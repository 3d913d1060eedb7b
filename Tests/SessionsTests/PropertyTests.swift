// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDSessions

private let request = CompressionRequest.sample

extension CompressionRequest {
    static var sample: CompressionRequest {
        // 1920x1080 NV12 is always valid.
        (try? CompressionRequest(
            codec: "hevc", width: 1920, height: 1080, pixelFormat: "NV12", timeBase: Rational(1)))
            ?? { preconditionFailure("the sample request is refused") }()
    }
}

private func configuration(_ values: [String: PropertyValue]) throws -> EncoderConfiguration {
    var store = PropertyStore(backend: .x265)
    try store.set(values, isOpen: false)
    return try EncoderConfiguration(request: request, properties: store)
}

@Suite struct PropertyTests {
    @Test(arguments: PropertyTable.compression.map(\.key.rawValue))
    func everyPropertyIsFoundAndRefusesAnArray(name: String) throws {
        let row = try #require(PropertyTable.row(PropertyKey(rawValue: name)))
        #expect(!row.summary.isEmpty && row.summary.hasSuffix("."))
        #expect(throws: SessionError.self) { try row.validate(.array([])) }
        if let value = row.defaultValue { try row.validate(value) }
    }

    @Test(arguments: PropertyTable.compression.filter { $0.access == .readOnly }.map(\.key.rawValue))
    func refusesToSetReadOnlyProperties(name: String) {
        var store = PropertyStore(backend: .x265)
        let error = #expect(throws: SessionError.self) { try store.set([name: .bool(true)], isOpen: false) }
        #expect(error?.status == .propertyReadOnly)
    }

    @Test func refusesUnknownKeysAndThoseOfOtherBackEnds() {
        var store = PropertyStore(backend: .vaapi)
        for name in ["H264EntropyMode", "X265Params"] {
            let error = #expect(throws: SessionError.self) { try store.set([name: .string("")], isOpen: false) }
            #expect(error?.status == .propertyNotSupported)
        }
        #expect(throws: SessionError.self) { try store.copy(["Nonsense"]) }
    }

    @Test func setsAllOrNone() throws {
        var store = PropertyStore(backend: .x265)
        #expect(throws: SessionError.self) {
            try store.set(["AllowOpenGOP": .bool(false), "Quality": .double(7)], isOpen: false)
        }
        #expect(!store.isSet(.allowOpenGOP))
        try store.set(["Quality": .double(0.2)], isOpen: false)
        try store.set(["Quality": .null], isOpen: false)
        #expect(store.value(.quality) == .double(0.4))
    }

    @Test(arguments: [
        ["AverageBitRate": PropertyValue.int(1_000_000), "Quality": .double(0.5)],
        ["AverageBitRate": .int(1_000_000), "QP": .int(30)],
        ["QP": .int(30), "X265Params": .string("crf=20")],
        ["RealTime": .bool(true), "AllowFrameReordering": .bool(true)],
        ["RealTime": .bool(true), "MaxFrameDelayCount": .int(3)],
        ["RealTime": .bool(true), "SuggestedLookAheadFrameCount": .int(3)],
        ["ConstantBitRate": .int(1_000_000), "Quality": .double(0.5)],
        ["ConstantBitRate": .int(1_000_000), "DataRateLimits": .array([.int(125_000), .int(1)])],
        ["QP": .int(30), "DataRateLimits": .array([.int(125_000), .int(1)])],
        ["QP": .int(30), "MinAllowedFrameQP": .int(20)], ["QP": .int(30), "MaxAllowedFrameQP": .int(40)],
        ["MinAllowedFrameQP": .int(40), "MaxAllowedFrameQP": .int(20)],
        ["AverageBitRate": .int(2_000_000), "DataRateLimits": .array([.int(125_000), .int(1)])],
        ["AllowTemporalCompression": .bool(false), "MaxKeyFrameInterval": .int(30)],
        ["PrioritizeEncodingSpeedOverQuality": .bool(true), "X265Preset": .string("slow")],
    ])
    func refusesContradictionsByName(values: [String: PropertyValue]) {
        let error = #expect(throws: SessionError.self) { try configuration(values) }
        #expect(error?.status == .parameter)
        #expect(values.keys.allSatisfy { error?.reason.contains($0) == true }, "\(error?.reason ?? "")")
    }

    @Test(arguments: [
        ("ExpectedFrameRate", PropertyValue.int(0)), ("ExpectedFrameRate", .double(-1)),
        ("ExpectedFrameRate", .string("1/0")), ("AverageBitRate", .int(0)), ("QP", .int(52)),
        ("Quality", .double(1.01)), ("MaxKeyFrameInterval", .int(-1)), ("ProfileLevel", .string("HEVC_Main12")),
        ("ProfileLevel", .string("HEVC_Main_3_1")), ("CleanAperture", .string("1920x1080+1+0")),
        ("CleanAperture", .string("0x10")), ("CleanAperture", .string("10x10+1")),
        ("PixelAspectRatio", .string("4:0")),
        ("PixelAspectRatio", .string("70000:1")), ("DataRateLimits", .array([.int(0), .int(1)])),
        ("DataRateLimits", .array([.int(1000)])), ("MasteringDisplayColorVolume", .string("00")),
        ("ContentLightLevelInfo", .string("0000000g")), ("ContentLightLevelInfo", .string("00000")),
        ("MaxKeyFrameIntervalDuration", .double(-1)), ("HDRMetadataInsertionMode", .string("auto")),
        ("ColorPrimaries", .int(256)), ("ColorPrimaries", .string("ITU_R_9999")), ("X265Preset", .string("warp")),
    ])
    func refusesValuesOutOfRange(name: String, value: PropertyValue) {
        let error = #expect(throws: SessionError.self) { try configuration([name: value]) }
        #expect(error?.status == .parameter)
        #expect(error?.reason.contains(name) == true)
    }

    @Test func acceptsColorsByNameAndNumber() throws {
        let named = try configuration([
            "ColorPrimaries": .string("ITU_R_2020"), "TransferFunction": .string("ITU_R_2100_HLG"),
            "YCbCrMatrix": .string("ITU_R_2020"),
        ])
        let numbered = try configuration([
            "ColorPrimaries": .int(9), "TransferFunction": .int(18), "YCbCrMatrix": .int(9),
        ])
        #expect(named.color == numbered.color && named.color.isHDR)
    }

    @Test func realTimeDisablesReordering() throws {
        #expect(try !configuration(["RealTime": .bool(true)]).allowFrameReordering)
        #expect(try configuration([:]).allowFrameReordering)
    }

    @Test(arguments: [
        "csv=/tmp/x", "stats=x", "qpfile=x", "zonefile=x", "lambda-file=x", "scaling-list=/etc/passwd",
        "analysis-save=x", "dolby-vision-rpu=x", "nalu-file=x", "annexb=1", "no-annexb", "repeat-headers",
        "input-res=1x1", "level-idc=3", "nonsense=1", "=",
    ])
    func refusesX265OptionsThatTheSessionSetsOrThatNameFiles(text: String) {
        #expect(throws: SessionError.self) { try X265Options(parsing: text) }
    }

    @Test func keepsTheOrderOfX265Options() throws {
        let options = try X265Options(parsing: "crf=28:no-sao:ref=2:aq_mode=3:scaling-list=default").options
        #expect(options.map(\.name) == ["crf", "no-sao", "ref", "aq-mode", "scaling-list"])
        #expect(options.map(\.value) == ["28", nil, "2", "3", "default"])
    }
}

@Suite struct KeyFrameClockTests {
    /// Key frames every 2 s by presentation time, with a gap and a forced one in between (time base 1/10 s).
    @Test func requestsKeyFramesByPresentationTime() {
        var clock = KeyFrameClock(seconds: 2, timeBase: Rational(1, 10) ?? Rational(1))
        let frames: [(pts: Int64, forced: Bool, due: Bool)] = [
            (5, false, true), (15, false, false), (24, false, false), (25, false, true), (30, true, true),
            (45, false, false), (49, false, false), (90, false, true), (91, false, false),
        ]
        for frame in frames {
            let isDue = clock.isDue(pts: frame.pts, isForced: frame.forced)
            #expect(isDue == frame.due, "pts \(frame.pts)")
        }
    }

    @Test func requestsOnlyForcedKeyFramesWithoutADuration() {
        var clock = KeyFrameClock(seconds: 0, timeBase: Rational(1))
        let due = [(0, false), (1_000_000, true), (Int64.max / 4, false)].map {
            clock.isDue(pts: $0.0, isForced: $0.1)
        }
        #expect(due == [false, true, false])
    }
}

@Suite struct LevelTests {
    /// H.265 table A.8 and A.9, and the sizes and rates that table A.10 lists as just fitting.
    @Test(arguments: [
        ("HEVC_Main_4_1", 1920, 1080, 60), ("HEVC_Main_4", 1920, 1080, 30), ("HEVC_Main10_5_1", 3840, 2160, 60),
        ("HEVC_Main_6_2", 8192, 4320, 120), ("HEVC_Main_2", 352, 288, 30),
    ])
    func acceptsTheSizesThatTheStandardListsPerLevel(name: String, width: Int, height: Int, rate: Int32) throws {
        let level = try #require(ProfileLevel(name: name)?.level)
        try level.validate(width: width, height: height, frameRate: Rational(rate))
        #expect(throws: SessionError.self, "rate") {
            try level.validate(width: width, height: height, frameRate: Rational(rate * 2))
        }
        #expect(throws: SessionError.self, "size") {
            try level.validate(width: width * 2, height: height * 2, frameRate: Rational(1))
        }
    }

    @Test func parsesEveryName() {
        for name in ProfileLevel.names { #expect(ProfileLevel(name: name)?.name == name) }
        #expect(ProfileLevel(name: "HEVC_Main_7") == nil)
        #expect(ProfileLevel(name: "") == nil)
    }
}

@Suite struct DecodeTimesTests {
    /// Decoding order of a pyramid of 4: I0 P4 B2 b1 b3 …; D = 2 (sps_max_num_reorder_pics).
    @Test(arguments: [1, 1001, 40000] as [Int64], [0, -70000, 123_456_789] as [Int64])
    func timesIncreaseAndNeverExceedPresentation(tick: Int64, start: Int64) {
        var times = DecodeTimes(reorderDepth: 2, nominalDuration: tick)
        var order = [0]
        for base in stride(from: 0, to: 400, by: 4) { order += [base + 4, base + 2, base + 1, base + 3] }
        // A variable rate: every seventh frame is late.
        let pts = (0...400).map { (index: Int) -> Int64 in
            start + Int64(index) * tick + Int64(index / 7) * tick / 2
        }
        for time in pts { times.frameIn(pts: time) }
        var last = Int64.min
        for index in order {
            guard let dts = times.next() else {
                Issue.record("no time for picture \(index)")
                return
            }
            #expect(dts > last && dts <= pts[index])
            last = dts
        }
        #expect(times.next() == nil)
    }

    /// The largest times that a session accepts, with the deepest reordering of the standard.
    @Test func doesNotOverflowWithLargeTimes() {
        let far: Int64 = (1 << 56) - 1
        var times = DecodeTimes(reorderDepth: 16, nominalDuration: .max / 64)
        for pts in [-far, far - 1, far] { times.frameIn(pts: pts) }
        let given = [times.next(), times.next(), times.next()].compactMap { $0 }
        #expect(given.count == 3 && given == given.sorted() && given.allSatisfy { $0 <= -far })
    }

    @Test func handlesASinglePicture() {
        var times = DecodeTimes(reorderDepth: 2, nominalDuration: 0)
        times.frameIn(pts: 10)
        #expect(times.next() == 8)
        #expect(times.next() == nil)
    }

    @Test func equalsPresentationWithoutReordering() {
        var times = DecodeTimes(reorderDepth: 0, nominalDuration: 1)
        for pts in [3, 9, 10] as [Int64] {
            times.frameIn(pts: pts)
            #expect(times.next() == pts)
        }
    }
}
