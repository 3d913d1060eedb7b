// SPDX-License-Identifier: MIT

/// The names of a JSON object's members, and of the members of objects in it.
public struct MemberNames: Sendable {
    private let names: Set<String>
    private let objects: [String: MemberNames]

    /// The names of keys; `objects` has the members of members.
    public init<Key: CodingKey & CaseIterable>(_ keys: Key.Type, _ objects: [String: MemberNames] = [:]) {
        names = Set(keys.allCases.map(\.stringValue))
        self.objects = objects
    }

    /// The description of the error about a member that is not known.
    static let unknown = "unknown"

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Checks that the object has no other members.
    ///
    /// - Throws: a `DecodingError` about the first of the others by name.
    public func check(_ decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        for name in container.allKeys.map(\.stringValue).sorted() {
            let key = AnyKey(stringValue: name)
            guard names.contains(name) else {
                throw DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: Self.unknown)
            }
            if let members = objects[name], try !container.decodeNil(forKey: key) {
                try members.check(try container.superDecoder(forKey: key))
            }
        }
    }
}
