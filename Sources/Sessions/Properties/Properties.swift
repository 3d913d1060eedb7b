// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The properties of sessions: validation, queries, help and conformance tests all come from here.
public enum PropertyTable {
    /// Every row of compression sessions.
    public static let compression: [PropertySpec] = [
        // Rate.
        PropertySpec(
            .averageBitRate, .integer(1000...800_000_000),
            "Long-term average in bits a second; excludes Quality, QP and ConstantBitRate."),
        PropertySpec(
            .quality, .number(0...1), default: .double(0.5),
            """
            Constant quality; 0.5 when no rate is set. x265: CRF = 40 - 38 * Quality. Excludes AverageBitRate, QP and \
            ConstantBitRate.
            """),
        PropertySpec(
            .qp, .integer(0...51),
            "Constant quantisation parameter of P pictures; I and B follow it. Excludes every other rate property."),
        PropertySpec(
            .constantBitRate, .integer(1000...800_000_000),
            "Constant rate in bits a second over a buffer of one second; excludes every other rate property."),
        PropertySpec(
            .dataRateLimits, .dataRateLimits,
            "A hard limit on top of AverageBitRate or Quality: the decoder's buffer (x265: VBV)."),
        PropertySpec(
            .minAllowedFrameQP, .integer(0...51), "No frame gets a lower quantisation parameter; not with QP."),
        PropertySpec(
            .maxAllowedFrameQP, .integer(0...51), "No frame gets a higher quantisation parameter; not with QP."),

        // Picture structure.
        PropertySpec(
            .maxKeyFrameInterval, .integer(0...100_000),
            "Most frames from a key frame to the next; 1 makes every frame a key frame, 0 leaves it to the encoder."
        ),
        PropertySpec(
            .maxKeyFrameIntervalDuration, .number(0...86_400),
            "Most seconds from a key frame to the next, by presentation time; 0 sets no limit."),
        PropertySpec(
            .allowTemporalCompression, .boolean, default: .bool(true),
            "Whether frames may refer to others; false makes every frame a key frame."),
        PropertySpec(
            .allowFrameReordering, .boolean, default: .bool(true),
            "Whether frames may be coded in another order than shown (B pictures)."),
        PropertySpec(
            .allowOpenGOP, .boolean, default: .bool(true),
            "Whether leading pictures of a key frame may refer across it (CRA instead of IDR)."),
        PropertySpec(
            .baseLayerFrameRate, .frameRate,
            """
            Frames a second of the lowest temporal level, which decodes alone; each level above it doubles the rate, up \
            to ExpectedFrameRate, which must be set. Where no number of levels fits, the next lower rate is taken and \
            Notices tells. In software not with RealTime, nor without reordering.
            """),
        PropertySpec(
            .baseLayerBitRateFraction, .number(0...1), by: [.x265],
            """
            The part of AverageBitRate that the lowest temporal level of BaseLayerFrameRate gets, in the long run; the \
            encoder's own choice when not set. Not kept where the levels' quantisation would have to differ by more than \
            18.
            """),

        // Latency.
        PropertySpec(
            .realTime, .boolean, default: .bool(false),
            "Keep up with a live source: no look-ahead, no reordering, one frame in the encoder at a time."),
        PropertySpec(
            .expectedFrameRate, .frameRate, "Frames a second, for rate control and the VUI; 30 when not set."),
        PropertySpec(
            .maxFrameDelayCount, .integer(0...250),
            "Most frames the encoder holds before it gives one; 0 gives each at once. Excludes RealTime."),
        PropertySpec(
            .suggestedLookAheadFrameCount, .integer(0...250), by: [.x265],
            "Frames the encoder looks ahead; MaxFrameDelayCount bounds it."),
        PropertySpec(
            .prioritizeSpeed, .boolean, default: .bool(false),
            "Speed counts more than compression (x265: preset veryfast). Excludes X265Preset."),

        // Format.
        PropertySpec(
            .profileLevel, .choice(ProfileLevel.names),
            "The profile, by default the one that holds the source's bit depth, and perhaps a level."),
        PropertySpec(
            .outputBitDepth, .integer(8...10), access: .readOnly, "Bits of a coded sample, from the profile."),
        PropertySpec(
            .pixelAspectRatio, .aspectRatio, "Width over height of a sample, in the VUI and for the container."),
        PropertySpec(
            .cleanAperture, .aperture, "The part of the picture that is shown; for the container's clap box."),

        // Colour.
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
            "Mastering display colour volume: payload of SEI 137 and of the mdcv box."),
        PropertySpec(
            .contentLightLevelInfo, .bytes(4), "MaxCLL and MaxFALL: payload of SEI 144 and of the clli box."),
        PropertySpec(
            .hdrMetadataInsertionMode, .choice(["Auto", "None"]), default: .string("Auto"),
            "Whether the static HDR metadata go into the stream (Auto) or not (None)."),

