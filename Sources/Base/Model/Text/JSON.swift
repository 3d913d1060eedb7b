// SPDX-License-Identifier: MIT
internal import FoundationEssentials

/// Encoding and decoding of JSON text; the only user of Foundation's coders.
public enum JSON {
    /// Decodes a value.
    ///
    /// - Throws: `Parameter`, naming the field that is missing or of the wrong type.
    public static func decode<T: Decodable>(_ type: T.Type, from bytes: [UInt8]) throws(SessionError) -> T {
        do throws(Fault) {
            return try value(type, from: bytes)
        } catch {
            throw SessionError(.parameter, error.reason)
        }
    }

    /// Why a document could not be decoded.
    public struct Fault: Error {
        /// The field's path, dotted (`time_base.denominator`); empty for the document itself.
        public var field: String
        public var reason: String
    }

    /// The limit of nested arrays and objects; no message of the protocol has half as many.
    ///
    /// The decoder's time grows with the third power of the depth: 500 levels took two seconds.
    static let maxDepth = 16

    /// As `decode`, with the field's path in the error.
    public static func value<T: Decodable>(_ type: T.Type, from bytes: [UInt8]) throws(Fault) -> T {
        guard !isTooDeep(bytes) else {
            throw Fault(field: "", reason: "the document has more than \(maxDepth) nested levels")
        }
        return try naming { try JSONDecoder().decode(type, from: Data(bytes)) }
    }

    /// A part of a document that was parsed with the rest, and is decoded once its type is known.
    public struct Part {
        private let decoder: any Decoder

        /// A member of an object; nil where it is absent or null.
        ///
        /// - Throws: the decoder's `DecodingError`.
        public init?<Key: CodingKey>(_ key: Key, of object: KeyedDecodingContainer<Key>) throws {
            guard object.contains(key), try !object.decodeNil(forKey: key) else { return nil }
            decoder = try object.superDecoder(forKey: key)
        }

        /// Decodes it.
        ///
        /// - Throws: a fault, which names the field by its path from the root of the document.
        public func value<T: Decodable>(_ type: T.Type) throws(Fault) -> T {
            try JSON.naming { try T(from: decoder) }
        }
    }

    private static func naming<T>(_ decode: () throws -> T) throws(Fault) -> T {
        do {
            return try decode()
        } catch let error as DecodingError {
            throw Fault(field: field(error), reason: describe(error))
        } catch {
            throw Fault(field: "", reason: "not valid JSON")
        }
    }

    private static func isTooDeep(_ bytes: [UInt8]) -> Bool {
        var depth = 0
        var isText = false
        var isEscaped = false
        for byte in bytes {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > maxDepth { return true }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return false
    }

    /// Encodes a value as UTF-8; nil fields are omitted.
    ///
    /// - Parameters:
    ///   - pretty: whether the text has lines, for people.
    ///   - sorted: whether the same value always gives the same text.
    /// - Throws: `Parameter` for a number JSON has no form for (NaN, infinity).
    public static func encode<T: Encodable>(_ value: T, pretty: Bool = false, sorted: Bool = false)
        throws(SessionError) -> [UInt8]
    {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        if pretty || sorted { encoder.outputFormatting.insert(.sortedKeys) }
        if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
        do {
            return [UInt8](try encoder.encode(value))
        } catch {
            throw SessionError(.parameter, "a value has no JSON form (NaN or infinity)")
        }
    }

    /// The path of the field that a decoding error is about, dotted; empty for the document itself.
    static func field(_ error: DecodingError) -> String {
        let context: DecodingError.Context
        var path: [any CodingKey] = []
        switch error {
        case .keyNotFound(let key, let found):
            context = found
            path = [key]
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found):
            context = found
        @unknown default:
            return ""
        }
        return (context.codingPath + path).map(\.stringValue).joined(separator: ".")
    }

    private static func describe(_ error: DecodingError) -> String {
        let field = field(error)
        switch error {
        case .keyNotFound: return "\(field) is missing"
        case .typeMismatch, .valueNotFound: return "\(field.isEmpty ? "the document" : field) is of the wrong type"
        case .dataCorrupted(let context) where context.debugDescription == MemberNames.unknown:
            return "\(field) is unknown"
        default: return field.isEmpty ? "not valid JSON" : "\(field) is not valid"
        }
    }
}
