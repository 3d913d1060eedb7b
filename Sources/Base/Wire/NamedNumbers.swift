// SPDX-License-Identifier: MIT

// `JSONDecoder` reports a number that the member's type cannot hold (160.5, 2³¹ of an Int32, 1e999) without the
// member's name. The compiler prefers these methods to the standard library's in this module, also in the
// conformances to Codable that it writes.
extension KeyedDecodingContainer {
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try number(type, key) }

    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try number(type, key) }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try numberIfPresent(type, key) }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try numberIfPresent(type, key) }

    private func numberIfPresent<Number: Decodable>(_ type: Number.Type, _ key: Key) throws -> Number? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        return try number(type, key)
    }

    private func number<Number: Decodable>(_ type: Number.Type, _ key: Key) throws -> Number {
        guard contains(key) else {
            throw DecodingError.keyNotFound(
                key, DecodingError.Context(codingPath: codingPath, debugDescription: "missing"))
        }
        do {
            return try Number(from: try superDecoder(forKey: key))
        } catch DecodingError.typeMismatch(let type, let context) {
            throw DecodingError.typeMismatch(type, context)
        } catch DecodingError.valueNotFound(let type, let context) {
            throw DecodingError.valueNotFound(type, context)
        } catch {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "out of range")
        }
    }
}
