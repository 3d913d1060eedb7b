// SPDX-License-Identifier: MIT
internal import HWDModel

/// Whether presets fit a video, and why others do not, as AVFoundation's `determineCompatibility` answers.
public struct ExportCompatibility: Hashable, Sendable {
    /// The preset.
    public let preset: ExportPreset
    /// The output's size.
    public let size: ExportPreset.Size
    /// Why the preset does not fit; nil where it does.
    public let reason: String?

    /// Whether the preset fits.
    public var fits: Bool { reason == nil }

    /// Compares a preset with a source.
    ///
    /// - Parameter scales: whether the pictures can be scaled.
    public init(_ preset: ExportPreset, _ source: ExportSource, scales: Bool = true) {
        (self.preset, size) = (preset, preset.size(of: source.size))
        reason =
            if preset.alpha, !source.hasAlpha {
                "the source has no alpha"
            } else if let least = preset.minFrameRate, let rate = source.frameRate, rate < least {
                "the source has \(DecimalText.text(rate, 2)) frames per second, fewer than \(DecimalText.text(least, 0))"
            } else if preset.minFrameRate != nil, source.frameRate == nil {
                "the source's frame rate is not known"
            } else if size.reduction(of: source.size) > ExportPreset.largestReduction {
                "the source is \(source.size), and pictures are reduced to an eighth at most, not to \(size)"
            } else if !scales, size != source.size {
                "the source is \(source.size) and would have to be scaled to \(size)"
            } else {
                nil
            }
    }

    /// The verdicts on all presets of a catalogue, in its order.
    public static func all(
        for source: ExportSource, in catalogue: ExportCatalogue = .builtIn, scales: Bool = true
    ) -> [ExportCompatibility] {
        catalogue.presets.map { ExportCompatibility($0, source, scales: scales) }
    }
}
