// SPDX-License-Identifier: GPL-2.0-or-later
internal import Model
internal import Sessions
internal import Wire
internal import X265

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

    /// Goes from a call to its reply once, with a made-up call.
    ///
    /// What only the first pass costs (lazy tables, the JSON coder's metadata, page faults) is then paid while no
    /// client waits.
    static func rehearse() {
        let parameters = CreateCompressionSession.Parameters(
            width: 64, height: 64, pixelFormat: .nv12, timeBase: Rational(1), properties: [.quality: .double(0.5)])
        guard
            let call = try? VarlinkCall.encode(
                method: CreateCompressionSession.method, parameters: parameters, upgrade: true),
            let packet = try? JSON.encode(
                WorkerStart(
                    session: "", call: String(decoding: call, as: UTF8.self),
                    snapshot: ProbeSnapshot(encoders: [X265Library.description].compactMap { $0 }, nodes: []),
                    limits: WorkerLimits())),
            let start = try? JSON.decode(WorkerStart.self, from: packet), let setup = try? SessionSetup(start)
        else { return }
        _ = try? VarlinkReply.encode(setup.reply(to: start))
        _ = try? JSON.encode(setup.report)
    }

    /// What the client is answered.
    func reply(to start: WorkerStart) -> CreateCompressionSession.Reply {
        CreateCompressionSession.Reply(
            session: start.session, encoderID: choice.encoder.id, usingHardware: choice.encoder.hardware,
            fallbackReason: choice.fallbackReason, maxFramesInFlight: CompressionSession.maxFramesInFlight,
            maxPacketsInFlight: PacketArena.maxPackets)
    }

    /// What the broker is told.
    var report: WorkerReport {
        .created(
            encoderID: choice.encoder.id, usingHardware: choice.encoder.hardware,
            fallbackReason: choice.fallbackReason)
    }
}
