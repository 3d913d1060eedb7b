// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDModel
import HWDPolicy
import Testing

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
    return try EncoderConfiguration(request: .sample, properties: store)
}

@Suite struct EncoderConfigurationTests {
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

    @Test func refusesALevelThatIsTooLow() {
        let error = #expect(throws: SessionError.self) {
            try configuration(["ProfileLevel": .string("HEVC_Main_3_1")])
        }
        #expect(error?.status == .parameter)
        #expect(error?.reason.contains("ProfileLevel") == true)
    }
}
