// SPDX-License-Identifier: MIT
public import HWDModel

/// The description of a property in the reply of `GetSupportedProperties`.
public struct PropertyInfo: Codable, Hashable, Sendable {
    /// The type of its values, by the names of org.hwdaemon.varlink.
    public var type: String
    /// When it may be written: `read-only`, `until-prepared`, `live`.
    public var access: String
    /// The value of a session that does not set it; nil where the encoder decides.
    public var `default`: PropertyValue?
    /// The lowest value of a number.
    public var minimum: Double?
    /// The highest value of a number.
    public var maximum: Double?
    /// The allowed values of a text.
    public var values: [String]?
    /// Its effect, and the properties that it excludes.
    public var description: String

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
