// SPDX-License-Identifier: MIT

/// A property's key: VideoToolbox's name without `kVT…PropertyKey_`, or one of ours where it has none.
public struct PropertyKey: RawRepresentable, Hashable, Sendable {
    /// The name, as it stands in messages and on command lines.
    public let rawValue: String

    /// Wraps a name, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    // Which encoder.
    /// Whether hardware may be used; boolean.
    public static let enableHardware = PropertyKey(rawValue: "EnableHardwareAcceleratedVideoEncoder")
    /// Whether nothing but hardware will do; boolean.
    public static let requireHardware = PropertyKey(rawValue: "RequireHardwareAcceleratedVideoEncoder")
    /// Whether hardware is used; boolean, read-only.
    public static let usingHardware = PropertyKey(rawValue: "UsingHardwareAcceleratedVideoEncoder")
    /// Why it is not hardware that encodes; string, read-only (our own key).
    public static let fallbackReason = PropertyKey(rawValue: "FallbackReason")
    /// The encoder that serves the session; string, read-only once created.
    public static let encoderID = PropertyKey(rawValue: "EncoderID")

    // Which decoder.
    /// Whether hardware may be used; boolean.
    public static let enableHardwareDecoder = PropertyKey(rawValue: "EnableHardwareAcceleratedVideoDecoder")
    /// Whether nothing but hardware will do; boolean.
    public static let requireHardwareDecoder = PropertyKey(rawValue: "RequireHardwareAcceleratedVideoDecoder")
    /// Whether hardware is used; boolean, read-only.
    public static let usingHardwareDecoder = PropertyKey(rawValue: "UsingHardwareAcceleratedVideoDecoder")
    /// The decoder that serves the session; string, read-only once created (our own key).
    public static let decoderID = PropertyKey(rawValue: "DecoderID")
    /// Whether pictures carry the stream's per-frame HDR metadata; boolean.
    public static let propagateHDRMetadata = PropertyKey(rawValue: "PropagatePerFrameHDRDisplayMetadata")
    /// The highest temporal level whose pictures are decoded; 0 to 6, which is all (our own key).
    public static let maxTemporalLevel = PropertyKey(rawValue: "MaxTemporalLevel")
    /// Threads that the decoder may use; 0 is one a processor.
    public static let threadCount = PropertyKey(rawValue: "ThreadCount")
    /// The DRM fourcc of the pictures; read-only (our own key).
    public static let pixelFormatOfFrames = PropertyKey(rawValue: "PixelFormat")

    /// The GPU to encode on if it can: its PCI address or node; string, in an encoder specification.
    public static let preferredGPU = PropertyKey(rawValue: "PreferredEncoderGPURegistryID")
    /// The GPU to encode on and no other; string, in an encoder specification.
    public static let requiredGPU = PropertyKey(rawValue: "RequiredEncoderGPURegistryID")
    /// The GPU that encodes, by PCI address; string, read-only, null in software.
    public static let usingGPURegistryID = PropertyKey(rawValue: "UsingGPURegistryID")

    // Rate.
    /// Long-term average, in bits a second.
    public static let averageBitRate = PropertyKey(rawValue: "AverageBitRate")
    /// Constant quality, 0…1.
    public static let quality = PropertyKey(rawValue: "Quality")
    /// One quantisation parameter for P pictures, 0…51; I and B follow it (our own key).
    public static let qp = PropertyKey(rawValue: "QP")

    /// At most so many bytes in so many seconds: `[bytes, seconds]`.
    public static let dataRateLimits = PropertyKey(rawValue: "DataRateLimits")
    /// Constant rate, in bits a second.
    public static let constantBitRate = PropertyKey(rawValue: "ConstantBitRate")
    /// Lowest quantisation parameter of a frame.
    public static let minAllowedFrameQP = PropertyKey(rawValue: "MinAllowedFrameQP")
    /// Highest quantisation parameter of a frame.
    public static let maxAllowedFrameQP = PropertyKey(rawValue: "MaxAllowedFrameQP")

