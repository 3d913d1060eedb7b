// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDColor
internal import HWDModel
internal import HWDPolicy
internal import HWDConversion

/// The RGB color that a session's properties request for its pictures.
struct OutputColorRequest {
    /// Primaries and transfer function of the pictures.
    let target: SignalDescription
    let options: ConversionOptions
    let device: ConverterChoice.Device
    /// `target` as H.273 code points, for the pictures' messages.
    let targetCodePoints: ColorDescription

    /// Reads the properties of a session whose pictures have the format `format`.
    ///
    /// - Throws: `PixelTransferNotSupported`, naming a color that cannot be converted.
    init(_ session: DecompressionAdmission, _ format: PixelFormat) throws(SessionError) {
        var color = session.destinationColor
        let unspecified = ColorDescription.unspecified
        // Half floats default to Display P3, the gamut of current displays; 8-bit RGB to sRGB, for the desktop.
        if color.primaries == unspecified { color.primaries = format == .rgba16f ? 12 : 1 }
        // 8 is linear, 13 sRGB (H.273 table 3).
        if format == .rgba16f { color.transfer = 8 } else if color.transfer == unspecified { color.transfer = 13 }
        color.matrix = unspecified
        target = try SignalDescription(color)
        // 0 is the identity matrix: R'G'B' (H.273 table 4).
        color.matrix = 0
        color.isFullRange = true
        targetCodePoints = color
        var options = ConversionOptions()
        let light = session.lightOptions
        options.referenceWhite = light.referenceWhite
        options.hlgPeak = light.hlgPeak
        self.options = options
        device = ConverterChoice.Device(rawValue: light.device) ?? .auto
    }
}
