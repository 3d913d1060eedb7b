// SPDX-License-Identifier: GPL-2.0-or-later
internal import Model
internal import Sessions
internal import Wire

/// The property table as `GetSupportedProperties` answers it.
enum SupportedProperties {
    /// The properties of an encoder's sessions; of the software encoder's when none is named.
    ///
    /// - Throws: `CouldNotFindVideoEncoder` for an encoder that is not there.
    static func answer(
        _ encoderID: String?, encoders: [EncoderDescription]
    ) throws(SessionError) -> GetSupportedProperties.Reply {
        let encoder = encoders.first { encoder in
            if let encoderID { encoder.id == encoderID } else { !encoder.hardware }
        }
        guard let encoder else {
            let known = encoders.map(\.id).joined(separator: ", ")
            throw SessionError(
                .couldNotFindVideoEncoder,
                "there is no encoder \(encoderID ?? "in software") here; there is \(known.isEmpty ? "none" : known)"
            )
        }
        let rows = PropertyTable.rows(of: encoder.hardware ? .vaapi : .x265)
        return GetSupportedProperties.Reply(
            properties: Dictionary(uniqueKeysWithValues: rows.map { ($0.key.rawValue, PropertyInfo($0)) }))
    }
}

extension PropertyInfo {
    /// What a row of the table says.
    init(_ row: PropertySpec) {
        self.init(
            type: row.kind.name, access: row.access.rawValue, default: row.defaultValue,
            minimum: row.kind.range?.minimum, maximum: row.kind.range?.maximum, values: row.kind.choices,
            description: row.summary)
    }
}
