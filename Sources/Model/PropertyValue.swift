// SPDX-License-Identifier: MIT

/// The value of a session property, of the kinds that JSON has.
public enum PropertyValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([PropertyValue])
    case object([String: PropertyValue])

    /// The value as a number, whichever kind of number it is.
    public var number: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// What a command line's `KEY=VALUE` means by its VALUE: a boolean or a number where it reads as one, else the text.
    public init(commandLine text: String) {
        if text == "true" || text == "false" {
            self = .bool(text == "true")
        } else if let value = Int64(text) {
            self = .int(value)
        } else if let value = Double(text), value.isFinite {
            self = .double(value)
        } else {
            self = .string(text)
        }
    }
}

extension PropertyValue: CustomStringConvertible {
    /// The value as a person would write it, not quoted.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): value
        case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        case .object(let fields):
            "{"
                + fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
                + "}"
        }
    }
}
