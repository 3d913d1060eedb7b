// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDVA
import Foundation
import HWDCoding
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

@testable import HWDVAAPI

/// Settings for the capabilities of real drivers, which their own tables report on simulated GPUs.
@Suite struct EncoderSettingsTests {
    private func configuration(
        _ properties: [String: PropertyValue] = [:], width: Int = 1920, height: Int = 1080, format: String = "NV12"
    ) throws -> EncoderConfiguration {
        let request = try CompressionRequest(
            codec: "hevc", width: width, height: height, pixelFormat: format,
            timeBase: try #require(Rational(1, 25)))
        var store = PropertyStore(backend: .vaapi)
        try store.set(properties, isOpen: false)
        return try EncoderConfiguration(request: request, properties: store)
    }

    private func path(
        _ driver: String, pciID: String? = nil, entrypoint: String = "VAEntrypointEncSlice", isDeep: Bool = false
    ) throws -> HardwarePath {
        let capabilities = try JSONDecoder().decode(
            Capabilities.self, from: Data(Capabilities.embeddedDocument.utf8))
        let id = isDeep ? "hevc-main10-encode" : "hevc-main-encode"
        return HardwarePath(
            try #require(capabilities.path(id)), entrypoint: entrypoint,
            quirks: capabilities.quirks(driver: driver, pciID: pciID, path: id))
    }

    private func attributes(
        _ values: [VAConfigAttribType: UInt32], headers: Int32 = 7, modes: [String] = ["CQP", "CBR", "VBR"],
        isDeep: Bool = false
    ) -> ConfigAttributes {
        ConfigAttributes(
            rtFormats: UInt32(isDeep ? VA_RT_FORMAT_YUV420_10 : VA_RT_FORMAT_YUV420),
            rateControl: ConfigAttributes.rateControls(modes), packedHeaders: UInt32(headers), maxWidth: 4096,
            maxHeight: 2304, encoding: EncodingAttributes(values))
    }

    private static let icl = "Intel iHD driver for Intel(R) Gen Graphics - 22.6.6 ()"
    private static let mesa22 = "Mesa Gallium driver 22.3.6 for AMD Radeon RX 6600 (navi23, LLVM 15.0.6, DRM 3.49)"
    private static let mesa25 = "Mesa Gallium driver 25.0.7 for AMD Radeon RX 6600 (navi23, LLVM 19.1.7, DRM 3.61)"

    @Test func mesa22WritesItsOwnHeaders() throws {
        let settings = try EncoderSettings(
            try configuration(),
            DriverLimits(
                path: try path(Self.mesa22),
                attributes: attributes([VAConfigAttribEncMaxRefFrames: 1], headers: VA_ENC_PACKED_HEADER_SEQUENCE),
                sizes: nil))
        #expect(settings.packedHeaders == UInt32(VA_ENC_PACKED_HEADER_SEQUENCE))
        #expect(settings.structure.anchorDistance == 1 && settings.structure.anchorReferences == 1)
        // 1080 rows become 1088; the conformance window crops them.
        #expect(settings.size.width == 1920 && settings.size.height == 1088)
        #expect(settings.syntax.sps.height == 1080 && settings.syntax.sps.ctbSizeY == 64)
        #expect(!settings.structure.isLowDelayB && settings.rate.mode == VA_RC_CQP)
    }

    @Test func mesa25HasNeitherBPicturesNorDerived10BitImages() throws {
        let settings = try EncoderSettings(
            try configuration(format: "P010"),
            DriverLimits(
                path: try path(Self.mesa25, isDeep: true),
                attributes: attributes([VAConfigAttribEncMaxRefFrames: 1], isDeep: true), sizes: nil))
        #expect(!settings.mayDeriveImages && settings.fourcc == PixelFormat.p010.fourcc)
        #expect(settings.structure.anchorDistance == 1)
        #expect(
            settings.syntax.sps.bitDepthLuma == 10 && settings.syntax.sps.profileTierLevel.general?.profileIdc == 2)
    }

