// SPDX-License-Identifier: MIT

/// An effect with its parameters, checked against `EffectTable`.
///
/// Its text is `NAME:KEY=VALUE,KEY=VALUE`; triples and points are separated by `/`, and a comma or a backslash in a value is
/// escaped by a backslash.
public struct Effect: Hashable, Sendable {
    /// The names of effects.
    public enum Name: String, CaseIterable, Hashable, Sendable {
        case exposure, saturation, sepia, cdl, vignette, curve, key, despill, lut, background
    }

    /// Where a text is written: tables are files in commands, and numbers in calls.
    public enum Form: Hashable, Sendable {
        case command, call
    }

    /// A color, coded by sRGB's curve, 0…1.
    public struct Color: Hashable, Sendable {
        public var red: Double
        public var green: Double
        public var blue: Double
        /// Whether the primaries are those of Display P3 and not BT.709.
        public var isDisplayP3: Bool
    }

    private enum Value: Hashable, Sendable {
        case numbers([Double])
        case word(String)
        case color(Color)
    }

    public let name: Name
    private var values: [String: Value] = [:]
    /// The parameters that the text has, as they were written, in order.
    private var written: [(key: String, value: String)] = []

    /// Reads a text.
    ///
    /// - Throws: `Parameter`, naming the effect and the parameter.
    public init(text: String, _ form: Form) throws(SessionError) {
        let colon = text.firstIndex(of: ":")
        name = try Name(named: String(text[..<(colon ?? text.endIndex)]).printable(maxBytes: 64), "the effect")
        for pair in Self.split(colon.map { text[text.index(after: $0)...] } ?? "") {
            guard let equals = pair.firstIndex(of: "=") else {
                throw error("'\(pair.printable(maxBytes: 64))' is not KEY=VALUE")
            }
            let (key, value) = (String(pair[..<equals]), String(pair[pair.index(after: equals)...]))
            guard !written.contains(where: { $0.key == key }) else {
                throw error("\(key.printable(maxBytes: 64)) is given twice")
            }
            written.append((key, value))
        }
        let parameters = EffectTable.row(name).parameters.filter { $0.isIn(form) }
        for (key, _) in written where !parameters.contains(where: { $0.name == key }) {
            let known = parameters.map(\.name).joined(separator: ", ")
            throw error("\(key.printable(maxBytes: 64)) is not one of \(known)")
        }
        for parameter in parameters {
            guard let text = written.first(where: { $0.key == parameter.name })?.value ?? parameter.default else {
                if parameter.isRequired { throw error("\(parameter.name) is missing") }
                continue
            }
            values[parameter.name] = try read(text, parameter)
        }
    }

    /// The parameters of a text, without the escapes.
    private static func split(_ text: Substring) -> [String] {
        guard !text.isEmpty else { return [] }
        var parts = [""]
        var isEscaped = false
        for character in text {
            if isEscaped || (character != "\\" && character != ",") {
                parts[parts.count - 1].append(character)
                isEscaped = false
            } else if character == "," {
                parts.append("")
            } else {
                isEscaped = true
            }
        }
        return parts
    }

    private func error(_ reason: String) -> SessionError {
        SessionError(.parameter, "the effect \(name.rawValue): \(reason)")
    }

