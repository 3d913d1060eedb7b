// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
public import HWDSessions

/// The catalogue's path that an encoder goes, with what the driver's quirks change about it.
public struct HardwarePath: Hashable, Sendable {
    /// libva's name of the profile (`VAProfileHEVCMain`).
    public var vaProfile: String
    /// libva's name of the entry point (`VAEntrypointEncSlice`).
    public var vaEntrypoint: String
    /// libva's surface format, without `VA_RT_FORMAT_` (`YUV420`).
    public var vaRTFormat: String
    /// The catalogue's features that are left (`b-frames`).
    public var features: [CodecFeature]
    /// Numbers and switches of the quirks, by the catalogue's names (`ctb_size`); later quirks win.
    public var adjustments: [String: PropertyValue]

    /// A path by its parts.
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

    /// A path of the catalogue at one of its entry points, less what the driver's quirks take away.
    public init(_ path: Capabilities.Path, entrypoint: String, quirks: [Capabilities.Quirk]) {
        self.init(
            vaProfile: path.vaProfile, vaEntrypoint: entrypoint, vaRTFormat: path.vaRTFormat,
            features: path.features.filter { feature in
                !quirks.contains { $0.disableFeatures.contains(feature) }
            },
            adjustments: quirks.reduce(into: [:]) { $0.merge($1.adjust) { $1 } })
    }
}
