// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDHEVC
internal import HWDModel
internal import HWDSessions

extension EncodingContext {
    /// Config, surfaces and context.
    static func open(
        _ display: Display, _ path: HardwarePath, _ settings: EncoderSettings, sources: Int,
        reconstructions: Int
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
        let (width, height) = (settings.size.width, settings.size.height)
        func pool(_ count: Int) throws(VAError) -> SurfacePool {
            try SurfacePool(
                display, rtFormat: settings.rtFormat, fourcc: settings.fourcc, width: width, height: height,
                count: count)
        }
        return try Context(
            display, config: config, sources: try pool(sources), reconstructions: try pool(reconstructions),
            width: width, height: height)
    }
}
