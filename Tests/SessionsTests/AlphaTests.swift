// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDSessions

/// Requests and properties of hevc-with-alpha sessions.
@Suite struct AlphaTests {
    private func request(_ format: String = "YUVA", codec: String = "hevc-with-alpha") throws -> CompressionRequest
    {
        try CompressionRequest(codec: codec, width: 640, height: 360, pixelFormat: format, timeBase: Rational(1))
    }

    private func configuration(_ values: [String: PropertyValue]) throws -> EncoderConfiguration {
        var store = PropertyStore(backend: .x265, hasAlpha: true)
        try store.set(values, isOpen: false)
        return try EncoderConfiguration(request: try request(), properties: store)
    }

    @Test func refusesPixelFormatsThatTheCodecExcludes() throws {
        #expect(try request().hasAlpha && request().bitDepth == 8)
        #expect(try !request("NV12", codec: "hevc").hasAlpha)
        for (format, codec, fragment) in [
            ("NV12", "hevc-with-alpha", "not one of YUVA"), ("YUVA", "hevc", "which hevc supports"),
            ("P010", "hevc-with-alpha", "YUVA, AB4H"),
        ] {
            let error = #expect(throws: SessionError.self) { try request(format, codec: codec) }
            #expect(
                error?.status == .parameter && error?.reason.contains(fragment) == true, "\(error?.reason ?? "")")
        }
        let error = #expect(throws: SessionError.self) { try request("YUVA", codec: "prores") }
        #expect(error?.status == .couldNotFindVideoEncoder)
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

    @Test func refusesAlphaPropertiesInSessionsWithoutAlpha() throws {
        var store = PropertyStore(backend: .x265)
        for row in PropertyTable.compression where row.isForAlpha {
            let error = #expect(throws: SessionError.self) {
                try store.set([row.key.rawValue: row.defaultValue ?? .string("straight")], isOpen: false)
            }
            #expect(error?.status == .propertyNotSupported && error?.reason.contains("hevc-with-alpha") == true)
        }
        #expect(try store.copy([])["AlphaChannelMode"] == nil)
        #expect(
            try PropertyStore(backend: .vaapi, hasAlpha: true).copy([])["AlphaChannelMode"]
                == .string("premultiplied"))
    }

    @Test func reportsBeforehandWhatCannotBeExported() {
        let good = AlphaExport.Source(hasAlpha: true, width: 1920, height: 1080)
        #expect(AlphaExport.check(good) == AlphaExport.Verdict())
        let main10 = AlphaExport.Settings(profileLevel: ProfileLevel(.main10), fileEnding: "webm")
        #expect(AlphaExport.check(good, main10).reasons.count == 2)
        let opaque = AlphaExport.Source(hasAlpha: false, width: 20000, height: 1080)
        #expect(AlphaExport.check(opaque).reasons.count == 2 && !AlphaExport.check(opaque).isPossible)
        let deep = AlphaExport.Source(
            hasAlpha: true, width: 64, height: 64, bitDepth: 12,
            color: ColorDescription(transfer: 16, isFullRange: true))
        let verdict = AlphaExport.check(deep, AlphaExport.Settings(fileEnding: "hevc"))
        #expect(verdict.isPossible && verdict.notes.count == 4)
    }
}
