// SPDX-License-Identifier: MIT

/// A property's key: VideoToolbox's name without `kVT…PropertyKey_`, or the project's own where there is none.
public struct PropertyKey: RawRepresentable, Hashable, Sendable {
    /// The name in messages and on command lines.
    public let rawValue: String

    /// Makes a key, which need not be known.
    public init(rawValue: String) { self.rawValue = rawValue }

    // MARK: Encoder specification
    /// Whether hardware may be used; boolean.
    public static let enableHardware = PropertyKey(rawValue: "EnableHardwareAcceleratedVideoEncoder")
    /// Whether hardware must be used; boolean.
    public static let requireHardware = PropertyKey(rawValue: "RequireHardwareAcceleratedVideoEncoder")
    /// Whether hardware is used; boolean, read-only.
    public static let usingHardware = PropertyKey(rawValue: "UsingHardwareAcceleratedVideoEncoder")
    /// Why no hardware is used; string, read-only (own key).
    public static let fallbackReason = PropertyKey(rawValue: "FallbackReason")
    /// The encoder of the session; string, read-only after Create.
    public static let encoderID = PropertyKey(rawValue: "EncoderID")

    // MARK: Decoder specification
    /// Whether hardware may be used; boolean.
    public static let enableHardwareDecoder = PropertyKey(rawValue: "EnableHardwareAcceleratedVideoDecoder")
    /// Whether hardware must be used; boolean.
    public static let requireHardwareDecoder = PropertyKey(rawValue: "RequireHardwareAcceleratedVideoDecoder")
    /// Whether hardware is used; boolean, read-only.
    public static let usingHardwareDecoder = PropertyKey(rawValue: "UsingHardwareAcceleratedVideoDecoder")
    /// The decoder of the session; string, read-only after Create (own key).
    public static let decoderID = PropertyKey(rawValue: "DecoderID")
    /// Whether pictures carry the stream's per-frame HDR metadata; boolean.
    public static let propagateHDRMetadata = PropertyKey(rawValue: "PropagatePerFrameHDRDisplayMetadata")
    /// Whether conversions to RGB apply the mapping of a picture's RPU; boolean (own key, as AVPlayerItem names it).
    public static let appliesHDRMetadata = PropertyKey(rawValue: "AppliesPerFrameHDRDisplayMetadata")
    /// The highest temporal level whose pictures are decoded, 0…6; 6 is all of them (own key).
    public static let maxTemporalLevel = PropertyKey(rawValue: "MaxTemporalLevel")
    /// Threads that the decoder may use; 0 is one per processor, up to 16.
    public static let threadCount = PropertyKey(rawValue: "ThreadCount")
    /// The DRM fourcc of the pictures; read-only (own key).
    public static let pixelFormatOfFrames = PropertyKey(rawValue: "PixelFormat")

    /// The GPU to prefer: its PCI address or node; string.
    public static let preferredGPU = PropertyKey(rawValue: "PreferredEncoderGPURegistryID")
    /// The only GPU to encode on: its PCI address or node; string.
    public static let requiredGPU = PropertyKey(rawValue: "RequiredEncoderGPURegistryID")
    /// The PCI address of the GPU that encodes or decodes; string, read-only, null in software.
    public static let usingGPURegistryID = PropertyKey(rawValue: "UsingGPURegistryID")

    // MARK: Rate control
    /// Long-term average, in bits a second.
    public static let averageBitRate = PropertyKey(rawValue: "AverageBitRate")
    /// Constant quality, 0…1.
    public static let quality = PropertyKey(rawValue: "Quality")
    /// A constant quantization parameter of P pictures, 0…51, from which those of I and B pictures follow (own key).
    public static let qp = PropertyKey(rawValue: "QP")

    /// The pass over the frames: `FirstPass` collects statistics, `FinalPass` uses them.
    public static let multiPassStorage = PropertyKey(rawValue: "MultiPassStorage")

    /// The limit of bytes in a period: `[bytes, seconds]`.
    public static let dataRateLimits = PropertyKey(rawValue: "DataRateLimits")
    /// Constant rate, in bits a second.
    public static let constantBitRate = PropertyKey(rawValue: "ConstantBitRate")
    /// Lowest quantization parameter of a frame.
    public static let minAllowedFrameQP = PropertyKey(rawValue: "MinAllowedFrameQP")
    /// Highest quantization parameter of a frame.
    public static let maxAllowedFrameQP = PropertyKey(rawValue: "MaxAllowedFrameQP")

