// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel
internal import HWDSessions
internal import HWDShaders

/// What a session's properties say of the RGB that its pictures become.
struct OutputColorRequest {
    /// Primaries and transfer function of the pictures.
    let target: SignalDescription
    /// How they are converted.
    let options: ConversionOptions
    /// Where.
    let device: ConverterChoice.Device
    /// `target` in H.273's numbers, for the pictures' description.
    let targetCodePoints: ColorDescription

    /// Reads the properties of a session whose pictures are of `format`.
    ///
    /// - Throws: `PixelTransferNotSupported`, by name, for a colour that is not converted.
    init(_ session: DecompressionSession, _ format: PixelFormat) throws(SessionError) {
        var color = session.destinationColor
        let unspecified = ColorDescription.unspecified
        // Display P3 holds what displays of today show; bytes are for the desktop.
        if color.primaries == unspecified { color.primaries = format == .rgba16f ? 12 : 1 }
        if format == .rgba16f { color.transfer = 8 } else if color.transfer == unspecified { color.transfer = 13 }
        color.matrix = unspecified
        target = try SignalDescription(color)
        // R'G'B' itself.
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
