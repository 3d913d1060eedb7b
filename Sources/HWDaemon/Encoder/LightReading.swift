// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDColor
internal import HWDModel
internal import HWDPolicy
internal import HWDConversion

extension ImageDescription {
    /// The frames that an encoder gets.
    ///
    /// - Throws: `PixelTransferNotSupported` for a color that is not known.
    init(encodedBy configuration: EncoderConfiguration) throws(SessionError) {
        let request = configuration.request
        self.init(
            format: request.pixelFormat, width: request.width, height: request.height,
            signal: try SignalDescription(configuration.color, width: request.width, height: request.height))
    }
}

extension LightMeter {
    /// The light of the next frame in presentation order.
    func light(of planes: [PlaneView]) throws(SessionError) -> FrameMetadataWriter.Light {
        let reading = try measure(planes)
        return FrameMetadataWriter.Light(
            min: reading.light.min, max: reading.light.max, average: Int(reading.light.average.rounded()),
            startsShot: reading.startsShot)
    }
}
