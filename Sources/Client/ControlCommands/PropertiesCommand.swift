// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import HWClient
internal import HWDWire

/// `hwctl properties`.
package struct PropertiesCommand: ParsableCommand {
    /// The command's name and help.
    package static let configuration = CommandConfiguration(
        commandName: "properties",
        abstract: "List the properties of an encoder's or decoder's sessions, with their ranges.",
        discussion: """
            EXAMPLES
              hwctl properties
              hwctl properties --decoder

            Names and values are those of VideoToolbox, without the prefix; `hwctl encode --property KEY=VALUE` sets one. \
            Lists and objects are written as JSON in KEY=VALUE: --property 'DataRateLimits=[1000000,1]'.
            """)

    @Option(
        help: ArgumentHelp(
            "One of the encoders of hwctl probe, or a decoder's id; the software encoder by default.",
            valueName: "id"
        ))
    var encoder: String?

    @Flag(help: "List the software decoder's properties, unless --encoder names another.")
    var decoder = false

    @OptionGroup(title: "Messages")
    var messages: VerbosityArguments

    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    private static let softwareDecoder = "org.hwdaemon.decoder.libavcodec"

    private struct Document: Encodable {
        var schema = 1
        var properties: [String: PropertyInfo]
    }

    /// Created by the parser.
    package init() {}

    /// Asks the daemon and prints the answer.
    package func run() throws {
        try report {
            let properties = try Daemon.findWithRefusal(describes: true).daemon.call(
                GetSupportedProperties.self,
                GetSupportedProperties.Parameters(codecID: encoder ?? (decoder ? Self.softwareDecoder : nil))
            ).properties
            if json { return try Console.json(Document(properties: properties)) }
            try Console.result(Self.text(properties))
        }
    }

    /// The groups of the list, by when a property may be written.
    private static let groups = [
        ("live", "MAY CHANGE IN AN OPEN SESSION"), ("until-prepared", "FIXED ONCE A SESSION IS PREPARED"),
        ("read-only", "READ-ONLY"),
    ]

    /// The properties in groups, by name.
    static func text(_ properties: [String: PropertyInfo]) -> String {
        let known = Set(groups.map(\.0))
        let all =
            groups + Set(properties.values.map(\.access)).subtracting(known).sorted().map { ($0, $0.uppercased()) }
        let parts = all.compactMap { access, title -> String? in
            let members = properties.filter { $0.value.access == access }.sorted { $0.key < $1.key }
            guard !members.isEmpty else { return nil }
            let lines = members.flatMap { name, property in
                [heading(name, property), Paragraphs.paragraph("    ", property.description, indent: 4)]
            }
            return ([title, ""] + lines).joined(separator: "\n")
        }
        return parts.joined(separator: "\n\n")
    }

    private static func heading(_ name: String, _ property: PropertyInfo) -> String {
        var parts = [property.type]
        if let low = property.minimum, let high = property.maximum { parts.append("\(short(low))…\(short(high))") }
        if let values = property.values {
            let shown = values.prefix(8).joined(separator: ", ")
            parts.append(shown + (values.count > 8 ? ", … (\(values.count) in all, see --json)" : ""))
        }
        if let value = property.default { parts.append("default \(value)") }
        parts.append(property.access)
        return "\(name)  (\(parts.joined(separator: "; ")))"
    }

    private static func short(_ value: Double) -> String {
        value == value.rounded() && value.magnitude < 1e15 ? "\(Int64(value))" : value > 1e15 ? "∞" : "\(value)"
    }
}
