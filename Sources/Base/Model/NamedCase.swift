// SPDX-License-Identifier: MIT

extension RawRepresentable<String> where Self: CaseIterable {
    /// The case that a call names.
    ///
    /// - Parameter member: the call's member with the name.
    /// - Throws: `Parameter`, with the member, the name and the known names.
    public init(named text: String, _ member: String) throws(SessionError) {
        guard let name = Self(rawValue: text) else {
            let known = Self.allCases.map(\.rawValue).joined(separator: ", ")
            throw SessionError(.parameter, "\(member) \(text.prefix(64)) is not one of \(known)")
        }
        self = name
    }

    /// The case that a call names, or another where it names none.
    ///
    /// - Throws: as the other initializer.
    public init(named text: String?, _ member: String, else other: Self) throws(SessionError) {
        guard let text else {
            self = other
            return
        }
        self = try Self(named: text, member)
    }
}
