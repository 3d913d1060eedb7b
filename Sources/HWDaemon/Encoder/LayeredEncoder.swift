// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDAlpha
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy
internal import HWDVAAPI
internal import HWDX265

/// Opens the encoder that a session's configuration requires: of one layer, or of a base and an alpha layer.
enum LayeredEncoder {
    /// Opens x265.
    ///
    /// - Parameter statistics: of two passes; without them the configuration's pass has no effect.
    static func software(
        _ configuration: EncoderConfiguration, _ statistics: X265Statistics? = nil
    ) throws(SessionError) -> any Encoder {
        guard let alpha = configuration.alpha else {
            return try X265Encoder(configuration, statistics: statistics)
        }
        let splitter = try splitter(configuration, alpha)
        let base = try X265Encoder(leadingAlpha: configuration.baseLayer(AlphaEncoder.layerFormat))
        return try AlphaEncoder(
            base: base,
            alpha: try X265Encoder(alpha: configuration.alphaLayer(AlphaEncoder.layerFormat), following: base),
            splitter: splitter, mode: alpha.mode, size: size(configuration), followsBase: true,
            writesFlatAlpha: try base.startsSequencesOnRequest())
    }

    /// Opens the encoder on a render node, which the caller keeps open.
    ///
    /// Both layers' encoders plan the same picture structure, because their inputs to the plan are equal. The slices
    /// follow the plan only where the driver accepts packed slice headers.
    ///
    /// - Parameter timeout: seconds a picture may take before the driver counts as hung.
    static func hardware(
        node: Int32, path: HardwarePath, _ configuration: EncoderConfiguration, timeout: Double
    ) throws(VAAPIFailure) -> (encoder: any Encoder, limits: DriverLimits) {
        guard let alpha = configuration.alpha else {
            let encoder = try VAAPIEncoder(node: node, path: path, configuration, timeout: timeout)
            return (encoder, encoder.limits)
        }
        let base = try VAAPIEncoder(
            node: node, path: path, configuration.baseLayer(AlphaEncoder.layerFormat), timeout: timeout)
        guard base.writesSliceHeaders else {
            throw VAAPIFailure(
                SessionError(
                    .couldNotFindVideoEncoder,
                    "its driver writes slice headers of its own, which an alpha layer cannot follow"))
        }
        let second = try VAAPIEncoder(
            node: node, path: path, configuration.alphaLayer(AlphaEncoder.layerFormat), timeout: timeout)
        do throws(SessionError) {
            let encoder = try AlphaEncoder(
                base: base, alpha: second, splitter: try splitter(configuration, alpha), mode: alpha.mode,
                size: size(configuration), followsBase: false)
            return (encoder, base.limits)
        } catch { throw VAAPIFailure(error) }
    }

    private static func size(_ configuration: EncoderConfiguration) -> (width: Int, height: Int) {
        (configuration.request.width, configuration.request.height)
    }

    /// Separates color and alpha of the session's frames.
    private static func splitter(
        _ configuration: EncoderConfiguration, _ alpha: AlphaSettings
    ) throws(SessionError) -> any AlphaSplitter {
        let request = configuration.request
        // RGB frames are converted to the stream's alpha mode before.
        return PlanarSplitter(
            width: request.width, height: request.height,
            source: configuration.conversion == nil ? alpha.sourceMode : alpha.mode, target: alpha.mode)
    }
}
