// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// How `hwctl encode --alpha` treats the input's alpha.
enum EncodeAlpha {
    /// How colors relate to alpha in the source and in the stream, from the properties that are set.
    static func conversion(_ properties: [PropertyKey: PropertyValue]) throws -> AlphaConversion {
        func mode(_ key: PropertyKey, _ defaultMode: AlphaConversion.Mode) throws -> AlphaConversion.Mode {
            guard let value = properties[key] else { return defaultMode }
            guard case .string(let text) = value, let mode = AlphaConversion.Mode(rawValue: text) else {
                throw MediaError(.usage, "\(key) takes premultiplied or straight, not \(value)")
            }
            return mode
        }
        return AlphaConversion(
            source: try mode(.sourceAlphaMode, .straight), target: try mode(.alphaChannelMode, .premultiplied))
    }

    /// A warning about frames whose alpha is missing; nil if there are none.
    static func warning(_ report: SourceReport) -> String? {
        guard report.alphaMissingFrames > 0 else { return nil }
        return "warning: \(report.alphaMissingFrames) frames are opaque because their alpha is missing, first: "
            + (report.firstAlphaError ?? "unknown")
    }
}
