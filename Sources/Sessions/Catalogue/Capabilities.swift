// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The catalogue, `capabilities.json`: the paths that a probe looks for, and the quirks of drivers it works around.
///
/// `docs/capabilities.schema.json` says what the fields mean.
public struct Capabilities: Codable, Hashable, Sendable {
    /// The version of the format.
    public static let currentSchema = 1
    /// The catalogue this version was built with, a JSON document.
    public static var embeddedDocument: String { text }
    /// Paths, and quirks, that a catalogue may have.
    static let maxEntries = 256

    /// The version of the format.
    public var schema: Int
    /// What to look for.
    public var paths: [Path]
    /// What to work around.
    public var quirks: [Quirk]

    /// A codec, a direction and a profile, and who can do it.
    public struct Path: Codable, Hashable, Sendable {
        /// Its name.
        public var id: String
        /// Whether a probe looks for it.
        public var enabled: Bool
        /// `hevc`.
        public var codec: String
        /// Which way.
        public var operation: CodecOperation
        /// The profile.
        public var profile: String
        /// Bits of a coded sample.
        public var bitDepth: Int
        /// libva's name of the profile (`VAProfileHEVCMain`).
        public var vaProfile: String
        /// libva's names of the entry points, the best first.
        public var vaEntrypoints: [String]
        /// libva's surface format, without `VA_RT_FORMAT_`.
        public var vaRTFormat: String
        /// The library that does it without hardware; nil for none.
        public var software: String?
        /// DRM fourccs of its frames.
        public var pixelFormats: [String]
        /// What sessions may ask of it.
        public var features: [CodecFeature]
    }

    /// What some driver does differently, and what is done about it.
    public struct Quirk: Codable, Hashable, Sendable {
        /// Its name.
        public var id: String
        /// Whether it counts.
        public var enabled: Bool
        /// A `DriverPattern`.
        public var driver: String
        /// The versions it is about, where the pattern finds one; nil for all.
        public var versions: Versions?
        /// Patterns of PCI vendor and device numbers (`8086:8a5*`); empty for every device.
        public var pciIDs: [String]
        /// Patterns of the paths it is about.
        public var paths: [String]
        /// Whether the paths are not to be used at all.
        public var disablePath: Bool
        /// Features that are not to be used.
        public var disableFeatures: [CodecFeature]
        /// Numbers and switches for the encoder.
        public var adjust: [String: PropertyValue]
        /// The driver's fault, and what is done about it, in a sentence.
        public var why: String
        /// Where more is said about it.
        public var link: String?
    }

    /// A range of versions.
    public struct Versions: Codable, Hashable, Sendable {
        /// The first; nil for any.
        public var from: String?
        /// The first that is out; nil for none.
        public var before: String?

        /// A range.
        public init(from: String? = nil, before: String? = nil) {
            self.from = from
            self.before = before
        }
    }

    /// The path with this name, if a probe looks for it.
    public func path(_ id: String) -> Path? { paths.first { $0.id == id && $0.enabled } }

    /// The quirks that a driver has on a path.
    ///
    /// - Parameters:
    ///   - driver: what the driver calls itself.
    ///   - pciID: the device's PCI vendor and device number, where it has one.
    public func quirks(driver: String, pciID: String?, path: String) -> [Quirk] {
        quirks.filter { quirk in
            guard quirk.enabled, let match = DriverPattern(quirk.driver)?.match(driver) else { return false }
            guard quirk.versions?.contains(match.version) ?? true else { return false }
            guard quirk.pciIDs.isEmpty || quirk.pciIDs.contains(where: { Glob($0).matches(pciID ?? "") })
            else { return false }
            return quirk.paths.contains { Glob($0).matches(path) }
        }
    }

    /// Notes the quirks of a path's driver on it; true unless one of them forbids the path.
    public func apply(to path: inout CodecPath, pciID: String? = nil) -> Bool {
        let found = quirks(driver: path.driver, pciID: pciID, path: path.id)
        path.quirks = found.map(\.id)
        path.features.removeAll { feature in found.contains { $0.disableFeatures.contains(feature) } }
        guard let forbidding = found.first(where: \.disablePath) else { return true }
        path.reason = "disabled by the quirk \(forbidding.id): \(forbidding.why)"
        return false
    }
}

extension Capabilities.Versions {
    /// Whether a version lies within; one that is not known lies in no range.
    public func contains(_ version: DriverVersion?) -> Bool {
        guard let version else { return from == nil && before == nil }
        if let from = from.flatMap({ DriverVersion($0) }), version < from { return false }
        if let before = before.flatMap({ DriverVersion($0) }), version >= before { return false }
        return true
    }
}

extension CodecPath {
    /// A path of the catalogue, on a node or in software.
    public init(_ path: Capabilities.Path, device: String? = nil, driver: String) {
        self.init(
            id: path.id, codec: path.codec, operation: path.operation, profile: path.profile,
            bitDepth: path.bitDepth, device: device, driver: driver, features: path.features)
    }
}
