// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDWire

/// The property table as `GetSupportedProperties` returns it.
enum SupportedProperties {
    private static let replies = Dictionary(
        uniqueKeysWithValues: PropertySpec.Backend.allCases.map { ($0, VarlinkReply.constant(reply($0))) })

    /// Names pixel-transfer sessions, whatever converts.
    private static let transferID = "org.hwdaemon.transfer"

    /// The encoded reply for sessions with an encoder or decoder; with the software encoder if none is named.
    ///
    /// - Throws: `CouldNotFindVideoEncoder` for an unknown id.
    static func encodedReply(codecID: String?, _ snapshot: ProbeSnapshot) throws(SessionError) -> [UInt8] {
        let backend = try backend(codecID, snapshot)
        guard let reply = replies[backend] else { preconditionFailure("\(backend) has no property table") }
        return reply
    }

    private static func backend(
        _ codecID: String?, _ snapshot: ProbeSnapshot
    ) throws(SessionError) -> PropertySpec.Backend {
        if codecID == Self.transferID { return .transfer }
        let decoders = DecoderPolicy.candidates(snapshot)
        if let codecID, let decoder = decoders.first(where: { $0.id == codecID }) {
            return decoder.hardware ? .vaapiDecoder : .libavcodec
        }
        let encoders = snapshot.encoders
        let encoder = encoders.first { encoder in
            if let codecID { encoder.id == codecID } else { !encoder.hardware }
        }
        guard let encoder else {
            let known = (encoders.map(\.id) + decoders.map(\.id)).joined(separator: ", ")
            throw SessionError(
                .couldNotFindVideoEncoder,
                "there is no encoder \(codecID ?? "in software") here; there is \(known.isEmpty ? "none" : known)")
        }
        return encoder.hardware ? .vaapi : .x265
    }

    private static func reply(_ backend: PropertySpec.Backend) -> GetSupportedProperties.Reply {
        GetSupportedProperties.Reply(
            properties: Dictionary(
                uniqueKeysWithValues: PropertyTable.rows(of: backend).map { ($0.key.rawValue, PropertyInfo($0)) }))
    }
}

extension PropertyInfo {
    /// Describes a row of the table.
    init(_ row: PropertySpec) {
        self.init(
            type: row.kind.name, access: row.access.rawValue, default: row.defaultValue,
            minimum: row.kind.range?.minimum, maximum: row.kind.range?.maximum, values: row.kind.choices,
            description: row.summary)
    }
}
