// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The properties of sessions, the source of validation, queries, help and conformance tests.
public enum PropertyTable {
    /// The default of `Quality` (CRF 24.8): transcodes of H.264 are then normally smaller than their sources
    /// (docs/performance.md).
    public static let defaultQuality = 0.4

    /// The properties of compression sessions.
    public static let compression: [PropertySpec] = [
        // Rate.
        PropertySpec(
            .averageBitRate, .integer(1000...800_000_000), access: .live,
            "Long-term average in bits per second. Excludes Quality, QP and ConstantBitRate."),
        PropertySpec(
            .quality, .number(0...1), default: .double(defaultQuality), access: .live,
            """
            Constant quality, the default when no rate is set. x265: CRF = 40 - 38 * Quality. Excludes AverageBitRate, QP and \
            ConstantBitRate.
            """),
        PropertySpec(
            .qp, .integer(0...51),
            "Constant quantization parameter of P pictures; I and B follow it. Excludes every other rate property."),
        PropertySpec(
            .constantBitRate, .integer(1000...800_000_000), access: .live,
            "Constant rate in bits per second over a buffer of one second. Excludes every other rate property."),
        PropertySpec(
            .dataRateLimits, .dataRateLimits, access: .live,
            "A hard limit in addition to AverageBitRate or Quality: the decoder's buffer (x265: VBV)."),
        PropertySpec(
            .minAllowedFrameQP, .integer(0...51), "The lowest quantization parameter of a frame. Excludes QP."),
        PropertySpec(
            .maxAllowedFrameQP, .integer(0...51), "The highest quantization parameter of a frame. Excludes QP."),
        PropertySpec(
            .multiPassStorage, .choice(CodingPass.names), access: .live, by: [.x265],
            """
            FirstPass: the session codes all frames to collect statistics about them. When it is then set to FinalPass, after \
            the first pass is complete, the same frames are sent again, with the same times, and get the bits that the \
            statistics suggest. Requires AverageBitRate; excludes RealTime, BaseLayerFrameRate and alpha. The session ends if \
            its process fails.
            """),

        // Picture structure.
        PropertySpec(
            .maxKeyFrameInterval, .integer(0...100_000), access: .live,
            "Maximum frames from a key frame to the next; 1 makes every frame a key frame, 0 is the encoder's default."
        ),
        PropertySpec(
            .maxKeyFrameIntervalDuration, .number(0...86_400),
            "Maximum seconds from a key frame to the next, by presentation time; 0 sets no limit."),
        PropertySpec(
            .allowTemporalCompression, .boolean, default: .bool(true),
            "Whether frames may refer to others; false makes every frame a key frame."),
        PropertySpec(
            .allowFrameReordering, .boolean, default: .bool(true),
            "Whether frames may be coded in an order different from presentation (B pictures)."),
        PropertySpec(
            .allowOpenGOP, .boolean, default: .bool(true),
            "Whether leading pictures of a key frame may refer across it (CRA instead of IDR)."),
        PropertySpec(
            .baseLayerFrameRate, .frameRate,
            """
            Frames per second of the lowest temporal level, which can be decoded alone; each level above it doubles the \
            rate, up to ExpectedFrameRate, which must be set. If no number of levels yields the rate, the next lower one \
            is used and reported in Notices. In software it excludes RealTime and requires AllowFrameReordering.
            """),
        PropertySpec(
            .baseLayerBitRateFraction, .number(0...1), by: [.x265],
            """
            The long-term share of AverageBitRate for the lowest temporal level of BaseLayerFrameRate; by default the \
            encoder's choice. The share is missed when it requires the levels' quantization parameters to differ by more \
            than 18.
            """),

        // Latency.
        PropertySpec(
            .realTime, .boolean, default: .bool(false), access: .live,
            """
            Keep up with a live source: no look-ahead, no reordering, one frame in the encoder at a time. A session that \
            begins with true does not reorder frames later either, and its threads run before those of other sessions.
            """),
        .priority(until: "the encoder opens"),
        PropertySpec(
            .expectedFrameRate, .frameRate, access: .live,
            """
            Frames per second, for rate control and the VUI; 30 by default. After a change in an open session the VUI keeps the \
            old value unless the stream needs a new format description.
            """),
        PropertySpec(
            .sourceFrameCount, .integer(1...2_147_483_647),
            """
            The number of frames that the session will get, where it is known; 1 is a still picture. Stills get no generated \
            HDR metadata.
            """),
        PropertySpec(
            .maxFrameDelayCount, .integer(0...250),
            "Maximum frames that the encoder holds before output; 0 outputs each at once. Excludes RealTime."),
        PropertySpec(
            .suggestedLookAheadFrameCount, .integer(0...250), by: [.x265],
            "Frames of look-ahead, limited by MaxFrameDelayCount."),
        PropertySpec(
            .prioritizeSpeed, .boolean,
            """
            Prefer speed to compression (true; x265: preset veryfast, excludes X265Preset) or compression to speed (false; \
            preset slow); by default neither.
            """),

        // Coding tools.
        PropertySpec(
            .referenceBufferCount, .integer(1...8),
            """
            Maximum reference pictures of a picture; by default the encoder's choice. More than 5 may need a higher level. \
            Encoders that use fewer report it in Notices. Excludes BaseLayerFrameRate.
            """),
        PropertySpec(
            .spatialAdaptiveQPLevel, .integer(-1...0), default: .int(-1),
            """
            Whether blocks of a picture may have different quantization parameters because of their content: -1 leaves it to \
            the encoder, 0 disables it (x265: aq-mode 0). Hardware that does it regardless reports it in Notices.
            """),
        PropertySpec(
            .calculateMeanSquaredError, .boolean, default: .bool(false),
            """
            Whether packets come with the mean squared error of each plane of their pictures. Hardware does not measure it \
            and reports that in Notices.
            """),

        // Format.
        PropertySpec(
            .profileLevel, .choice(ProfileLevel.names),
            "The profile, by default the lowest for the source's bit depth, and optionally a level."),
        PropertySpec(
            .outputBitDepth, .integer(8...10), access: .readOnly, "Bits of a coded sample, from the profile."),
        PropertySpec(
            .pixelAspectRatio, .aspectRatio, "Width over height of a sample, for the VUI and the container."),
        PropertySpec(
            .fieldCount, .integer(1...2), default: .int(1), by: [.x265],
            """
            Fields of a frame: 1 for progressive frames, 2 for frames that hold the alternating lines of two fields. Frames \
            are coded as frames in both cases; the parameter sets declare what they hold.
            """),
        PropertySpec(
            .fieldDetail, .choice(FieldDetail.interleavedNames), by: [.x265],
            """
            Which field is shown first: SpatialFirstLineEarly for the one with the first line, SpatialFirstLineLate for the \
            other. Written as pic_struct in each picture's pic_timing message (H.265 D.3.3). Implies FieldCount 2.
            """),
        PropertySpec(
            .cleanAperture, .aperture, "The part of the picture to show, for the container's clap box."),

        // Color.
        PropertySpec(
            .colorPrimaries, .codePoint(ColorNames.primaries), "colour_primaries of the VUI (H.273 table 2)."),
        PropertySpec(
            .transferFunction, .codePoint(ColorNames.transfer),
            "transfer_characteristics of the VUI (H.273 table 3)."),
        PropertySpec(
            .yCbCrMatrix, .codePoint(ColorNames.matrix), "matrix_coefficients of the VUI (H.273 table 4)."),
        PropertySpec(
            .fullRangeVideo, .boolean, default: .bool(false), "video_full_range_flag: samples use the full range."),
        PropertySpec(
            .chromaLocation, .integer(0...5), "chroma_sample_loc_type of the VUI (H.265 figure E.1)."),
        PropertySpec(
            .masteringDisplayColorVolume, .bytes(24),
            "Mastering display color volume: payload of SEI 137 and of the mdcv box."),
        PropertySpec(
            .contentLightLevelInfo, .bytes(4), "MaxCLL and MaxFALL: payload of SEI 144 and of the clli box."),
        PropertySpec(
            .ambientViewingEnvironment, .bytes(8),
            "Ambient viewing environment: payload of SEI 148 and of the amve box."),
        PropertySpec(
            .hdrMetadataInsertionMode, .choice(["Auto", "None"]), default: .string("Auto"),
            """
            Whether HDR metadata are written into the stream (Auto) or not (None): the static ones of the properties and \
            frames, and dynamic ones as PreserveDynamicHDRMetadata says.
            """),
        PropertySpec(
            .preserveDynamicHDRMetadata, .boolean, default: .bool(false),
            """
            Whether the dynamic HDR metadata of frames (HDR10+, Dolby Vision's RPU) are written as they are. With false \
            they are left out, and each frame of a 10-bit HLG stream that is sent by encodeFrameWithMetadata gets an RPU of \
            profile 8.4 made from its samples.
            """),

        // Alpha.
        PropertySpec(
            .alphaChannelMode, .choice(AlphaSettings.modeNames), default: .string("premultiplied"),
            isForAlpha: true,
            "Whether the stream's colors are multiplied by its alpha; written as alpha_channel_info (SEI 165)."),
        PropertySpec(
            .sourceAlphaMode, .choice(AlphaSettings.modeNames), isForAlpha: true,
            """
            Whether the source frames' colors are multiplied by their alpha; by default as AlphaChannelMode. Frames are \
            converted when the two differ.
            """),
        PropertySpec(
            .targetQualityForAlpha, .number(0...1), default: .double(AlphaSettings.defaultQuality),
            isForAlpha: true,
            """
            Constant quality of the alpha layer; the rate properties apply to the base layer only. x265: a constant QP, \
            which on masks with soft edges has about the PSNR of CRF = 40 - 38 * TargetQualityForAlpha.
            """),

        // RGB frames.
        PropertySpec(
            .sourceColorPrimaries, .codePoint(ColorNames.primaries),
            "Primaries of RGB frames; by default P3_D65 for half floats, otherwise ITU_R_709_2."),
        PropertySpec(
            .sourceTransferFunction, .codePoint(ColorNames.transfer),
            "Transfer function of 8-bit RGB frames, by default sRGB; half floats are linear."),

        // x265.
        PropertySpec(
            .x265Preset, .choice(x265Presets), default: .string("medium"), by: [.x265],
            "x265's preset, from fast to efficient."),
        PropertySpec(
            .x265Params, .text, by: [.x265],
            """
            x265 options as key=value:key=value, passed through; options that the session sets or that name files are \
            refused.
            """),

        // The session.
        PropertySpec(
            .replaysAfterFailure, .boolean, default: .bool(true),
            """
            Whether the client library keeps copies of frames until their packets came, so that the session continues in another \
            process where its own fails. Libraries that cannot do that ignore it.
            """),

        PropertySpec(
            .verifyOutput, .choice(["sampled", "all", "off"]), default: .string("sampled"),
            """
            Which pictures of a hardware encoder are decoded in software and compared with their frames before they are returned: \
            the first of a group about every 250 frames, or all. Where one is wrong, the encoder's process ends. With RealTime \
            or MaxFrameDelayCount pictures do not wait, and a wrong one is only reported. Streams with alpha are not checked.
            """),

        // Read-only.
        PropertySpec(.encoderID, .text, access: .readOnly, "The session's encoder."),
        PropertySpec(.usingHardware, .boolean, access: .readOnly, "Whether the encoder uses hardware."),
        PropertySpec(
            .usingGPURegistryID, .text, access: .readOnly, "The GPU that encodes, by PCI address; null in software."
        ),
        PropertySpec(
            .fallbackReason, .text, access: .readOnly, "Why hardware is not used, when it was allowed."),
        PropertySpec(
            .numberOfTemporalLevels, .integer(1...7), access: .readOnly,
            "Temporal levels of the stream; 1 without hierarchy."),
        PropertySpec(
            .notices, .text, access: .readOnly,
            "Differences between the settings and the stream, separated by semicolons; null when there are none."),
        PropertySpec(
            .numberOfPendingFrames, .integer(0...Int64.max), access: .readOnly,
            "Frames accepted whose packets were not output yet."),
    ]

