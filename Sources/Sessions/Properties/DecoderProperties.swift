// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

extension PropertyTable {
    /// Every row of decompression sessions.
    public static let decompression: [PropertySpec] = [
        PropertySpec(
            .realTime, .boolean, default: .bool(false),
            "Give each picture as soon as its packet is decoded and its turn has come: no pictures side by side."),
        PropertySpec(
            .threadCount, .integer(0...64), default: .int(0), by: [.libavcodec],
            "Threads of the software decoder; 0 is one a processor."),
        PropertySpec(
            .maxTemporalLevel, .integer(0...Int64(LevelGate.highest)), default: .int(Int64(LevelGate.highest)),
            access: .live,
            """
            The highest temporal level that is decoded; packets of higher ones are reported and left out. A higher limit \
            holds from where the stream allows it (a key frame, TSA or STSA picture).
            """),
        PropertySpec(
            .propagateHDRMetadata, .boolean, default: .bool(true), access: .live,
            "Whether pictures carry the stream's HDR metadata: mastering display, light levels, HDR10+, RPU."),
        PropertySpec(
            .cleanAperture, .aperture, access: .live,
            "The part of the picture that the container shows; each picture carries it, if it lies inside."),

        // Pictures in RGB.
        PropertySpec(
            .destinationColorPrimaries, .codePoint(ColorNames.primaries),
            "Primaries of pictures in RGB; P3_D65 of half floats when not set, else ITU_R_709_2."),
        PropertySpec(
            .destinationTransferFunction, .codePoint(ColorNames.transfer),
            "Transfer function of pictures in bytes of RGB, sRGB when not set; half floats are linear."),

        PropertySpec(
            .destinationAlphaMode, .choice(AlphaSettings.modeNames), access: .live,
            "Whether colours of pictures in RGB are multiplied by their alpha; as in the stream when not set."),

        // What is.
        PropertySpec(
            .containsAlphaChannel, .boolean, access: .readOnly,
            "Whether the stream has an alpha layer, as Create's format description says."),
        PropertySpec(
            .alphaChannelMode, .choice(AlphaSettings.modeNames), access: .readOnly,
            "Whether the stream's colours are multiplied by its alpha; premultiplied where it does not say, null without alpha."
        ),
        PropertySpec(.decoderID, .text, access: .readOnly, "The decoder that serves the session."),
        PropertySpec(
            .usingHardwareDecoder, .boolean, access: .readOnly, "Whether that is hardware, at this moment."),
        PropertySpec(
            .usingGPURegistryID, .text, access: .readOnly, "The GPU that decodes, by PCI address; null in software."
        ),
        PropertySpec(
            .fallbackReason, .text, access: .readOnly, "Why it is not hardware, when hardware was allowed."),
        PropertySpec(.pixelFormatOfFrames, .text, access: .readOnly, "The DRM fourcc of the pictures."),
        PropertySpec(
            .outputBitDepth, .integer(8...10), access: .readOnly, "Bits of a sample, as the stream codes them."),
        PropertySpec(
            .numberOfFramesBeingDecoded, .integer(0...Int64.max), access: .readOnly,
            "Packets taken whose pictures were not given out yet."),
    ]
}
