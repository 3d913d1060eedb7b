// SPDX-License-Identifier: MIT

/// A quirk of the catalogue that applies to a driver on this machine, as the reply of `Probe` describes it.
public struct QuirkDescription: Hashable, Codable, Sendable {
    /// The quirk's name, as `CodecPath.quirks` has it.
    public var id: String
    /// The deviation and the workaround, in one clause.
    public var why: String
    /// Whether its paths are not used.
    public var disablesPath: Bool
    /// Features that sessions do not have on its paths.
    public var disabledFeatures: [CodecFeature]
    /// The first version of the driver that is not affected; nil where none is known.
    public var fixedIn: String?
    /// A URL with details.
    public var link: String?

    public init(
        id: String, why: String, disablesPath: Bool = false, disabledFeatures: [CodecFeature] = [],
        fixedIn: String? = nil, link: String? = nil
    ) {
        self.id = id
        self.why = why
        self.disablesPath = disablesPath
        self.disabledFeatures = disabledFeatures
        self.fixedIn = fixedIn
        self.link = link
    }

    enum CodingKeys: String, CodingKey {
        case id, why, link
        case disablesPath = "disables_path"
        case disabledFeatures = "disabled_features"
        case fixedIn = "fixed_in"
    }
}
