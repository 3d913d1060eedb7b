// SPDX-License-Identifier: MIT
public import HWDModel

/// A property as `GetSupportedProperties` tells it.
public struct PropertyInfo: Codable, Hashable, Sendable {
    /// What kind of value it takes.
    public var type: String
    /// When it may be written: `read-only`, `until-prepared`, `live`.
    public var access: String
    /// Its value when nobody sets it; nil where the encoder decides.
    public var `default`: PropertyValue?
    /// The least a number may be.
    public var minimum: Double?
    /// The most a number may be.
    public var maximum: Double?
    /// The texts that are allowed.
    public var values: [String]?
    /// What it does, and what it excludes.
    public var description: String

    /// A property by all that is told of it.
    public init(
        type: String, access: String, default defaultValue: PropertyValue?, minimum: Double?, maximum: Double?,
        values: [String]?, description: String
    ) {
        self.type = type
        self.access = access
        self.default = defaultValue
        self.minimum = minimum
        self.maximum = maximum
        self.values = values
        self.description = description
    }
}