        // Alpha.
        PropertySpec(
            .alphaChannelMode, .choice(AlphaSettings.modeNames), default: .string("premultiplied"),
            isForAlpha: true,
            "Whether the stream's colours are multiplied by its alpha; written as alpha_channel_info (SEI 165)."),
        PropertySpec(
            .sourceAlphaMode, .choice(AlphaSettings.modeNames), isForAlpha: true,
            """
            Whether the colours of the frames handed over are multiplied by their alpha; as AlphaChannelMode when not \
            set. Where the two differ each frame is converted.
            """),
        PropertySpec(
            .targetQualityForAlpha, .number(0...1), default: .double(AlphaSettings.defaultQuality),
            isForAlpha: true,
            """
            Constant quality of the alpha layer; the rate properties govern the base layer alone. x265: CRF = 40 - 38 * \
            TargetQualityForAlpha.
            """),

        // Frames in RGB.
        PropertySpec(
            .sourceColorPrimaries, .codePoint(ColorNames.primaries),
            "Primaries of frames in RGB; P3_D65 of half floats when not set, else ITU_R_709_2."),
        PropertySpec(
            .sourceTransferFunction, .codePoint(ColorNames.transfer),
            "Transfer function of frames in bytes of RGB, sRGB when not set; half floats are linear."),

        // x265.
        PropertySpec(
            .x265Preset, .choice(x265Presets), default: .string("medium"), by: [.x265],
            "x265's trade of speed for compression."),
        PropertySpec(
            .x265Params, .text, by: [.x265],
            """
            x265 options as key=value:key=value, passed through; those the session owns or that name files are \
            refused.
            """),

        // What is.
        PropertySpec(.encoderID, .text, access: .readOnly, "The encoder that serves the session."),
        PropertySpec(.usingHardware, .boolean, access: .readOnly, "Whether that is hardware."),
        PropertySpec(
            .usingGPURegistryID, .text, access: .readOnly, "The GPU that encodes, by PCI address; null in software."
        ),
        PropertySpec(
            .fallbackReason, .text, access: .readOnly, "Why it is not hardware, when hardware was allowed."),
        PropertySpec(
            .numberOfTemporalLevels, .integer(1...7), access: .readOnly,
            "Temporal levels of the stream; 1 without hierarchy."),
        PropertySpec(
            .notices, .text, access: .readOnly,
            "What is not exactly as it was set, a sentence each; null when everything is."),
        PropertySpec(
            .numberOfPendingFrames, .integer(0...Int64.max), access: .readOnly,
            "Frames taken and not yet given back as packets."),
    ]

    /// x265's presets, fastest first.
    public static let x265Presets = [
        "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow", "placebo",
    ]

    private static let byKey = Dictionary(uniqueKeysWithValues: (compression + pixelTransfer).map { ($0.key, $0) })

    private static let decoderByKey = Dictionary(
        uniqueKeysWithValues: (decompression + pixelTransfer).map { ($0.key, $0) })

    /// The row of a key in compression sessions; nil for a key that does not exist.
    public static func row(_ key: PropertyKey) -> PropertySpec? { byKey[key] }

    /// The row of a key in sessions of a back end; nil for a key that does not exist.
    public static func row(_ key: PropertyKey, of backend: PropertySpec.Backend) -> PropertySpec? {
        backend.isDecoder ? decoderByKey[key] : byKey[key]
    }

    /// The rows a back end honours.
    public static func rows(of backend: PropertySpec.Backend) -> [PropertySpec] {
        ((backend.isDecoder ? decompression : compression) + pixelTransfer).filter {
            $0.honouredBy.contains(backend)
        }
    }
}

/// CoreVideo's names of H.273 code points, without `kCVImageBuffer…_`.
public enum ColorNames {
    /// Names of `colour_primaries`.
    public static let primaries: [String: UInt8] = [
        "ITU_R_709_2": 1, "EBU_3213": 5, "SMPTE_C": 6, "ITU_R_2020": 9, "DCI_P3": 11, "P3_D65": 12,
    ]
    /// Names of `transfer_characteristics`.
    public static let transfer: [String: UInt8] = [
        "ITU_R_709_2": 1, "SMPTE_240M_1995": 7, "Linear": 8, "sRGB": 13, "ITU_R_2020": 14, "SMPTE_ST_2084_PQ": 16,
        "SMPTE_ST_428_1": 17, "ITU_R_2100_HLG": 18,
    ]
    /// Names of `matrix_coefficients`.
    public static let matrix: [String: UInt8] = [
        "ITU_R_709_2": 1, "ITU_R_601_4": 6, "SMPTE_240M_1995": 7, "ITU_R_2020": 9,
    ]
}