    @Test func iceLakeRequiresLowDelayBAndLargeBlocks() throws {
        // Prediction direction 5, three references in each list; blocks and features are not reported.
        let settings = try EncoderSettings(
            try configuration(width: 100, height: 100),
            DriverLimits(
                path: try path(Self.icl, pciID: "8086:8a52", entrypoint: "VAEntrypointEncSliceLP"),
                attributes: attributes(
                    [VAConfigAttribEncMaxRefFrames: 3 << 16 | 3, VAConfigAttribPredictionDirection: 5],
                    modes: ["CQP", "CBR", "VBR", "ICQ", "QVBR"]), sizes: nil))
        #expect(settings.structure.isLowDelayB && settings.structure.anchorDistance == 1)
        #expect(settings.structure.anchorReferences == 3 && settings.structure.maxReferences == 3)
        #expect(settings.size.width == 128 && settings.size.height == 128)
        #expect(settings.syntax.sps.width == 100 && settings.syntax.sps.height == 100)
        #expect(settings.tools.log2CTBSize == 6 && settings.tools.usesAMP && settings.tools.usesCUQPDelta)
        // The driver reports ICQ but refuses it; the quirk excludes it.
        #expect(settings.rate.mode == VA_RC_CQP)
    }

    @Test func intelWithBPicturesKeepsThreeReferences() throws {
        let settings = try EncoderSettings(
            try configuration(),
            DriverLimits(
                path: try path(Self.icl),
                attributes: attributes([VAConfigAttribEncMaxRefFrames: 4 << 16 | 4]), sizes: nil))
        #expect(settings.structure.anchorDistance == 4 && settings.structure.maxReferences == 3)
    }

    @Test func usesRequiredToolsOnly() throws {
        var features = VAConfigAttribValEncHEVCFeatures()
        features.bits.amp = 2
        features.bits.cu_qp_delta = 2
        features.bits.transform_skip = 1
        features.bits.constrained_intra_pred = 2
        var blocks = VAConfigAttribValEncHEVCBlockSizes()
        blocks.bits.log2_max_coding_tree_block_size_minus3 = 2
        blocks.bits.log2_min_coding_tree_block_size_minus3 = 1
        blocks.bits.log2_min_luma_coding_block_size_minus3 = 1
        blocks.bits.log2_max_luma_transform_block_size_minus2 = 3
        blocks.bits.max_max_transform_hierarchy_depth_inter = 3
        let settings = try EncoderSettings(
            try configuration(["QP": .int(20)], width: 1912, height: 1000),
            DriverLimits(
                path: try path("a driver"),
                attributes: attributes([
                    VAConfigAttribEncHEVCFeatures: features.value, VAConfigAttribEncHEVCBlockSizes: blocks.value,
                ]), sizes: nil))
        let (sps, pps) = (settings.syntax.sps, settings.syntax.pps)
        #expect(sps.ampEnabledFlag && !sps.sampleAdaptiveOffsetEnabledFlag && !sps.spsTemporalMvpEnabledFlag)
        #expect(pps.diffCuQpDeltaDepth == 1 && pps.constrainedIntraPredFlag && !pps.transformSkipEnabledFlag)
        #expect(sps.ctbSizeY == 32 && sps.minCbLog2SizeY == 4 && sps.maxTransformHierarchyDepthInter == 3)
        // Whole coding blocks of 16.
        #expect(sps.picWidthInLumaSamples == 1920 && sps.width == 1912 && sps.picHeightInLumaSamples == 1008)
    }

