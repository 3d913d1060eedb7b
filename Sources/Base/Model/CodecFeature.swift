// SPDX-License-Identifier: MIT

/// A capability of a codec path that sessions may depend on, by its name in the catalogue.
///
/// The set is open: an administrator's catalogue may name features that this version does not know.
public struct CodecFeature: RawRepresentable, Hashable, Codable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Pictures may refer to later ones.
    public static let bFrames = CodecFeature(rawValue: "b-frames")
    /// The stream may have several temporal levels.
    public static let temporalLayers = CodecFeature(rawValue: "temporal-layers")
    /// The stream may have a second layer with alpha.
    public static let alphaLayer = CodecFeature(rawValue: "alpha-layer")
}

extension CodecFeature: ExpressibleByStringLiteral, CustomStringConvertible {
    public init(stringLiteral name: String) { self.init(rawValue: name) }

    public var description: String { rawValue }
}
