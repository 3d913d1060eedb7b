// SPDX-License-Identifier: MIT

/// Effects in the order in which they are applied.
public struct EffectList: Hashable, Sendable {
    /// The most effects of a list.
    public static let maxCount = 16
    /// The most tables of a session.
    public static let maxTables = 16

    /// The effects; a despill without a color has that of the preceding key.
    public let effects: [Effect]

    /// No effects.
    public init() { effects = [] }

    /// Reads the texts of effects.
    ///
    /// - Throws: `Parameter` for a text that is not an effect, for too many of them, and for a despill that has no color.
    public init(texts: [String], _ form: Effect.Form) throws(SessionError) {
        guard texts.count <= Self.maxCount else {
            throw SessionError(.parameter, "\(texts.count) effects are too many; there may be \(Self.maxCount)")
        }
        var effects: [Effect] = []
        var keyed: Effect.Color?
        for text in texts {
            var effect = try Effect(text: text, form)
            if effect.name == .key { keyed = effect.color("color") }
            if effect.name == .despill {
                if let keyed { effect.inherit(keyed) }
                guard effect.color("color") != nil else {
                    throw SessionError(
                        .parameter, "the effect despill: color is missing, and there is no key before it")
                }
            }
            effects.append(effect)
        }
        self.effects = effects
    }

    /// Whether there are none.
    public var isEmpty: Bool { effects.isEmpty }

    /// Whether pixels may become transparent.
    public var makesAlpha: Bool { effects.contains { $0.name == .key } }

    /// Whether pixels may be transparent after the last effect: a key has no background after it.
    public var leavesAlpha: Bool { effects.last { $0.name == .key || $0.name == .background }?.name == .key }
}