    @Test func refusesUnsupportedSizesAndFormats() throws {
        let supported = attributes([:])
        for (configuration, sizes) in [
            (try configuration(width: 4098, height: 64), nil),
            (try configuration(), SurfaceSizes(minimum: (16, 16), maximum: (1280, 720))),
            (try configuration(format: "P010"), nil),
        ] as [(EncoderConfiguration, SurfaceSizes?)] {
            let isDeep = configuration.profile == .main10
            let path = try path("a driver", isDeep: isDeep)
            let error = #expect(throws: VAAPIFailure.self) {
                try EncoderSettings(configuration, DriverLimits(path: path, attributes: supported, sizes: sizes))
            }
            #expect(error?.error.status == .couldNotFindVideoEncoder && error?.isTransient == false)
        }
    }

    @Test func qualityLevelIsGStreamersUnlessSpeedOrCompressionIsPrioritized() throws {
        let levels: [VAConfigAttribType: UInt32] = [VAConfigAttribEncQualityRange: 7]
        var settings = try EncoderSettings(
            try configuration(), DriverLimits(path: try path(Self.icl), attributes: attributes(levels), sizes: nil))
        #expect(settings.qualityLevel == 4)
        for (prefersSpeed, level) in [(true, 7), (false, 1)] {
            settings = try EncoderSettings(
                try configuration(["PrioritizeEncodingSpeedOverQuality": .bool(prefersSpeed)]),
                DriverLimits(path: try path(Self.icl), attributes: attributes(levels), sizes: nil))
            #expect(settings.qualityLevel == level)
        }
        for (range, level) in [(32, 4), (3, 3), (1, nil)] as [(UInt32, Int?)] {
            settings = try EncoderSettings(
                try configuration(),
                DriverLimits(
                    path: try path(Self.mesa25), attributes: attributes([VAConfigAttribEncQualityRange: range]),
                    sizes: nil))
            #expect(settings.qualityLevel == level)
        }
    }

    /// Mesa before 24.1 codes all pictures with one QP; Intel's rate control reads QP bounds once.
    @Test(arguments: [
        (mesa22, ["QP": PropertyValue.int(30)], true), (mesa22, ["AverageBitRate": .int(1_000_000)], true),
        (mesa25, ["QP": .int(30)], false), (icl, ["QP": .int(30)], false),
        (icl, ["AverageBitRate": .int(1_000_000)], true), ("a driver", ["AverageBitRate": .int(1_000_000)], false),
    ])
    func knowsWhereBaseFrameQPHasNoEffect(
        driver: String, properties: [String: PropertyValue], isIgnored: Bool
    ) throws {
        let settings = try EncoderSettings(
            try configuration(properties),
            DriverLimits(path: try path(driver), attributes: attributes([:]), sizes: nil))
        #expect((settings.frameQPNotice?.hasPrefix("BaseFrameQP: ") ?? false) == isIgnored)
        // Sessions that set no BaseFrameQP have no notice of it; one QP for all pictures deviates from a session's QP.
        let isShared = driver == Self.mesa22 && properties["QP"] != nil
        #expect(settings.notes.map { $0.prefix(3) } == (isShared ? ["QP:"] : []))
    }

    @Test func notesToolsThatTheDriverDoesNotHave() throws {
        func notes(_ properties: [String: PropertyValue]) throws -> [String] {
            let settings = try EncoderSettings(
                try configuration(properties),
                DriverLimits(
                    path: try path("a driver"), attributes: attributes([VAConfigAttribEncMaxRefFrames: 2]),
                    sizes: nil))
            return settings.notes.map { String($0.prefix { $0 != ":" && $0 != " " }) }
        }
        #expect(try notes(["ReferenceBufferCount": .int(2)]) == [])
        #expect(try notes(["ReferenceBufferCount": .int(3)]) == ["ReferenceBufferCount"])
        #expect(try notes(["CalculateMeanSquaredError": .bool(true)]) == ["CalculateMeanSquaredError"])
        // A constant QP is that of every block.
        #expect(try notes(["SpatialAdaptiveQPLevel": .int(0), "QP": .int(20)]) == [])
        #expect(
            try notes(["SpatialAdaptiveQPLevel": .int(0), "AverageBitRate": .int(1_000_000)]) == [
                "SpatialAdaptiveQPLevel"
            ])
        #expect(try notes(["SpatialAdaptiveQPLevel": .int(-1), "AverageBitRate": .int(1_000_000)]) == [])
    }

    /// The level depends on size and rates; bit rates above Main tier's limit need High tier (H.265 table A.8).
    @Test func derivesLevelAndTier() throws {
        func level(_ properties: [String: PropertyValue]) throws -> (Int, Bool) {
            let settings = try EncoderSettings(
                try configuration(properties),
                DriverLimits(path: try path("a driver"), attributes: attributes([:]), sizes: nil))
            let tier = settings.syntax.sps.profileTierLevel
            return (tier.generalLevelIdc / 3, tier.general?.tierFlag ?? false)
        }
        #expect(try level(["ExpectedFrameRate": .int(25)]) == (40, false))
        #expect(try level(["ExpectedFrameRate": .int(60)]) == (41, false))
        #expect(try level(["ConstantBitRate": .int(30_000_000)]) == (51, false))
        #expect(
            try level(["ConstantBitRate": .int(30_000_000), "ProfileLevel": .string("HEVC_Main_4_1")]) == (41, true)
        )
    }
}
