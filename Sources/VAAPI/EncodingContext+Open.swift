// SPDX-License-Identifier: GPL-2.0-or-later
internal import CVA
internal import HEVC
internal import Model
internal import Sessions

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

    /// The parameter sets that the driver takes, one NAL unit a buffer.
    static func packParameterSets(
        _ display: Display, _ context: VAContextID, _ settings: EncoderSettings
    ) throws(VAError) -> [PackedHeader] {
        let types = [
            (VA_ENC_PACKED_HEADER_SEQUENCE, VAEncPackedHeaderSequence),
            (VA_ENC_PACKED_HEADER_SEQUENCE, VAEncPackedHeaderSequence),
            (VA_ENC_PACKED_HEADER_PICTURE, VAEncPackedHeaderPicture),
        ]
        var headers: [PackedHeader] = []
        for ((bit, type), unit) in zip(types, settings.parameterSets)
        where settings.packedHeaders & UInt32(bit) != 0 {
            headers.append(try PackedHeader(display, context, type, nalUnit: unit))
        }
        return headers
    }
}

extension VAEncMiscParameterFrameRate {
    /// Frames a second as a fraction of two 16-bit numbers, denominator high, where it fits; else rounded.
    init(_ rate: Rational) {
        self.init()
        if rate.numerator <= 0xFFFF, rate.denominator <= 0xFFFF {
            framerate = UInt32(rate.denominator) << 16 | UInt32(rate.numerator)
        } else {
            framerate = UInt32(max(1, min(65535, rate.value.rounded())))
        }
    }
}

extension VAEncMiscParameterHRD {
    /// The decoder's buffer, which is three quarters full when decoding starts.
    init(_ rate: RateSettings) {
        self.init()
        buffer_size = rate.bufferBits
        initial_buffer_fullness = UInt32(UInt64(rate.bufferBits) * 3 / 4)
    }
}
