// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDMediaFile
internal import HWDModel

/// What becomes of an input's alpha in `hwctl encode --alpha`.
enum EncodeAlpha {
    /// How the source's colours are and how the stream's are to be, by the properties that are set.
    static func conversion(_ properties: [PropertyKey: PropertyValue]) throws -> AlphaConversion {
        func mode(_ key: PropertyKey, _ other: AlphaConversion.Mode) throws -> AlphaConversion.Mode {
            guard let value = properties[key] else { return other }
            guard case .string(let text) = value, let mode = AlphaConversion.Mode(rawValue: text) else {
                throw MediaError(.usage, "\(key) takes premultiplied or straight, not \(value)")
            }
            return mode
        }
        return AlphaConversion(
            source: try mode(.sourceAlphaMode, .straight), target: try mode(.alphaChannelMode, .premultiplied))
    }

    /// How colours stand to the alpha of an input that has it in an HEVC layer; nil for every other input.
    static func layerMode(of input: String, _ options: MediaReader.Options) -> AlphaChannelMode? {
        guard input != "-" else { return nil }
        var look = options
        (look.alpha, look.leavesHEVC) = (nil, true)
        // The reader that keeps alpha tells what is wrong, if anything is.
        guard let reader = try? MediaReader(path: input, options: look), reader.handsOutPackets else { return nil }
        return reader.video.alphaLayerMode
    }

    /// That frames had no alpha of their own, in one line; nil where all had.
    static func warning(_ report: SourceReport) -> String? {
        guard report.alphaMissingFrames > 0 else { return nil }
        return "warning: \(report.alphaMissingFrames) frames are opaque because their alpha is missing, first: "
            + (report.firstAlphaError ?? "unknown")
    }
}
