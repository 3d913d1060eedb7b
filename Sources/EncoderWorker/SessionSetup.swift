// SPDX-License-Identifier: GPL-2.0-or-later
internal import Model
internal import Sessions
internal import Wire

/// What a Create call turns into: the session's rules, and what the client and the broker are told.
struct SessionSetup {
    let session: CompressionSession
    let choice: Policy.Choice

    /// Decodes and checks the call and chooses the encoder.
    ///
    /// - Throws: the session's error the client gets as the reply.
    init(_ start: WorkerStart) throws(SessionError) {
        let call = try VarlinkCall(decoding: Array(start.call.utf8))
        let parameters = try call.parameters(CreateCompressionSession.Parameters.self)
        let request = try CompressionRequest(
            codec: parameters.codec, width: parameters.width, height: parameters.height,
            pixelFormat: parameters.pixelFormat, timeBase: parameters.timeBase)

        // The encoder depends on the bit depth, that on ProfileLevel, and which properties there are on the encoder:
        // the profile is read first, by a store that knows every row.
        let initial = parameters.properties ?? [:]
        let profile = try Self.profile(initial, request)
        choice = try Policy.choose(
            Policy.Request(specification: parameters.encoderSpecification ?? [:], bitDepth: profile.bitDepth),
            snapshot: start.snapshot)

        var properties = PropertyStore(backend: choice.encoder.hardware ? .vaapi : .x265)
        properties.publish(.encoderID, .string(choice.encoder.id))
        properties.publish(.usingHardware, .bool(choice.encoder.hardware))
        properties.publish(.fallbackReason, choice.fallbackReason.map(PropertyValue.string))
        var session = CompressionSession(
            request: request, properties: properties, maxPoolBytes: start.limits.maxPoolBytes)
        try session.setProperties(initial)
        self.session = session
    }

    private static func profile(
        _ initial: [String: PropertyValue], _ request: CompressionRequest
    ) throws(SessionError) -> Profile {
        guard let value = initial[PropertyKey.profileLevel.rawValue] else {
            return Profile(holding: request.pixelFormat.bitDepth)
        }
        try PropertyTable.row(.profileLevel)?.validate(value)
        return ProfileLevel(name: value.description)?.profile ?? Profile(holding: request.pixelFormat.bitDepth)
    }
}
