// SPDX-License-Identifier: MIT

/// What an effect does and takes: a row of `EffectTable`.
public struct EffectDescription: Sendable {
    /// What happens to light above reference white.
    public enum Highlights: Hashable, Sendable {
        /// Kept with all parameters.
        case kept
        /// Kept, except under a condition, in words.
        case keptExcept(String)
    }

    /// What a pixel takes.
    public enum Cost: String, CaseIterable, Sendable {
        /// Sums and products.
        case low
        /// Powers or curves.
        case medium
        /// Reads from a table of colors, or several curves.
        case high
    }

    /// A parameter of an effect.
    public struct Parameter: Sendable {
        /// The values of a parameter.
        public enum Kind: Sendable {
            case number(ClosedRange<Double>)
            /// A number for each of R, G and B, or one for all.
            case triple(ClosedRange<Double>)
            /// Points x, y with increasing x.
            case points(ClosedRange<Int>)
            /// `RRGGBB`, or `RRGGBB@p3`.
            case color
            case word([String])
            /// The name of a .cube file.
            case file
            /// The number of a table of the call.
            case table
        }

        public let name: String
        public let kind: Kind
        /// In the grammar of effects; nil where the effect needs the parameter, or as the summary says.
        public let `default`: String?
        /// nil without one.
        public let unit: String?
        public let isRequired: Bool
        public let summary: String

        init(
            _ name: String, _ kind: Kind, default value: String? = nil, unit: String? = nil,
            isRequired: Bool = false,
            _ summary: String
        ) {
            (self.name, self.kind, self.default, self.unit) = (name, kind, value, unit)
            (self.isRequired, self.summary) = (isRequired, summary)
        }

        /// Whether the parameter is written in commands, or else only in calls; most are in both.
        public func isIn(_ form: Effect.Form) -> Bool {
            switch kind {
            case .file: form == .command
            case .table: form == .call
            default: true
            }
        }
    }

    /// The name in the grammar of effects.
    public let name: Effect.Name
    public let summary: String
    public let parameters: [Parameter]
    public let highlights: Highlights
    public let cost: Cost

    /// Whether light above reference white is kept with all parameters.
    public var keepsHighlights: Bool { highlights == .kept }
}
