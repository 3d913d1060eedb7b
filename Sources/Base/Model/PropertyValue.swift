// SPDX-License-Identifier: MIT

/// The value of a session property, of one of JSON's types.
public enum PropertyValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([PropertyValue])
    case object([String: PropertyValue])

    /// The value of an integer or a floating-point number.
    public var number: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// Parses the VALUE of a command line's `KEY=VALUE`: a boolean, a number, or else a string.
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
    /// A readable form, without quotes.
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

extension PropertyValue: Codable {
    /// Decodes any JSON value; integers that fit 64 bits stay integers.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([PropertyValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: PropertyValue].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let fields): try container.encode(fields)
        }
    }
}
