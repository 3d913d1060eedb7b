// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA

extension Display {
    /// The capabilities of an entry point; nil for one that the driver does not have.
    public func attributes(profile: String, entrypoint: String) throws(VAError) -> ConfigAttributes? {
        guard let (profile, entrypoint) = try values(profile: profile, entrypoint: entrypoint) else { return nil }
        let values = try query(profile, entrypoint)
        return ConfigAttributes(
            rtFormats: values[VAConfigAttribRTFormat] ?? 0, rateControl: values[VAConfigAttribRateControl] ?? 0,
            packedHeaders: values[VAConfigAttribEncPackedHeaders] ?? 0,
            maxWidth: values[VAConfigAttribMaxPictureWidth].flatMap(Self.size),
            maxHeight: values[VAConfigAttribMaxPictureHeight].flatMap(Self.size),
            encoding: EncodingAttributes(values))
    }

    /// libva's values for a profile and one of its entry points; nil where the driver does not have them.
    func values(profile: String, entrypoint: String) throws(VAError) -> (VAProfile, VAEntrypoint)? {
        guard let profile = try value(of: profile),
            let entrypoint = try entrypointValues(of: profile).first(where: { Self.name($0) == entrypoint })
        else { return nil }
        return (profile, entrypoint)
    }

    private static let types = [
        VAConfigAttribRTFormat, VAConfigAttribRateControl, VAConfigAttribEncPackedHeaders,
        VAConfigAttribMaxPictureWidth, VAConfigAttribMaxPictureHeight, VAConfigAttribEncMaxRefFrames,
        VAConfigAttribEncMaxSlices, VAConfigAttribEncQualityRange, VAConfigAttribPredictionDirection,
        VAConfigAttribEncHEVCFeatures, VAConfigAttribEncHEVCBlockSizes, VAConfigAttribEncROI,
    ]

    /// The attributes that the driver reports.
    private func query(
        _ profile: VAProfile, _ entrypoint: VAEntrypoint
    ) throws(VAError) -> [VAConfigAttribType: UInt32] {
        // A driver that does not know an attribute may leave its value unchanged.
        var list = Self.types.map { VAConfigAttrib(type: $0, value: hwd_va_not_supported()) }
        try check(
            vaGetConfigAttributes(handle, profile, entrypoint, &list, Int32(list.count)), "vaGetConfigAttributes")
        let answered = list.filter { $0.value != hwd_va_not_supported() }
        return Dictionary(answered.map { ($0.type, $0.value) }) { first, _ in first }
    }

    /// A side in samples; nil for values out of range, which some drivers report instead of VA_ATTRIB_NOT_SUPPORTED.
    private static func size(_ value: UInt32) -> Int? { 1...65535 ~= value ? Int(value) : nil }
}

extension VAConfigAttribType: @retroactive Hashable {}
