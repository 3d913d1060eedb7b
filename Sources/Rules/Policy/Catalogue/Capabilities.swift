// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The catalogue, `capabilities.json`: the codec paths that a probe checks, and workarounds for drivers.
///
/// `docs/capabilities.schema.json` documents the fields.
public struct Capabilities: Codable, Hashable, Sendable {
    /// The version of the format.
    public static let currentSchema = 1
    /// The catalogue built into this version, a JSON document.
    public static var embeddedDocument: String { text }
    /// Limit of paths and of quirks.
    static let maxEntries = 256

    /// The version of the format.
    public var schema: Int
    public var paths: [Path]
    public var quirks: [Quirk]

    /// A codec, a direction and a profile, with the VA-API and software implementations to use.
    public struct Path: Codable, Hashable, Sendable {
        public var id: String
        /// Whether a probe checks it.
        public var enabled: Bool
        /// `hevc`, or for decoders `h264`, `vp9` or `av1`.
        public var codec: String
        public var operation: CodecOperation
        public var profile: String
        /// Bits of a coded sample.
        public var bitDepth: Int
        /// libva's name of the profile (`VAProfileHEVCMain`).
        public var vaProfile: String
        /// libva's names of the entry points, preferred ones first.
        public var vaEntrypoints: [String]
        /// libva's surface format, without `VA_RT_FORMAT_`.
        public var vaRTFormat: String
        /// The library for the path without hardware; nil for none.
        public var software: String?
        /// DRM fourccs of its frames.
        public var pixelFormats: [String]
        /// Optional features that sessions may use.
        public var features: [CodecFeature]

        /// Whether sessions may use it; others are reported where a driver claims them, for apps that use it directly.
        public var servesSessions: Bool { codec == CompressionRequest.codec }
    }

    /// A driver's deviation and the workaround for it.
    public struct Quirk: Codable, Hashable, Sendable {
        public var id: String
        /// Whether it is applied.
        public var enabled: Bool
        /// A `DriverPattern`.
        public var driver: String
        /// The affected versions, as matched by the pattern's `{version}`; nil for all.
        public var versions: Versions?
        /// Patterns of PCI vendor and device ids (`8086:8a5*`); empty for every device.
        public var pciIDs: [String]
        /// Patterns of the affected paths.
        public var paths: [String]
        /// Whether the paths must not be used.
        public var disablePath: Bool
        /// Features that must not be used.
        public var disableFeatures: [CodecFeature]
        /// Settings for the encoder or decoder.
        public var adjust: [String: PropertyValue]
        /// A looser sandbox for every process that runs the driver, whatever the paths; nil for the configured one.
        public var sandbox: Sandbox?
        /// The deviation and the workaround, in one clause.
        public var why: String
        /// A URL with details.
        public var link: String?
    }

    /// A sandbox that forbids less than the configured one.
    public enum Sandbox: String, Codable, Hashable, Sendable {
        /// Everything is allowed, and what would be forbidden is in the kernel's log.
        case report
        /// Nothing is forbidden.
        case off
    }

    /// A range of versions.
    public struct Versions: Codable, Hashable, Sendable {
        /// The first affected version; nil for no lower bound.
        public var from: String?
        /// The first version that is no longer affected; nil for no upper bound.
        public var before: String?

        public init(from: String? = nil, before: String? = nil) {
            self.from = from
            self.before = before
        }
    }

    /// The enabled path with this name.
    public func path(_ id: String) -> Path? { paths.first { $0.id == id && $0.enabled } }

    /// The quirks that apply to a driver on a path.
    ///
    /// - Parameters:
    ///   - driver: the driver's vendor string.
    ///   - pciID: the device's PCI vendor and device id; nil without one.
    public func quirks(driver: String, pciID: String?, path: String) -> [Quirk] {
        quirks.filter { quirk in
            quirk.applies(driver: driver, pciID: pciID) && quirk.paths.contains { Glob($0).matches(path) }
        }
    }

    /// Applies the quirks of a path's driver to it; returns false when one of them disables the path.
    public func apply(to path: inout CodecPath, pciID: String? = nil) -> Bool {
        let found = quirks(driver: path.driver, pciID: pciID, path: path.id)
        path.quirks = found.map(\.id)
        path.features.removeAll { feature in found.contains { $0.disableFeatures.contains(feature) } }
        guard let disabling = found.first(where: \.disablePath) else { return true }
        path.reason = "disabled by the quirk \(disabling.id): \(disabling.why)"
        path.cause = .quirk
        return false
    }
}

extension Capabilities {
    /// The quirks that paths name, each once, in the catalogue's order.
    public func descriptions(of paths: [CodecPath]) -> [QuirkDescription] {
        let names = Set(paths.flatMap(\.quirks))
        return quirks.filter { names.contains($0.id) }.map { quirk in
            QuirkDescription(
                id: quirk.id, why: quirk.why, disablesPath: quirk.disablePath,
                disabledFeatures: quirk.disableFeatures, fixedIn: quirk.versions?.before, link: quirk.link)
        }
    }
}

extension Capabilities.Quirk {
    /// Whether the quirk is applied to a driver on some path; the arguments are those of `Capabilities.quirks`.
    public func applies(driver: String, pciID: String?) -> Bool {
        guard enabled, let match = DriverPattern(self.driver)?.match(driver) else { return false }
        guard versions?.contains(match.version) ?? true else { return false }
        return pciIDs.isEmpty || pciIDs.contains { Glob($0).matches(pciID ?? "") }
    }
}

extension Capabilities.Versions {
    /// Whether the range contains a version; an unknown version is only in the unbounded range.
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