    // MARK: Picture structure
    /// The limit of frames from one key frame to the next.
    public static let maxKeyFrameInterval = PropertyKey(rawValue: "MaxKeyFrameInterval")
    /// The limit of seconds from one key frame to the next.
    public static let maxKeyFrameIntervalDuration = PropertyKey(rawValue: "MaxKeyFrameIntervalDuration")
    /// Whether frames may refer to others.
    public static let allowTemporalCompression = PropertyKey(rawValue: "AllowTemporalCompression")
    /// Whether coding order may differ from display order (B pictures).
    public static let allowFrameReordering = PropertyKey(rawValue: "AllowFrameReordering")
    /// Whether a key frame may have leading pictures that refer across it.
    public static let allowOpenGOP = PropertyKey(rawValue: "AllowOpenGOP")
    /// Whether the session serves a live source: no look-ahead, no reordering.
    public static let realTime = PropertyKey(rawValue: "RealTime")
    /// Whether a session that is not RealTime gives way to others; `normal`, `background` (own key).
    public static let priority = PropertyKey(rawValue: "Priority")
    /// Frames per second, for rate control and the VUI.
    public static let expectedFrameRate = PropertyKey(rawValue: "ExpectedFrameRate")
    /// Frames per second of the lowest temporal level.
    public static let baseLayerFrameRate = PropertyKey(rawValue: "BaseLayerFrameRate")
    /// The lowest temporal level's share of the bit rate, 0…1.
    public static let baseLayerBitRateFraction = PropertyKey(rawValue: "BaseLayerBitRateFraction")
    /// The number of temporal levels of the stream; read-only (own key).
    public static let numberOfTemporalLevels = PropertyKey(rawValue: "NumberOfTemporalLevels")

    /// The limit of frames that the encoder holds before it outputs one.
    public static let maxFrameDelayCount = PropertyKey(rawValue: "MaxFrameDelayCount")
    /// Frames the encoder may look ahead.
    public static let suggestedLookAheadFrameCount = PropertyKey(rawValue: "SuggestedLookAheadFrameCount")
    /// Whether speed matters more than compression.
    public static let prioritizeSpeed = PropertyKey(rawValue: "PrioritizeEncodingSpeedOverQuality")

    // MARK: Format
    /// `HEVC_Main_AutoLevel`, `HEVC_Main10_AutoLevel`, or with a level, `HEVC_Main10_5_1`.
    public static let profileLevel = PropertyKey(rawValue: "ProfileLevel")
    /// Bits of a coded sample, from the profile; read-only.
    public static let outputBitDepth = PropertyKey(rawValue: "OutputBitDepth")
    /// `colour_primaries` by H.273 number or CoreVideo name.
    public static let colorPrimaries = PropertyKey(rawValue: "ColorPrimaries")
    /// `transfer_characteristics` by H.273 number or CoreVideo name.
    public static let transferFunction = PropertyKey(rawValue: "TransferFunction")
    /// `matrix_coefficients` by H.273 number or CoreVideo name.
    public static let yCbCrMatrix = PropertyKey(rawValue: "YCbCrMatrix")
    /// The `video_full_range_flag` (own key: VideoToolbox derives it from the pixel format).
    public static let fullRangeVideo = PropertyKey(rawValue: "FullRangeVideo")
    /// The `chroma_sample_loc_type`, 0…5 (own key: VideoToolbox reads it from the pixel buffer).
    public static let chromaLocation = PropertyKey(rawValue: "ChromaSampleLocType")

    /// Fields of a frame: 1 or 2.
    public static let fieldCount = PropertyKey(rawValue: "FieldCount")
    /// The order of a frame's fields: one of `FieldDetail`'s interleaved orders.
    public static let fieldDetail = PropertyKey(rawValue: "FieldDetail")

    /// Width over height of a sample, `h:v`.
    public static let pixelAspectRatio = PropertyKey(rawValue: "PixelAspectRatio")
    /// The part of the picture to display, `WxH+X+Y`; written to the container.
    public static let cleanAperture = PropertyKey(rawValue: "CleanAperture")

    // MARK: Coding tools
    /// Reference pictures that a picture may have, at most.
    public static let referenceBufferCount = PropertyKey(rawValue: "ReferenceBufferCount")
    /// `kVTQPModulationLevel_Default` (-1) or `kVTQPModulationLevel_Disable` (0).
    public static let spatialAdaptiveQPLevel = PropertyKey(rawValue: "SpatialAdaptiveQPLevel")
    /// Whether packets come with the mean squared error of their pictures.
    public static let calculateMeanSquaredError = PropertyKey(rawValue: "CalculateMeanSquaredError")

