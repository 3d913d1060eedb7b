// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
public import HWDPolicy

/// A path of the capability catalogue, with the driver's quirks applied.
public struct HardwarePath: Hashable, Sendable {
    /// libva's name of the profile (`VAProfileHEVCMain`).
    public var vaProfile: String
    /// libva's name of the entry point (`VAEntrypointEncSlice`).
    public var vaEntrypoint: String
    /// libva's surface format, without `VA_RT_FORMAT_` (`YUV420`).
    public var vaRTFormat: String
    /// The catalogue's features that no quirk disables.
    public var features: [CodecFeature]
    /// The quirks' numbers and switches, by the catalogue's names (`ctb_size`); later quirks override earlier ones.
    public var adjustments: [String: PropertyValue]

    /// A path with these values.
    public init(
        vaProfile: String, vaEntrypoint: String, vaRTFormat: String, features: [CodecFeature] = [.bFrames],
        adjustments: [String: PropertyValue] = [:]
    ) {
        self.vaProfile = vaProfile
        self.vaEntrypoint = vaEntrypoint
        self.vaRTFormat = vaRTFormat
        self.features = features
        self.adjustments = adjustments
    }

    /// A path of the catalogue at one of its entry points, without the features that quirks disable.
    public init(_ path: Capabilities.Path, entrypoint: String, quirks: [Capabilities.Quirk]) {
        self.init(
            vaProfile: path.vaProfile, vaEntrypoint: entrypoint, vaRTFormat: path.vaRTFormat,
            features: path.features.filter { feature in
                !quirks.contains { $0.disableFeatures.contains(feature) }
            },
            adjustments: quirks.reduce(into: [:]) { $0.merge($1.adjust) { $1 } })
    }
}
