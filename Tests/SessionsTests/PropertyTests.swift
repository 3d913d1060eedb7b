// SPDX-License-Identifier: GPL-2.0-or-later
import Model
import Testing

@testable import Sessions

private let request = CompressionRequest.sample

extension CompressionRequest {
    static var sample: CompressionRequest {
        // 1920x1080 NV12 is always possible.
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
    func everyRowIsFoundAndRefusesAnArray(name: String) throws {
        let row = try #require(PropertyTable.row(PropertyKey(rawValue: name)))
        #expect(!row.summary.isEmpty && row.summary.hasSuffix("."))
        #expect(throws: SessionError.self) { try row.validate(.array([])) }
        if let value = row.defaultValue { try row.validate(value) }
    }

    @Test(arguments: PropertyTable.compression.filter { $0.access == .readOnly }.map(\.key.rawValue))
    func readOnlyRowsRefuseToBeSet(name: String) {
        var store = PropertyStore(backend: .x265)
        let error = #expect(throws: SessionError.self) { try store.set([name: .bool(true)], isOpen: false) }
        #expect(error?.status == .propertyReadOnly)
    }

    @Test func unknownKeysAndForeignKeysAreNotSupported() {
        var store = PropertyStore(backend: .vaapi)
        for name in ["H264EntropyMode", "X265Params"] {
            let error = #expect(throws: SessionError.self) { try store.set([name: .string("")], isOpen: false) }
            #expect(error?.status == .propertyNotSupported)
        }
        #expect(throws: SessionError.self) { try store.copy(["Nonsense"]) }
    }

    @Test func settingIsAllOrNothing() throws {
        var store = PropertyStore(backend: .x265)
        #expect(throws: SessionError.self) {
            try store.set(["AllowOpenGOP": .bool(false), "Quality": .double(7)], isOpen: false)
        }
        #expect(!store.isSet(.allowOpenGOP))
        try store.set(["Quality": .double(0.2)], isOpen: false)
        try store.set(["Quality": .null], isOpen: false)
        #expect(store.value(.quality) == .double(0.5))
    }

    @Test(arguments: [
        ["AverageBitRate": PropertyValue.int(1_000_000), "Quality": .double(0.5)],
        ["AverageBitRate": .int(1_000_000), "QP": .int(30)],
        ["QP": .int(30), "X265Params": .string("crf=20")],
        ["RealTime": .bool(true), "AllowFrameReordering": .bool(true)],
    ])
    func contradictionsAreRefusedByName(values: [String: PropertyValue]) {
        let error = #expect(throws: SessionError.self) { try configuration(values) }
        #expect(error?.status == .parameter)
        #expect(values.keys.allSatisfy { error?.reason.contains($0) == true }, "\(error?.reason ?? "")")
    }

    @Test(arguments: [
        ("ExpectedFrameRate", PropertyValue.int(0)), ("ExpectedFrameRate", .double(-1)),
        ("ExpectedFrameRate", .string("1/0")), ("AverageBitRate", .int(0)), ("QP", .int(52)),
        ("Quality", .double(1.01)), ("MaxKeyFrameInterval", .int(-1)), ("ProfileLevel", .string("HEVC_Main12")),
        ("ColorPrimaries", .int(256)), ("ColorPrimaries", .string("ITU_R_9999")), ("X265Preset", .string("warp")),
    ])
    func valuesOutOfRangeAreRefused(name: String, value: PropertyValue) {
        let error = #expect(throws: SessionError.self) { try configuration([name: value]) }
        #expect(error?.status == .parameter)
        #expect(error?.reason.contains(name) == true)
    }

    @Test func colourNamesAndNumbersMeanTheSame() throws {
        let named = try configuration([
            "ColorPrimaries": .string("ITU_R_2020"), "TransferFunction": .string("ITU_R_2100_HLG"),
            "YCbCrMatrix": .string("ITU_R_2020"),
        ])
        let numbered = try configuration([
            "ColorPrimaries": .int(9), "TransferFunction": .int(18), "YCbCrMatrix": .int(9),
        ])
        #expect(named.color == numbered.color && named.color.isHDR)
    }

    @Test func realTimeDoesNotReorder() throws {
        #expect(try !configuration(["RealTime": .bool(true)]).allowFrameReordering)
        #expect(try configuration([:]).allowFrameReordering)
    }

    @Test(arguments: [
        "csv=/tmp/x", "stats=x", "qpfile=x", "zonefile=x", "lambda-file=x", "scaling-list=/etc/passwd",
        "analysis-save=x", "dolby-vision-rpu=x", "nalu-file=x", "annexb=1", "no-annexb", "repeat-headers",
        "input-res=1x1", "level-idc=3", "nonsense=1", "=",
    ])
    func x265OptionsThatAreTheSessionsOrNameFilesAreRefused(text: String) {
        #expect(throws: SessionError.self) { try X265Options(parsing: text) }
    }

    @Test func x265OptionsKeepTheirOrder() throws {
        let options = try X265Options(parsing: "crf=28:no-sao:ref=2:aq_mode=3:scaling-list=default").options
        #expect(options.map(\.name) == ["crf", "no-sao", "ref", "aq-mode", "scaling-list"])
        #expect(options.map(\.value) == ["28", nil, "2", "3", "default"])
    }
}

@Suite struct DecodeTimesTests {
    /// Decoding order of a pyramid of 4: I0 P4 B2 b1 b3 …; D = 2 (sps_max_num_reorder_pics).
    @Test(arguments: [1, 1001, 40000] as [Int64], [0, -70000, 123_456_789] as [Int64])
    func timesRiseAndNeverPassThePresentation(tick: Int64, start: Int64) {
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

    @Test func aSinglePictureHasATime() {
        var times = DecodeTimes(reorderDepth: 2, nominalDuration: 0)
        times.frameIn(pts: 10)
        #expect(times.next() == 8)
        #expect(times.next() == nil)
    }

    @Test func withoutReorderingDecodingIsPresentation() {
        var times = DecodeTimes(reorderDepth: 0, nominalDuration: 1)
        for pts in [3, 9, 10] as [Int64] {
            times.frameIn(pts: pts)
            #expect(times.next() == pts)
        }
    }
}