    // MARK: Static HDR metadata
    /// The payload of SEI 137 and of the `mdcv` box, 24 bytes in hexadecimal.
    public static let masteringDisplayColorVolume = PropertyKey(rawValue: "MasteringDisplayColorVolume")
    /// The payload of SEI 144 and of the `clli` box, 4 bytes in hexadecimal.
    public static let contentLightLevelInfo = PropertyKey(rawValue: "ContentLightLevelInfo")
    /// The payload of SEI 148 and of the `amve` box, 8 bytes in hexadecimal.
    public static let ambientViewingEnvironment = PropertyKey(rawValue: "AmbientViewingEnvironment")
    /// `Auto` or `None`.
    public static let hdrMetadataInsertionMode = PropertyKey(rawValue: "HDRMetadataInsertionMode")
    /// The number of frames that the session will get; 1 is a still picture.
    public static let sourceFrameCount = PropertyKey(rawValue: "SourceFrameCount")
    /// Whether the frames' dynamic HDR metadata are written as they are.
    public static let preserveDynamicHDRMetadata = PropertyKey(rawValue: "PreserveDynamicHDRMetadata")

    // MARK: Alpha
    /// Whether the stream's colors are multiplied by its alpha: `premultiplied` or `straight`.
    public static let alphaChannelMode = PropertyKey(rawValue: "AlphaChannelMode")
    /// The same for the source frames.
    public static let sourceAlphaMode = PropertyKey(rawValue: "SourceAlphaMode")
    /// Whether the stream declares an alpha layer; boolean, read-only, in decompression sessions (own key).
    public static let containsAlphaChannel = PropertyKey(rawValue: "ContainsAlphaChannel")
    /// Quality of the alpha layer, 0…1.
    public static let targetQualityForAlpha = PropertyKey(rawValue: "TargetQualityForAlpha")

    // MARK: x265
    /// One of x265's presets (own key).
    public static let x265Preset = PropertyKey(rawValue: "X265Preset")
    /// x265 options as `key=value:key=value` (own key).
    public static let x265Params = PropertyKey(rawValue: "X265Params")

    // MARK: Pixel transfer
    /// Primaries of decoded RGB pictures, by H.273 number or CoreVideo name.
    public static let destinationColorPrimaries = PropertyKey(rawValue: "DestinationColorPrimaries")
    /// Transfer function of decoded 8-bit RGB pictures, by H.273 number or CoreVideo name.
    public static let destinationTransferFunction = PropertyKey(rawValue: "DestinationTransferFunction")
    /// Whether colors of decoded RGB pictures are multiplied by alpha: `premultiplied` or `straight` (own key).
    public static let destinationAlphaMode = PropertyKey(rawValue: "DestinationAlphaMode")
    /// Primaries of RGB source frames, by H.273 number or CoreVideo name (own key).
    public static let sourceColorPrimaries = PropertyKey(rawValue: "SourceColorPrimaries")
    /// Transfer function of 8-bit RGB source frames (own key).
    public static let sourceTransferFunction = PropertyKey(rawValue: "SourceTransferFunction")
    /// Luminance of linear 1.0 in cd/m² (own key).
    public static let referenceWhite = PropertyKey(rawValue: "ReferenceWhite")
    /// Peak luminance in cd/m² of the display that HLG is rendered for (own key).
    public static let hlgPeakLuminance = PropertyKey(rawValue: "HLGPeakLuminance")
    /// `auto`, `vulkan` or `cpu` (own key).
    public static let pixelTransferDevicePreference = PropertyKey(rawValue: "PixelTransferDevicePreference")
    /// Why no GPU converts; read-only (own key).
    public static let pixelTransferFallbackReason = PropertyKey(rawValue: "PixelTransferFallbackReason")
    /// The name of the converting device; read-only (own key).
    public static let pixelTransferDevice = PropertyKey(rawValue: "PixelTransferDevice")
    /// How many pictures a GPU accessed in place, how many were copied, and why; in transfer sessions (own key).
    public static let pixelTransferMemory = PropertyKey(rawValue: "PixelTransferMemory")
    /// Why that device was chosen; read-only (own key).
    public static let pixelTransferDeviceReason = PropertyKey(rawValue: "PixelTransferDeviceReason")

    /// How the parts of source and target correspond: `Normal`, `CropSourceToCleanAperture`, `Letterbox` or `Trim`.
    public static let scalingMode = PropertyKey(rawValue: "ScalingMode")

    // MARK: State
    /// Whether the client keeps frames so that the session continues where its process fails; boolean (own key).
    public static let replaysAfterFailure = PropertyKey(rawValue: "ReplaysAfterFailure")
    /// Which of a hardware encoder's pictures are decoded and compared with their frames; `sampled`, `all`, `off` (own key).
    public static let verifyOutput = PropertyKey(rawValue: "VerifyOutput")
    /// Deviations from the requested properties; read-only (own key).
    public static let notices = PropertyKey(rawValue: "Notices")
    /// Packets received whose pictures were not output yet; read-only.
    public static let numberOfFramesBeingDecoded = PropertyKey(rawValue: "NumberOfFramesBeingDecoded")
    /// Frames received whose packets were not output yet; read-only.
    public static let numberOfPendingFrames = PropertyKey(rawValue: "NumberOfPendingFrames")
}

extension PropertyKey: CustomStringConvertible {
    /// The name.
    public var description: String { rawValue }
}
