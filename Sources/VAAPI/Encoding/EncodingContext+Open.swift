// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel

extension EncodingContext {
    /// Creates the config, the surfaces and the context.
    static func open(
        _ display: Display, _ path: HardwarePath, _ settings: EncoderSettings, _ capacity: Capacity
    ) throws(VAError) -> Context {
        guard let (profile, entrypoint) = try display.values(profile: path.vaProfile, entrypoint: path.vaEntrypoint)
        else {
            throw VAError(
                VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT, "vaQueryConfigEntrypoints",
                message: "no \(path.vaEntrypoint) for \(path.vaProfile)")
        }
        var attributes = [
            VAConfigAttrib(type: VAConfigAttribRTFormat, value: settings.rtFormat),
            VAConfigAttrib(type: VAConfigAttribRateControl, value: UInt32(settings.rate.mode)),
        ]
        if settings.packedHeaders != 0 {
            attributes.append(VAConfigAttrib(type: VAConfigAttribEncPackedHeaders, value: settings.packedHeaders))
        }
        let config = try Config(display, profile, entrypoint, attributes)
        return try Context(
            display, config: config, settings.size,
            sources: try SurfacePool(display, settings, count: capacity.frames + capacity.slots),
            reconstructions: try SurfacePool(
                display, settings, count: capacity.references + 1 + capacity.slots))
    }
}
