// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The properties of one session: the values set, validated by the table.
public struct PropertyStore: Sendable {
    /// The back end that serves the session.
    public let backend: PropertySpec.Backend
    private let hasAlpha: Bool
    private var values: [PropertyKey: PropertyValue] = [:]

    private var noun: String { backend == .transfer ? "converter" : backend.isDecoder ? "decoder" : "encoder" }

    /// - Parameter hasAlpha: whether the session's codec is hevc-with-alpha.
    public init(backend: PropertySpec.Backend, hasAlpha: Bool = false) {
        self.backend = backend
        self.hasAlpha = hasAlpha
    }

    /// Sets several properties, all or none.
    ///
    /// - Parameters:
    ///   - new: values by name; null resets a property to its default.
    ///   - isOpen: whether the encoder is open, so that only `live` properties may change.
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly` or `Parameter`, naming the first invalid key.
    public mutating func set(_ new: [String: PropertyValue], isOpen: Bool) throws(SessionError) {
        var values = values
        for (name, value) in new.sorted(by: { $0.key < $1.key }) {
            let row = try writableRow(name, isOpen: isOpen)
            if case .null = value {
                values[row.key] = nil
            } else {
                try row.validate(value)
                values[row.key] = value
            }
        }
        self.values = values
    }

    /// The error for a name that no property has.
    private func unknown(_ name: String) -> SessionError {
        let near = PropertyTable.rows(of: backend).first { $0.key.rawValue.lowercased() == name.lowercased() }
        let hint = near.map { ": did you mean \($0.key.rawValue)?" } ?? ""
        return SessionError(
            .propertyNotSupported,
            "there is no property \(name)\(hint.isEmpty ? ":" : hint) hwctl properties lists them")
    }

    private func writableRow(_ name: String, isOpen: Bool) throws(SessionError) -> PropertySpec {
        guard let row = PropertyTable.row(PropertyKey(rawValue: name), of: backend) else {
            throw unknown(name)
        }
        guard row.supportedBy.contains(backend) else {
            throw SessionError(.propertyNotSupported, "\(name) is not supported by the \(backend.rawValue) \(noun)")
        }
        guard hasAlpha || !row.isForAlpha else {
            throw SessionError(
                .propertyNotSupported, "\(name) is only supported in \(CompressionRequest.alphaCodec) sessions")
        }
        switch row.access {
        case .readOnly: throw SessionError(.propertyReadOnly, "\(name) is read-only")
        case .settable where isOpen:
            throw SessionError(.propertyReadOnly, "\(name) cannot change while the \(noun) is open")
        default: return row
        }
    }

    /// Sets the value of a read-only property.
    public mutating func publish(_ key: PropertyKey, _ value: PropertyValue?) { values[key] = value }

    /// Whether the property has a value other than the table's default.
    public func isSet(_ key: PropertyKey) -> Bool { values[key] != nil }

    /// The value set, or the default.
    public func value(_ key: PropertyKey) -> PropertyValue? {
        values[key] ?? PropertyTable.row(key, of: backend)?.defaultValue
    }

    /// Several values by name; all when `keys` is empty.
    ///
    /// - Throws: `PropertyNotSupported` for a key that does not exist.
    public func copy(_ keys: [String]) throws(SessionError) -> [String: PropertyValue] {
        var found: [String: PropertyValue] = [:]
        if keys.isEmpty {
            for row in PropertyTable.rows(of: backend) where hasAlpha || !row.isForAlpha {
                found[row.key.rawValue] = value(row.key)
            }
        }
        for name in keys {
            let key = PropertyKey(rawValue: name)
            guard PropertyTable.row(key, of: backend) != nil else {
                throw unknown(name)
            }
            found[name] = value(key) ?? .null
        }
        return found
    }

    /// The value if it is a truth value.
    public func bool(_ key: PropertyKey) -> Bool? {
        if case .bool(let value)? = value(key) { value } else { nil }
    }

    /// The value if it is an integer.
    public func integer(_ key: PropertyKey) -> Int64? {
        if case .int(let value)? = value(key) { value } else { nil }
    }

    /// The value if it is a number.
    public func number(_ key: PropertyKey) -> Double? { value(key)?.number }

    /// The value if it is text.
    public func string(_ key: PropertyKey) -> String? {
        if case .string(let value)? = value(key) { value } else { nil }
    }

    /// The code point of a color property; `unspecified` where there is none.
    ///
    /// - Parameter names: the code points that have names.
    public func codePoint(_ key: PropertyKey, _ names: [String: UInt8]) -> UInt8 {
        switch value(key) {
        case .int(let code)?: UInt8(truncatingIfNeeded: code)
        case .string(let name)?: names[name] ?? ColorDescription.unspecified
        default: ColorDescription.unspecified
        }
    }
}
