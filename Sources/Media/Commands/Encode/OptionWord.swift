// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits

/// An option of a command line that was given.
struct OptionWord: Hashable, CustomStringConvertible {
    var name: String
    /// Nil for a flag.
    var value: String?

    /// An option with a value; nil where it was not given.
    init?(_ name: String, _ value: (some CustomStringConvertible)?) {
        guard let value else { return nil }
        (self.name, self.value) = (name, value.description)
    }

    /// A flag; nil where it was not given.
    init?(_ name: String, isGiven: Bool) {
        guard isGiven else { return nil }
        self.name = name
    }

    /// `--name=value`, one word of a command line.
    var description: String { name + (value.map { "=\($0)" } ?? "") }
}

extension EncodeCommand {
    /// The given options of the encoder.
    var encoderWords: [OptionWord] {
        let words: [OptionWord?] = [
            OptionWord("--profile", profile?.rawValue), OptionWord("--bitrate", bitrate),
            OptionWord("--quality", quality), OptionWord("--qp", qp), OptionWord("--two-pass", isGiven: twoPass),
            OptionWord("--preset", preset),
            OptionWord("--speed", speed?.rawValue), OptionWord("--preset-name", presetName),
            OptionWord("--hardware", hardware == .prefer ? nil : hardware.rawValue), OptionWord("--device", device),
            OptionWord("--keyframe-interval", keyframeInterval),
            OptionWord("--base-layer-frame-rate", baseLayerFrameRate),
            OptionWord("--expected-frame-rate", expectedFrameRate),
        ]
        let others: [OptionWord?] = [
            OptionWord("--alpha", alpha?.rawValue), OptionWord("--alpha-quality", alphaQuality),
            OptionWord("--hdr", hdr == .preserve ? nil : hdr.rawValue), OptionWord("--retag", isGiven: retag),
        ]
        return (words + property.map { OptionWord("--property", $0) } + others).compactMap { $0 }
    }

    /// The given options that determine how pictures are coded.
    var codingWords: [OptionWord] { encoderWords + picture.words }
}