    private func read(_ text: String, _ parameter: EffectDescription.Parameter) throws(SessionError) -> Value {
        let shown = "\(parameter.name)=\(text.printable(maxBytes: 64))"
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        switch parameter.kind {
        case .number(let range), .triple(let range):
            let isTriple = if case .triple = parameter.kind { true } else { false }
            let numbers = parts.compactMap { PlainNumber.read($0) }
            guard numbers.count == parts.count, numbers.count == 1 || (isTriple && numbers.count == 3) else {
                throw error("\(shown) is not \(isTriple ? "one number or three, separated by /" : "a number")")
            }
            guard numbers.allSatisfy({ range.contains($0) }) else {
                throw error("\(shown) is not within \(range.lowerBound)…\(range.upperBound)")
            }
            return .numbers(isTriple && numbers.count == 1 ? [numbers[0], numbers[0], numbers[0]] : numbers)
        case .points(let count):
            let numbers = parts.compactMap { PlainNumber.read($0) }
            guard numbers.count == parts.count, numbers.count % 2 == 0, count.contains(numbers.count / 2),
                numbers.allSatisfy({ $0.magnitude <= 65504 })
            else {
                throw error("\(shown) is not \(count.lowerBound) to \(count.upperBound) points x/y/x/y…")
            }
            for index in stride(from: 2, to: numbers.count, by: 2) where numbers[index] - numbers[index - 2] < 1e-6
            {
                throw error("\(shown): x does not increase")
            }
            return .numbers(numbers)
        case .color:
            guard let color = Color(text: text) else {
                throw error("\(shown) is not RRGGBB or RRGGBB@p3 in hexadecimal digits")
            }
            return .color(color)
        case .word(let words):
            guard words.contains(text) else {
                throw error("\(shown) is not one of \(words.joined(separator: ", "))")
            }
            return .word(text)
        case .file:
            guard !text.isEmpty else { throw error("\(parameter.name) names no file") }
            return .word(text)
        case .table:
            guard let number = Int(text), (0..<EffectList.maxTables).contains(number) else {
                throw error("\(shown) is not the number of a table")
            }
            return .numbers([Double(number)])
        }
    }

    /// A number of a parameter that has a default; 0 for any other.
    public func number(_ key: String) -> Double { numbers(key).first ?? 0 }

    /// The numbers of a parameter; none where it is absent.
    public func numbers(_ key: String) -> [Double] {
        if case .numbers(let numbers)? = values[key] { numbers } else { [] }
    }

    /// The word of a parameter; nil where it is absent.
    public func word(_ key: String) -> String? {
        if case .word(let word)? = values[key] { word } else { nil }
    }

    /// The color of a parameter; nil where it is absent.
    public func color(_ key: String) -> Color? {
        if case .color(let color)? = values[key] { color } else { nil }
    }

    /// The file of a table, in a command; nil without one.
    public var file: String? { word("file") }

    /// The number of a table, in a call; nil without one.
    public var table: Int? { numbers("table").first.map { Int($0) } }

    /// The text for a call, in which a number stands for a file.
    public func text(table: Int?) -> String {
        let pairs = written.map { key, value in
            if key == "file", let table { return "table=\(table)" }
            var escaped = ""
            for character in value {
                if character == "," || character == "\\" { escaped.append("\\") }
                escaped.append(character)
            }
            return "\(key)=\(escaped)"
        }
        return pairs.isEmpty ? name.rawValue : name.rawValue + ":" + pairs.joined(separator: ",")
    }

    /// Gives the effect the color of the preceding `key` effect, if it has none of its own.
    mutating func inherit(_ color: Color) {
        if values["color"] == nil { values["color"] = .color(color) }
    }

    /// Compares the values, however they are written.
    public static func == (first: Effect, second: Effect) -> Bool {
        first.name == second.name && first.values == second.values
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(values)
    }
}

extension Effect.Color {
    /// `RRGGBB`, or `RRGGBB@p3`; nil for everything else.
    public init?(text: String) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts[0].utf8.count == 6, parts[0].allSatisfy({ $0.isASCII && $0.isHexDigit }),
            let value = UInt32(parts[0], radix: 16)
        else { return nil }
        switch parts.count > 1 ? parts[1].lowercased() : "srgb" {
        case "srgb": isDisplayP3 = false
        case "p3": isDisplayP3 = true
        default: return nil
        }
        (red, green, blue) = (Double(value >> 16) / 255, Double(value >> 8 & 255) / 255, Double(value & 255) / 255)
    }
}

/// Numbers in decimal notation, whatever the locale is.
public enum PlainNumber {
    /// A finite number: digits with an optional sign, point and exponent; nil for everything else.
    public static func read(_ text: Substring) -> Double? {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "e"),
                UInt8(ascii: "E"):
                true
            default: false
            }
        }
        guard isPlain, let value = Double(text), value.isFinite else { return nil }
        return value
    }
}
