// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// How and where a session converts between Y'CbCr and RGB.
public struct LightOptions: Hashable, Sendable {
    /// Luminance of linear 1.0 in cd/m².
    public let referenceWhite: Double
    /// Peak luminance of the HLG reference display in cd/m².
    public let hlgPeak: Double
    /// `auto`, `vulkan` or `cpu`.
    public let device: String

    /// Resolves the properties.
    public init(_ properties: PropertyStore) {
        referenceWhite = properties.number(.referenceWhite) ?? 203
        hlgPeak = properties.number(.hlgPeakLuminance) ?? 1000
        device = properties.string(.pixelTransferDevicePreference) ?? "auto"
    }
}

/// The format of the frames that a session converts before it encodes them, and their conversion.
public struct FrameConversionSettings: Hashable, Sendable {
    public let format: PixelFormat
    /// The color of frames that have none of their own: of Y'CbCr the stream's; half floats are linear.
    public let color: ColorDescription
    public let light: LightOptions

    /// Nil where frames are coded without conversion.
    public init?(_ request: CompressionRequest, _ properties: PropertyStore, coded: ColorDescription) {
        guard request.convertsFrames else { return nil }
        format = request.pixelFormat
        light = LightOptions(properties)
        guard format.isRGB else {
            color = coded
            return
        }
        let unspecified = ColorDescription.unspecified
        let primaries = properties.codePoint(.sourceColorPrimaries, ColorNames.primaries)
        let transfer = properties.codePoint(.sourceTransferFunction, ColorNames.transfer)
        let isLinear = format == .rgba16f
        color = ColorDescription(
            primaries: primaries != unspecified ? primaries : isLinear ? 12 : 1,
            transfer: isLinear ? 8 : transfer != unspecified ? transfer : 13)
    }
}

extension PropertyTable {
    /// Properties of compression and decompression sessions for the conversion between Y'CbCr and RGB, and for scaling.
    static let pixelTransfer: [PropertySpec] = [
        PropertySpec(
            .referenceWhite, .number(1...10000), default: .double(203),
            "Luminance of the linear value 1.0 in half floats, in cd/m²; 203 as in BT.2408, Apple's layers use 100."
        ),
        PropertySpec(
            .hlgPeakLuminance, .number(100...10000), default: .double(1000),
            "Peak luminance of the HLG display in cd/m², which determines its OOTF."),
        PropertySpec(
            .pixelTransferDevicePreference, .choice(["auto", "vulkan", "cpu"]), default: .string("auto"),
            "Device for converting RGB: auto is a GPU if there is one, vulkan is any Vulkan device."),
        PropertySpec(
            .pixelTransferDevice, .text, access: .readOnly, "The device that converts RGB; null without conversion."
        ),
        PropertySpec(.pixelTransferDeviceReason, .text, access: .readOnly, "Why this device was chosen."),
        PropertySpec(
            .pixelTransferFallbackReason, .text, access: .readOnly,
            "Why it is not a GPU, when one was allowed."),
    ]
}
