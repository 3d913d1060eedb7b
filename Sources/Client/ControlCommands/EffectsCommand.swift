// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import HWDModel
internal import HWDWire

/// `hwctl effects`.
package struct EffectsCommand: ParsableCommand {
    /// The command's name and help.
    package static let configuration = CommandConfiguration(
        commandName: "effects",
        abstract: "List the effects of --effect, with their parameters.",
        discussion: """
            EXAMPLES
              hwctl effects
              hwctl effects --hdr --json

            --effect NAME:KEY=VALUE,KEY=VALUE applies an effect; several apply in the order of the command line. Triples and \
            points are separated by /, and a comma or a backslash in a file name is escaped by a backslash.

            Effects work on linear light of the output's primaries, where 1.0 is reference white: saturation, sepia and tables \
            give other colors with other primaries. Colors are RRGGBB in sRGB, or RRGGBB@p3 in Display P3.

            --hdr leaves out the effects that clamp highlights with some of their parameters; the list names these \
            parameters.
            """)

    @Flag(help: "Only effects that keep highlights, light above reference white, with all parameters.")
    var hdr = false

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    private struct Document: Encodable {
        var schema = 1
        var effects: [EffectInfo]
    }

    /// Created by the parser.
    package init() {}

    /// Prints the table.
    package func run() throws {
        try report {
            let all = EffectTable.rows.map { EffectInfo($0, .command) }
            let effects = hdr ? all.filter(\.keepsHighlights) : all
            if json { return try Console.json(Document(effects: effects)) }
            for effect in effects {
                try Console.result("\(effect.name)  (\(Self.highlights(effect)); cost \(effect.cost))")
                try Console.result("    " + effect.description)
                for parameter in effect.parameters { try Console.result("    " + Self.line(parameter)) }
            }
        }
    }

    private static func highlights(_ effect: EffectInfo) -> String {
        effect.highlightsExcept.map { "clamps highlights with \($0)" } ?? "keeps highlights"
    }

    private static func line(_ parameter: EffectParameter) -> String {
        var parts = [parameter.type]
        if let low = parameter.minimum, let high = parameter.maximum {
            parts.append("\(short(low))…\(short(high))")
        }
        if let unit = parameter.unit { parts.append(unit) }
        if let values = parameter.values { parts.append(values.joined(separator: ", ")) }
        if parameter.required { parts.append("required") }
        if let value = parameter.default { parts.append("default \(value)") }
        return "  \(parameter.name)  (\(parts.joined(separator: "; "))): \(parameter.description)"
    }

    private static func short(_ value: Double) -> String {
        value == value.rounded() ? "\(Int(value))" : "\(value)"
    }
}