    // Picture structure.
    /// Most frames from a key frame to the next.
    public static let maxKeyFrameInterval = PropertyKey(rawValue: "MaxKeyFrameInterval")
    /// Most seconds from a key frame to the next.
    public static let maxKeyFrameIntervalDuration = PropertyKey(rawValue: "MaxKeyFrameIntervalDuration")
    /// Whether frames may refer to others at all.
    public static let allowTemporalCompression = PropertyKey(rawValue: "AllowTemporalCompression")
    /// Whether frames may be coded in another order than shown (B pictures).
    public static let allowFrameReordering = PropertyKey(rawValue: "AllowFrameReordering")
    /// Whether a key frame may have leading pictures that refer across it.
    public static let allowOpenGOP = PropertyKey(rawValue: "AllowOpenGOP")
    /// Whether the session must keep up with a live source: no look-ahead, no reordering.
    public static let realTime = PropertyKey(rawValue: "RealTime")
    /// Frames a second, for rate control and the VUI.
    public static let expectedFrameRate = PropertyKey(rawValue: "ExpectedFrameRate")
    /// Frames a second of the lowest temporal level.
    public static let baseLayerFrameRate = PropertyKey(rawValue: "BaseLayerFrameRate")
    /// The part of the bits that the lowest temporal level gets, 0…1.
    public static let baseLayerBitRateFraction = PropertyKey(rawValue: "BaseLayerBitRateFraction")
    /// Temporal levels of the stream; read-only (our own key).
    public static let numberOfTemporalLevels = PropertyKey(rawValue: "NumberOfTemporalLevels")

    /// Most frames the encoder may hold before it gives one.
    public static let maxFrameDelayCount = PropertyKey(rawValue: "MaxFrameDelayCount")
    /// Frames the encoder may look ahead.
    public static let suggestedLookAheadFrameCount = PropertyKey(rawValue: "SuggestedLookAheadFrameCount")
    /// Whether speed counts more than compression.
    public static let prioritizeSpeed = PropertyKey(rawValue: "PrioritizeEncodingSpeedOverQuality")

    // Format.
    /// `HEVC_Main_AutoLevel`, `HEVC_Main10_AutoLevel`, or with a level, `HEVC_Main10_5_1`.
    public static let profileLevel = PropertyKey(rawValue: "ProfileLevel")
    /// Bits of a coded sample; read-only, from the profile.
    public static let outputBitDepth = PropertyKey(rawValue: "OutputBitDepth")
    /// `colour_primaries` by H.273 number or CoreVideo name.
    public static let colorPrimaries = PropertyKey(rawValue: "ColorPrimaries")
    /// `transfer_characteristics` by H.273 number or CoreVideo name.
    public static let transferFunction = PropertyKey(rawValue: "TransferFunction")
    /// `matrix_coefficients` by H.273 number or CoreVideo name.
    public static let yCbCrMatrix = PropertyKey(rawValue: "YCbCrMatrix")
    /// The `video_full_range_flag` (our own key: VideoToolbox hides it in the pixel format).
    public static let fullRangeVideo = PropertyKey(rawValue: "FullRangeVideo")
    /// The `chroma_sample_loc_type`, 0…5 (our own key: VideoToolbox takes it from the pixel buffer).
    public static let chromaLocation = PropertyKey(rawValue: "ChromaSampleLocType")

    /// Width over height of a sample, `h:v`.
    public static let pixelAspectRatio = PropertyKey(rawValue: "PixelAspectRatio")
    /// The part of the picture that is shown, `WxH+X+Y`; for the container.
    public static let cleanAperture = PropertyKey(rawValue: "CleanAperture")

