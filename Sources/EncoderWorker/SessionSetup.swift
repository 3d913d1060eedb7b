// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions
internal import HWDVAAPI
internal import HWDWire
internal import HWDX265

/// What a Create call turns into: the session's rules, and what the client and the broker are told.
struct SessionSetup {
    let session: CompressionSession
    let choice: EncoderPolicy.Choice
    /// The encoder, where it is hardware.
    let hardware: OpenHardware?

    /// Decodes and checks the call, chooses the encoder, and opens it if it is hardware.
    ///
    /// Where hardware does not open, the choice is made again with that as an input.
    /// - Parameter whileOpening: told which encoder's driver is about to run, and nil when it has returned.
    /// - Throws: the session's error the client gets as the reply.
    init(_ start: WorkerStart, whileOpening: (String?) -> Void = { _ in }) throws(SessionError) {
        let call = try VarlinkCall(decoding: Array(start.call.utf8))
        let parameters = try call.parameters(CreateCompressionSession.Parameters.self)
        let request = try CompressionRequest(
            codec: parameters.codec, width: parameters.width, height: parameters.height,
            pixelFormat: parameters.pixelFormat, timeBase: parameters.timeBase)

        // The encoder depends on the bit depth, that on ProfileLevel, and which properties there are on the encoder:
        // the profile is read first, by a store that knows every row.
        let initial = parameters.properties ?? [:]
        let profile = try Self.profile(initial, request)
        var policyRequest = try EncoderPolicy.Request(
            specification: parameters.encoderSpecification ?? [:], bitDepth: profile.bitDepth)
        policyRequest.size = PictureSize(width: request.width, height: request.height)
        policyRequest.softwareProperties = Self.softwareProperties(initial)

        var failures = start.failures.map {
            CodecFailure(codecID: $0.encoderID, reason: $0.reason, isTransient: $0.isTransient)
        }
        while true {
            // Each round adds a failure of another encoder, so that there are no more rounds than encoders.
            let choice = try EncoderPolicy.choose(policyRequest, snapshot: start.snapshot, failures: failures)
            var session = try Self.session(request, choice, initial, start.limits)
            guard choice.encoder.hardware else {
                (self.session, self.choice, hardware) = (session, choice, nil)
                return
            }
            let opened: OpenHardware
            do throws(VAAPIFailure) {
                opened = try Self.open(choice.encoder, session, start, whileOpening)
            } catch {
                failures.append(
                    CodecFailure(
                        codecID: choice.encoder.id, reason: error.error.reason, isTransient: error.isTransient))
                continue
            }
            try session.note(opened.notes)
            (self.session, self.choice, hardware) = (session, choice, opened)
            return
        }
    }

    private static func open(
        _ encoder: EncoderDescription, _ session: CompressionSession, _ start: WorkerStart,
        _ whileOpening: (String?) -> Void
    ) throws(VAAPIFailure) -> OpenHardware {
        guard let hardware = start.hardware.first(where: { $0.encoderID == encoder.id }) else {
            throw VAAPIFailure(SessionError(.couldNotFindVideoEncoder, "the probe did not tell how to open it"))
        }
        let configuration: EncoderConfiguration
        do throws(SessionError) {
            configuration = try EncoderConfiguration(request: session.request, properties: session.properties)
        } catch { throw VAAPIFailure(error) }
        whileOpening(encoder.id)
        defer { whileOpening(nil) }
        // A little less than the broker waits before it kills this process, so that a hang has a reason.
        return try OpenHardware(hardware, configuration, timeout: start.limits.hardwareStallSeconds * 0.8)
    }

    /// The session's rules with the properties of the encoder that serves it.
    private static func session(
        _ request: CompressionRequest, _ choice: EncoderPolicy.Choice, _ initial: [String: PropertyValue],
        _ limits: WorkerLimits
    ) throws(SessionError) -> CompressionSession {
        let encoder = choice.encoder
        var properties = PropertyStore(backend: encoder.hardware ? .vaapi : .x265, hasAlpha: request.hasAlpha)
        properties.publish(.encoderID, .string(encoder.id))
        properties.publish(.usingHardware, .bool(encoder.hardware))
        properties.publish(
            .usingGPURegistryID,
            encoder.hardware ? (encoder.pciAddress ?? encoder.device).map(PropertyValue.string) : nil)
        properties.publish(.fallbackReason, choice.fallbackReason.map(PropertyValue.string))
        var session = CompressionSession(
            request: request, properties: properties, maxPoolBytes: limits.maxPoolBytes)
        try session.setProperties(initial)
        try InputConversion.check(session)
        return session
    }

    /// Names of the properties that are set and that no hardware honours.
    private static func softwareProperties(_ initial: [String: PropertyValue]) -> [String] {
        initial.filter { name, value in
            guard value != .null, let row = PropertyTable.row(PropertyKey(rawValue: name)) else { return false }
            return row.access != .readOnly && row.supportedBy.contains(.x265) && !row.supportedBy.contains(.vaapi)
        }.keys.sorted()
    }

    private static func profile(
        _ initial: [String: PropertyValue], _ request: CompressionRequest
    ) throws(SessionError) -> Profile {
        guard let value = initial[PropertyKey.profileLevel.rawValue] else {
            return Profile(holding: request.bitDepth)
        }
        try PropertyTable.row(.profileLevel)?.validate(value)
        return ProfileLevel(name: value.description)?.profile ?? Profile(holding: request.bitDepth)
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
