// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// How and where a session converts between Y'CbCr and RGB, as its properties say.
public struct LightOptions: Hashable, Sendable {
    /// cd/m² of linear 1.0.
    public let referenceWhite: Double
    /// cd/m² of the display that HLG is meant for.
    public let hlgPeak: Double
    /// `auto`, `vulkan`, `cpu`.
    public let device: String

    init(_ properties: PropertyStore) {
        referenceWhite = properties.number(.referenceWhite) ?? 203
        hlgPeak = properties.number(.hlgPeakLuminance) ?? 1000
        device = properties.string(.pixelTransferDevicePreference) ?? "auto"
    }
}

/// What frames in RGB that a session encodes are.
public struct FrameConversionSettings: Hashable, Sendable {
    /// How their samples lie.
    public let format: PixelFormat
    /// Their primaries and transfer function; half floats are linear.
    public let color: ColorDescription
    /// How they are converted.
    public let light: LightOptions

    init(format: PixelFormat, _ properties: PropertyStore) {
        self.format = format
        light = LightOptions(properties)
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
    /// Rows of both kinds of sessions about the conversion between Y'CbCr and RGB.
    static let pixelTransfer: [PropertySpec] = [
        PropertySpec(
            .referenceWhite, .number(1...10000), default: .double(203),
            "cd/m² of the linear value 1.0 in half floats; BT.2408 says 203, Apple's layers take 100."),
        PropertySpec(
            .hlgPeakLuminance, .number(100...10000), default: .double(1000),
            "Peak in cd/m² of the display that HLG is meant for; its OOTF follows from it."),
        PropertySpec(
            .pixelTransferDevicePreference, .choice(["auto", "vulkan", "cpu"]), default: .string("auto"),
            "Where RGB is converted: auto is a GPU where there is one, vulkan any Vulkan device."),
        PropertySpec(
            .pixelTransferDevice, .text, access: .readOnly, "What converts RGB, in words; null where nothing does."),
        PropertySpec(.pixelTransferDeviceReason, .text, access: .readOnly, "Why it is that device."),
        PropertySpec(
            .pixelTransferFallbackReason, .text, access: .readOnly,
            "Why that is no GPU, when one was allowed."),
    ]
}
