// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDPolicy

/// Sets properties of a 1920×1080 session and checks them.
private func check(_ values: [String: PropertyValue]) throws {
    let request = try CompressionRequest(
        codec: "hevc", width: 1920, height: 1080, pixelFormat: "NV12", timeBase: Rational(1))
    var store = PropertyStore(backend: .x265)
    try store.set(values, isOpen: false)
    try PropertyValidation.check(request: request, properties: store)
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
        let error = #expect(throws: SessionError.self) { try check(values) }
        #expect(error?.status == .parameter)
        #expect(values.keys.allSatisfy { error?.reason.contains($0) == true }, "\(error?.reason ?? "")")
    }

    @Test(arguments: [
        ("ExpectedFrameRate", PropertyValue.int(0)), ("ExpectedFrameRate", .double(-1)),
        ("ExpectedFrameRate", .string("1/0")), ("AverageBitRate", .int(0)), ("QP", .int(52)),
        ("Quality", .double(1.01)), ("MaxKeyFrameInterval", .int(-1)), ("ProfileLevel", .string("HEVC_Main12")),
        ("CleanAperture", .string("1920x1080+1+0")),
        ("CleanAperture", .string("0x10")), ("CleanAperture", .string("10x10+1")),
        ("PixelAspectRatio", .string("4:0")),
        ("PixelAspectRatio", .string("70000:1")), ("DataRateLimits", .array([.int(0), .int(1)])),
        ("DataRateLimits", .array([.int(1000)])), ("MasteringDisplayColorVolume", .string("00")),
        ("ContentLightLevelInfo", .string("0000000g")), ("ContentLightLevelInfo", .string("00000")),
        ("MaxKeyFrameIntervalDuration", .double(-1)), ("HDRMetadataInsertionMode", .string("auto")),
        ("ColorPrimaries", .int(256)), ("ColorPrimaries", .string("ITU_R_9999")), ("X265Preset", .string("warp")),
    ])
    func refusesValuesOutOfRange(name: String, value: PropertyValue) {
        let error = #expect(throws: SessionError.self) { try check([name: value]) }
        #expect(error?.status == .parameter)
        #expect(error?.reason.contains(name) == true)
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