    // Static HDR metadata.
    /// The payload of SEI 137 and of the `mdcv` box, 24 bytes in hexadecimal.
    public static let masteringDisplayColorVolume = PropertyKey(rawValue: "MasteringDisplayColorVolume")
    /// The payload of SEI 144 and of the `clli` box, 4 bytes in hexadecimal.
    public static let contentLightLevelInfo = PropertyKey(rawValue: "ContentLightLevelInfo")
    /// `Auto` or `None`.
    public static let hdrMetadataInsertionMode = PropertyKey(rawValue: "HDRMetadataInsertionMode")

    // Alpha, in sessions of hevc-with-alpha.

    /// Whether the stream's colours are multiplied by its alpha: `premultiplied` or `straight`.
    public static let alphaChannelMode = PropertyKey(rawValue: "AlphaChannelMode")
    /// The same of the frames that are handed over.
    public static let sourceAlphaMode = PropertyKey(rawValue: "SourceAlphaMode")
    /// Whether the stream tells of an alpha layer; boolean, read-only, of decompression sessions (our own key).
    public static let containsAlphaChannel = PropertyKey(rawValue: "ContainsAlphaChannel")
    /// Quality of the alpha layer, 0…1.
    public static let targetQualityForAlpha = PropertyKey(rawValue: "TargetQualityForAlpha")

    // x265.
    /// One of x265's presets (our own key).
    public static let x265Preset = PropertyKey(rawValue: "X265Preset")
    /// x265 options as `key=value:key=value`, passed through (our own key).
    public static let x265Params = PropertyKey(rawValue: "X265Params")

    // Pixel transfer.
    /// Primaries of decoded pictures in RGB, by H.273 number or CoreVideo name.
    public static let destinationColorPrimaries = PropertyKey(rawValue: "DestinationColorPrimaries")
    /// Transfer function of decoded pictures in bytes of RGB, by H.273 number or CoreVideo name.
    public static let destinationTransferFunction = PropertyKey(rawValue: "DestinationTransferFunction")
    /// Whether colours of decoded pictures in RGB are multiplied by alpha, `premultiplied` or `straight` (our own key).
    public static let destinationAlphaMode = PropertyKey(rawValue: "DestinationAlphaMode")
    /// Primaries of frames in RGB that are to be encoded, by H.273 number or CoreVideo name (our own key).
    public static let sourceColorPrimaries = PropertyKey(rawValue: "SourceColorPrimaries")
    /// Transfer function of frames in bytes of RGB that are to be encoded (our own key).
    public static let sourceTransferFunction = PropertyKey(rawValue: "SourceTransferFunction")
    /// cd/m² of linear 1.0 (our own key).
    public static let referenceWhite = PropertyKey(rawValue: "ReferenceWhite")
    /// cd/m² of the display that HLG is meant for (our own key).
    public static let hlgPeakLuminance = PropertyKey(rawValue: "HLGPeakLuminance")
    /// `auto`, `vulkan` or `cpu` (our own key).
    public static let pixelTransferDevicePreference = PropertyKey(rawValue: "PixelTransferDevicePreference")
    /// Why what converts is no GPU; read-only (our own key).
    public static let pixelTransferFallbackReason = PropertyKey(rawValue: "PixelTransferFallbackReason")
    /// What converts the pictures, in words; read-only (our own key).
    public static let pixelTransferDevice = PropertyKey(rawValue: "PixelTransferDevice")
    /// Why that device; read-only (our own key).
    public static let pixelTransferDeviceReason = PropertyKey(rawValue: "PixelTransferDeviceReason")

    // What happened.
    /// What is not exactly as the session asked, a sentence each; read-only (our own key).
    public static let notices = PropertyKey(rawValue: "Notices")
    /// Packets taken whose pictures were not given out yet; read-only.
    public static let numberOfFramesBeingDecoded = PropertyKey(rawValue: "NumberOfFramesBeingDecoded")
    /// Frames taken and not yet given back as packets; read-only.
    public static let numberOfPendingFrames = PropertyKey(rawValue: "NumberOfPendingFrames")
}

extension PropertyKey: CustomStringConvertible {
    /// The name.
    public var description: String { rawValue }
}
