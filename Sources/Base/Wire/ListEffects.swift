// SPDX-License-Identifier: MIT
public import HWDModel

/// A parameter of an effect in the reply of `ListEffects`.
public struct EffectParameter: Codable, Hashable, Sendable {
    public var name: String
    /// `number`, `triple`, `points`, `color`, `word`, or `table` (the number of a table).
    public var type: String
    /// In the grammar of effects; nil where the effect needs the parameter, or as `description` says.
    public var `default`: String?
    public var unit: String?
    public var required: Bool
    /// The lowest value of a number, or the fewest points.
    public var minimum: Double?
    /// The highest value of a number, or the most points.
    public var maximum: Double?
    /// The allowed words.
    public var values: [String]?
    public var description: String
}

/// An effect in the reply of `ListEffects`.
public struct EffectInfo: Codable, Hashable, Sendable {
    public var name: String
    public var description: String
    public var parameters: [EffectParameter]
    /// Whether light above reference white is kept with all parameters.
    public var keepsHighlights: Bool
    /// The parameters with which it is not kept; nil for none.
    public var highlightsExcept: String?
    /// `low`, `medium`, `high`.
    public var cost: String

    /// A row of the table, as texts of a form have it.
    public init(_ row: EffectDescription, _ form: Effect.Form) {
        name = row.name.rawValue
        description = row.summary
        parameters = row.parameters.filter { $0.isIn(form) }.map(EffectParameter.init)
        keepsHighlights = row.keepsHighlights
        if case .keptExcept(let condition) = row.highlights { highlightsExcept = condition }
        cost = row.cost.rawValue
    }

    enum CodingKeys: String, CodingKey {
        case name, description, parameters, cost
        case keepsHighlights = "keeps_highlights"
        case highlightsExcept = "highlights_except"
    }
}

extension EffectParameter {
    init(_ row: EffectDescription.Parameter) {
        (name, `default`, unit) = (row.name, row.default, row.unit)
        (required, description) = (row.isRequired, row.summary)
        switch row.kind {
        case .number(let range): (type, minimum, maximum) = ("number", range.lowerBound, range.upperBound)
        case .triple(let range): (type, minimum, maximum) = ("triple", range.lowerBound, range.upperBound)
        case .points(let count):
            (type, minimum, maximum) = ("points", Double(count.lowerBound), Double(count.upperBound))
        case .color: type = "color"
        case .word(let words): (type, values) = ("word", words)
        case .file: type = "file"
        case .table: type = "table"
        }
    }
}

/// The effects of pixel-transfer sessions.
public enum ListEffects: ControlMethod {
    public static let method = "\(Interface.name).ListEffects"

    public typealias Parameters = Empty

    public struct Reply: Codable, Sendable {
        public var effects: [EffectInfo]

        public init(effects: [EffectInfo]) { self.effects = effects }
    }
}
