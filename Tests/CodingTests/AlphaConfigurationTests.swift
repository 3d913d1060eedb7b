// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDModel
import HWDPolicy
import Testing

/// What the properties of hevc-with-alpha sessions configure.
@Suite struct AlphaConfigurationTests {
    private func configuration(_ values: [String: PropertyValue]) throws -> EncoderConfiguration {
        var store = PropertyStore(backend: .x265, hasAlpha: true)
        try store.set(values, isOpen: false)
        let request = try CompressionRequest(
            codec: "hevc-with-alpha", width: 640, height: 360, pixelFormat: "YUVA", timeBase: Rational(1))
        return try EncoderConfiguration(request: request, properties: store)
    }

    @Test func resolvesDefaultModesAndQuality() throws {
        let plain = try #require(try configuration([:]).alpha)
        #expect(plain == AlphaSettings(mode: .premultiplied, sourceMode: .premultiplied, quality: 0.625))
        let straight = try #require(try configuration(["AlphaChannelMode": .string("straight")]).alpha)
        #expect(straight.sourceMode == .straight && straight.mode.useIdc == 0 && plain.mode.useIdc == 1)
        let other = try configuration(["SourceAlphaMode": .string("straight"), "TargetQualityForAlpha": .int(1)])
        #expect(other.alpha == AlphaSettings(mode: .premultiplied, sourceMode: .straight, quality: 1))
        for (name, value) in [
            ("AlphaChannelMode", PropertyValue.string("none")), ("TargetQualityForAlpha", .double(1.1)),
            ("SourceAlphaMode", .bool(true)),
        ] {
            let error = #expect(throws: SessionError.self) { try configuration([name: value]) }
            #expect(error?.status == .parameter && error?.reason.contains(name) == true)
        }
    }

    @Test func appliesTheRateToTheBaseLayerOnly() throws {
        let whole = try configuration([
            "AverageBitRate": .int(1_000_000), "DataRateLimits": .array([.int(500_000), .int(1)]),
            "MaxAllowedFrameQP": .int(40), "PixelAspectRatio": .string("4:3"), "ColorPrimaries": .int(9),
            "TargetQualityForAlpha": .double(0.25), "MaxFrameDelayCount": .int(9), "MaxKeyFrameInterval": .int(12),
        ])
        let (base, alpha) = (whole.baseLayer(.yu12), whole.alphaLayer(.yu12))
        #expect(base.rateControl == .averageBitRate(1_000_000) && alpha.rateControl == .quality(0.25))
        #expect(base.dataRateLimit != nil && alpha.dataRateLimit == nil && alpha.maxQP == nil)
        #expect(alpha.color == ColorDescription(isFullRange: true) && base.color.primaries == 9)
        #expect(alpha.pixelAspectRatio == nil && base.maxFrameDelay == 4 && alpha.maxFrameDelay == 4)
        #expect(alpha.maxKeyFrameInterval == 12 && base.alpha == nil && !base.request.hasAlpha)
    }
}
