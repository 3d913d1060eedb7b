// SPDX-License-Identifier: MIT
import Foundation
import HWDModel
import Testing

@Suite struct ValueTests {
    /// Numbers of VTErrors.h.
    @Test(arguments: [
        (Status.propertyNotSupported, Int32(-12900), "PropertyNotSupported"),
        (.couldNotFindVideoEncoder, -12908, "CouldNotFindVideoEncoder"),
        (.videoEncoderMalfunction, -12912, "VideoEncoderMalfunction"),
        (.videoEncoderNotAvailableNow, -12915, "VideoEncoderNotAvailableNow"),
    ])
    func statusesMatchVTErrors(status: Status, number: Int32, name: String) {
        #expect(status.rawValue == number)
        #expect(status.name == name)
        #expect(Status(name: name) == status)
    }

    /// Codes of sysexits.h.
    @Test(arguments: [
        (Status.ok, Int32(0)), (.parameter, 64), (.videoDecoderBadData, 65), (.couldNotFindVideoEncoder, 69),
        (.videoEncoderNotAvailableNow, 75), (.videoEncoderMalfunction, 70),
    ])
    func statusesMapToSysexits(status: Status, code: Int32) {
        #expect(ExitStatus(status).rawValue == code)
    }

    /// fourcc_code('N','V','1','2') of drm_fourcc.h is 0x3231564e.
    @Test func fourccsMatchDRM() {
        #expect(PixelFormat.nv12.fourcc == 0x3231_564E)
        #expect(PixelFormat.p010.fourcc == 0x3031_3050)
        #expect(PixelFormat.yu12.fourcc == 0x3231_5559)
        #expect(PixelFormat.bgra8.fourcc == 0x3432_5241)
        #expect(PixelFormat.rgba8.fourcc == 0x3432_4241)
        #expect(PixelFormat.rgba16f.fourcc == 0x4834_4241)
        #expect(PixelFormat.allCases.allSatisfy { PixelFormat(fourcc: $0.fourcc) == $0 })
        #expect(PixelFormat(fourcc: 0) == nil)
    }

    @Test(
        arguments: [
            ("25", 25, 1), ("30000/1001", 30000, 1001), ("29.97", 30000, 1001), ("23.976", 24000, 1001),
            ("59.94", 60000, 1001), ("12.5", 25, 2), ("240", 240, 1), ("50/2", 25, 1),
        ] as [(String, Int32, Int32)])
    func parsesFrameRates(text: String, numerator: Int32, denominator: Int32) {
        let rate = Rational(text: text)
        #expect(rate?.numerator == numerator)
        #expect(rate?.denominator == denominator)
    }

    @Test(arguments: ["", "0/0", "1/-5", "x", "1/2/3", "nan", "inf", "1e99", "99999999999/1"])
    func refusesMalformedRatios(text: String) {
        #expect(Rational(text: text) == nil)
    }

    @Test func parsesTypedCommandLineValues() {
        #expect(PropertyValue(commandLine: "true") == .bool(true))
        #expect(PropertyValue(commandLine: "30") == .int(30))
        #expect(PropertyValue(commandLine: "0.5") == .double(0.5))
        #expect(PropertyValue(commandLine: "30000/1001") == .string("30000/1001"))
        #expect(PropertyValue(commandLine: "crf=28:ref=2") == .string("crf=28:ref=2"))
    }

    @Test func valuesRoundTripThroughJSON() throws {
        let value = PropertyValue.object([
            "a": .array([.int(1), .double(1.5), .bool(false), .null]), "b": .string("x\"y"), "c": .int(.min),
        ])
        let text = try JSONEncoder().encode(value)
        #expect(try JSONDecoder().decode(PropertyValue.self, from: text) == value)
        // An independent parser reads the same text.
        let outside = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        #expect(outside["b"] as? String == "x\"y")
    }
}
