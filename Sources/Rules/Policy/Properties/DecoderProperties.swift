// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

extension PropertyTable {
    /// The most threads of a software decoder.
    ///
    /// libavcodec starts no more by itself and recommends no more (MAX_AUTO_THREADS in its pthread_internal.h). A session has
    /// slots for the pictures of as many, and memory for their stacks.
    public static let maxDecoderThreads = 16
    /// The highest TemporalId (H.265 7.4.2.2).
    public static let highestTemporalLevel = 6

    /// The properties of decompression sessions.
    public static let decompression: [PropertySpec] = [
        PropertySpec(
            .realTime, .boolean, default: .bool(false),
            """
            Output each picture as soon as its packet is decoded and its turn has come; no frame threading. The session's \
            threads run before those of other sessions.
            """),
        .priority(until: "the first packet"),
        PropertySpec(
            .threadCount, .integer(0...64), default: .int(0), by: [.libavcodec],
            "Threads of the software decoder, up to \(maxDecoderThreads); 0 is one per processor."),
        PropertySpec(
            .maxTemporalLevel, .integer(0...Int64(highestTemporalLevel)),
            default: .int(Int64(highestTemporalLevel)), access: .live,
            """
            The highest temporal level to decode; packets of higher levels are reported as dropped. A higher limit takes \
            effect where the stream allows it (at a key frame, TSA or STSA picture).
            """),
        PropertySpec(
            .propagateHDRMetadata, .boolean, default: .bool(true), access: .live,
            "Whether pictures carry the stream's HDR metadata: mastering display, light levels, HDR10+, RPU."),
        PropertySpec(
            .appliesHDRMetadata, .boolean, default: .bool(false), access: .live,
            """
            Whether conversions to RGB apply the mapping of each picture's Dolby Vision RPU (profiles 5 and 8). Pictures \
            without one, and those whose RPU cannot be applied, are converted as with false. Applies to the packets that \
            follow.
            """),
        PropertySpec(
            .cleanAperture, .aperture, access: .live,
            "The clean aperture of the container; attached to each picture that contains it."),

        PropertySpec(
            .replaysAfterFailure, .boolean, default: .bool(true),
            """
            Whether the client library keeps packets until their pictures came, so that the session continues in another process \
            where its own fails. Libraries that cannot do that ignore it.
            """),

        // RGB pictures.
        PropertySpec(
            .destinationColorPrimaries, .codePoint(ColorNames.primaries),
            "Primaries of RGB pictures; by default P3_D65 for half floats, otherwise ITU_R_709_2."),
        PropertySpec(
            .destinationTransferFunction, .codePoint(ColorNames.transfer),
            "Transfer function of 8-bit RGB pictures, by default sRGB; half floats are linear."),

        PropertySpec(
            .destinationAlphaMode, .choice(AlphaSettings.modeNames), access: .live,
            "Whether the colors of RGB pictures are multiplied by their alpha; by default as in the stream."),

        // Read-only.
        PropertySpec(
            .containsAlphaChannel, .boolean, access: .readOnly,
            "Whether the stream has an alpha layer, according to Create's format description."),
        PropertySpec(
            .alphaChannelMode, .choice(AlphaSettings.modeNames), access: .readOnly,
            "Whether the stream's colors are multiplied by its alpha; premultiplied if not signaled, null without alpha."
        ),
        PropertySpec(.decoderID, .text, access: .readOnly, "The session's decoder."),
        PropertySpec(
            .usingHardwareDecoder, .boolean, access: .readOnly, "Whether the decoder currently uses hardware."),
        PropertySpec(
            .usingGPURegistryID, .text, access: .readOnly, "The GPU that decodes, by PCI address; null in software."
        ),
        PropertySpec(
            .fallbackReason, .text, access: .readOnly, "Why hardware is not used, when it was allowed."),
        PropertySpec(
            .notices, .text, access: .readOnly,
            "What differs from the settings, such as a sandbox that is off; null when there is nothing."),
        PropertySpec(.pixelFormatOfFrames, .text, access: .readOnly, "DRM fourcc of the pictures."),
        PropertySpec(
            .outputBitDepth, .integer(8...10), access: .readOnly, "Bits of a sample in the stream."),
        PropertySpec(
            .numberOfFramesBeingDecoded, .integer(0...Int64.max), access: .readOnly,
            "Packets accepted whose pictures were not output yet."),
    ]
}