    /// x265's presets, fastest first.
    public static let x265Presets = [
        "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow", "placebo",
    ]

    private static let byKey = Dictionary(uniqueKeysWithValues: (compression + pixelTransfer).map { ($0.key, $0) })

    private static let decoderByKey = Dictionary(
        uniqueKeysWithValues: (decompression + pixelTransfer).map { ($0.key, $0) })

    private static let transferByKey = Dictionary(uniqueKeysWithValues: transfer.map { ($0.key, $0) })

    /// The specification of a compression session's property; nil for an unknown key.
    public static func row(_ key: PropertyKey) -> PropertySpec? { byKey[key] }

    /// The specification of a property in sessions of a back end; nil for an unknown key.
    public static func row(_ key: PropertyKey, of backend: PropertySpec.Backend) -> PropertySpec? {
        backend == .transfer ? transferByKey[key] : backend.isDecoder ? decoderByKey[key] : byKey[key]
    }

    /// The properties that a back end supports.
    public static func rows(of backend: PropertySpec.Backend) -> [PropertySpec] {
        guard backend != .transfer else { return transfer }
        return ((backend.isDecoder ? decompression : compression) + pixelTransfer).filter {
            $0.supportedBy.contains(backend)
        }
    }
}

/// CoreVideo's names of H.273 code points, without `kCVImageBuffer…_`.
public enum ColorNames {
    public static let primaries: [String: UInt8] = [
        "ITU_R_709_2": 1, "EBU_3213": 5, "SMPTE_C": 6, "ITU_R_2020": 9, "DCI_P3": 11, "P3_D65": 12,
    ]
    public static let transfer: [String: UInt8] = [
        "ITU_R_709_2": 1, "SMPTE_240M_1995": 7, "Linear": 8, "sRGB": 13, "ITU_R_2020": 14, "SMPTE_ST_2084_PQ": 16,
        "SMPTE_ST_428_1": 17, "ITU_R_2100_HLG": 18,
    ]
    public static let matrix: [String: UInt8] = [
        "ITU_R_709_2": 1, "ITU_R_601_4": 6, "SMPTE_240M_1995": 7, "ITU_R_2020": 9,
    ]
}
