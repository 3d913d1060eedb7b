// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The properties of one session: what was set, checked against the table.
public struct PropertyStore: Sendable {
    /// The back end that serves the session.
    let backend: PropertySpec.Backend
    private let hasAlpha: Bool
    private var values: [PropertyKey: PropertyValue] = [:]

    private var noun: String { backend.isDecoder ? "decoder" : "encoder" }

    /// No properties set, for a session that this back end serves.
    ///
    /// - Parameter hasAlpha: whether the session's codec is hevc-with-alpha.
    public init(backend: PropertySpec.Backend, hasAlpha: Bool = false) {
        self.backend = backend
        self.hasAlpha = hasAlpha
    }

    /// Sets several properties, all or none.
    ///
    /// - Parameters:
    ///   - new: by name; null takes a property back to its default.
    ///   - isOpen: whether the encoder is open, so that only `live` rows may change.
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly` or `Parameter`, naming the first key that does not fit.
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

    private func writableRow(_ name: String, isOpen: Bool) throws(SessionError) -> PropertySpec {
        guard let row = PropertyTable.row(PropertyKey(rawValue: name), of: backend) else {
            throw SessionError(.propertyNotSupported, "there is no property \(name)")
        }
        guard row.honouredBy.contains(backend) else {
            throw SessionError(.propertyNotSupported, "\(name) is not honoured by the \(backend.rawValue) \(noun)")
        }
        guard hasAlpha || !row.isForAlpha else {
            throw SessionError(
                .propertyNotSupported, "\(name) belongs to sessions of \(CompressionRequest.alphaCodec)")
        }
        switch row.access {
        case .readOnly: throw SessionError(.propertyReadOnly, "\(name) can only be read")
        case .settable where isOpen:
            throw SessionError(.propertyReadOnly, "\(name) can no longer change: the \(noun) is open")
        default: return row
        }
    }

    /// The store keeps these values for the read-only rows, which only the session itself writes.
    public mutating func publish(_ key: PropertyKey, _ value: PropertyValue?) { values[key] = value }

    /// Whether the client set the property.
    public func isSet(_ key: PropertyKey) -> Bool { values[key] != nil }

    /// What was set, or the row's default.
    public func value(_ key: PropertyKey) -> PropertyValue? {
        values[key] ?? PropertyTable.row(key, of: backend)?.defaultValue
    }

    /// Several values by name; all that have one when `keys` is empty.
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
                throw SessionError(.propertyNotSupported, "there is no property \(name)")
            }
            found[name] = value(key) ?? .null
        }
        return found
    }

    func bool(_ key: PropertyKey) -> Bool? {
        if case .bool(let value)? = value(key) { value } else { nil }
    }

    func integer(_ key: PropertyKey) -> Int64? {
        if case .int(let value)? = value(key) { value } else { nil }
    }

    func number(_ key: PropertyKey) -> Double? { value(key)?.number }

    func string(_ key: PropertyKey) -> String? {
        if case .string(let value)? = value(key) { value } else { nil }
    }

    func codePoint(_ key: PropertyKey, _ names: [String: UInt8]) -> UInt8 {
        switch value(key) {
        case .int(let code)?: UInt8(truncatingIfNeeded: code)
        case .string(let name)?: names[name] ?? ColorDescription.unspecified
        default: ColorDescription.unspecified
        }
    }
}
