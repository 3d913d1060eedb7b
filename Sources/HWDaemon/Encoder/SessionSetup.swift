// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDAlpha
internal import HWDCoding
internal import HWDColor
internal import HWDModel
internal import HWDPolicy
internal import HWDWire
internal import HWDWorker
internal import HWDX265

/// The state built from a Create call: the session's rules, its encoder, and the answers to client and broker.
struct SessionSetup {
    let session: CompressionAdmission
    /// How frames of another size become pictures.
    let scaling: ScalingOptions
    /// The number of frames to encode; nil where it is unknown.
    let frames: Int?
    let choice: EncoderPolicy.Choice
    /// The open encoder, where it is hardware.
    let hardware: OpenHardware?

    /// Checks the call, chooses the encoder, and opens it if it is hardware.
    ///
    /// Where hardware does not open, the choice is repeated with that failure as an input.
    /// - Parameters:
    ///   - devices: what opens hardware of each interface.
    ///   - willOpen: called with an encoder's id before its driver runs, and with nil when it has returned.
    /// - Throws: the session's error, which is the reply to the client.
    init(
        _ start: WorkerStart, _ parameters: CreateCompressionSession.Parameters, _ devices: EncoderWorker.Devices,
        willOpen: (String?) -> Void = { _ in }
    ) throws(SessionError) {
        let request = try CompressionRequest(
            codec: parameters.codec, width: parameters.width, height: parameters.height,
            pixelFormat: parameters.pixelFormat, timeBase: parameters.timeBase, maxReorder: parameters.maxReorder,
            source: parameters.source.map { PictureSize(width: $0.width, height: $0.height) })
        scaling = try Self.scaling(parameters.source)
        let initial = parameters.properties ?? [:]
        frames = parameters.frames ?? Self.frameCount(initial)
        var policyRequest = try Self.policyRequest(request, parameters.encoderSpecification ?? [:], initial)
        (policyRequest.loads, policyRequest.previousID) = (start.loads, start.firstCodecID)

        var failures = start.failures
        while true {
            // Each round adds a failure of another encoder, so that there are no more rounds than encoders.
            let choice = try EncoderPolicy.choose(policyRequest, snapshot: start.snapshot, failures: failures)
            var session = try Self.session(request, choice, initial, start.notices)
            try InputConversion.check(session, scaling)
            guard choice.encoder.hardware else {
                try Self.tryOptions(of: session)
                (self.session, self.choice, hardware) = (session, choice, nil)
                return
            }
            let opened: OpenHardware
            do throws(OpeningFailure) {
                opened = try Self.open(choice.encoder, session, start, devices, willOpen)
            } catch {
                failures.append(
                    CodecFailure(
                        codecID: choice.encoder.id, reason: error.error.reason, isTransient: error.isTransient))
                continue
            }
            session.setEncoderNotices(opened.notes)
            (self.session, self.choice, hardware) = (session, choice, opened)
            return
        }
    }

    /// The request to the encoder policy.
    ///
    /// The choice of encoder depends on the bit depth, which depends on ProfileLevel; but which properties are
    /// valid depends on the encoder. So the profile is read first, before the properties are checked.
    private static func policyRequest(
        _ request: CompressionRequest, _ specification: [String: PropertyValue],
        _ initial: [String: PropertyValue]
    ) throws(SessionError) -> EncoderPolicy.Request {
        let profile = try profile(initial, request)
        var policyRequest = try EncoderPolicy.Request(specification: specification, bitDepth: profile.bitDepth)
        policyRequest.size = PictureSize(width: request.width, height: request.height)
        policyRequest.softwareProperties = softwareProperties(initial)
        return policyRequest
    }

    private static func open(
        _ encoder: EncoderDescription, _ session: CompressionAdmission, _ start: WorkerStart,
        _ devices: EncoderWorker.Devices, _ willOpen: (String?) -> Void
    ) throws(OpeningFailure) -> OpenHardware {
        guard let hardware = start.hardware.first(where: { $0.encoderID == encoder.id }) else {
            throw OpeningFailure(SessionError(.couldNotFindVideoEncoder, "the probe reported no way to open it"))
        }
        guard let open = devices[CodecInterface(node: hardware.node)] else {
            throw OpeningFailure(
                SessionError(.couldNotFindVideoEncoder, "this program does not use \(hardware.node)"))
        }
        willOpen(encoder.id)
        defer { willOpen(nil) }
        // Shorter than the broker waits before it kills this process, so that a hang is reported with its reason.
        let device = try open(
            hardware, session.configuration.profile.bitDepth, start.limits.hardwareStallSeconds * 0.8)
        return try OpenHardware(device, session.configuration)
    }

    /// The session's rules with the properties of the encoder that serves it.
    private static func session(
        _ request: CompressionRequest, _ choice: EncoderPolicy.Choice, _ initial: [String: PropertyValue],
        _ notices: [String]
    ) throws(SessionError) -> CompressionAdmission {
        let encoder = choice.encoder
        var properties = PropertyStore(backend: encoder.hardware ? .vaapi : .x265, hasAlpha: request.hasAlpha)
        properties.publish(.encoderID, .string(encoder.id))
        properties.publish(.usingHardware, .bool(encoder.hardware))
        properties.publish(
            .usingGPURegistryID,
            encoder.hardware ? (encoder.pciAddress ?? encoder.device).map(PropertyValue.string) : nil)
        properties.publish(.fallbackReason, choice.fallbackReason.map(PropertyValue.string))
        return try CompressionAdmission(
            request: request, properties: properties, setting: initial, notices: notices)
    }

    /// An app that names its frames' number by VideoToolbox's property need not name it again.
    private static func frameCount(_ initial: [String: PropertyValue]) -> Int? {
        guard case .int(let count)? = initial[PropertyKey.sourceFrameCount.rawValue] else { return nil }
        return Int(count)
    }

    private static func scaling(
        _ source: CreateCompressionSession.Source?
    ) throws(SessionError) -> ScalingOptions {
        try ScalingOptions(
            filter: source?.scalingFilter, light: source?.scalingLight, mode: source?.scalingMode,
            cleanAperture: try PropertyText.rectangle(source?.cleanAperture, "source.clean_aperture"), of: "source")
    }

    /// Opens and closes x265 if `X265Params` is set.
    ///
    /// x265 checks some values only when it opens; the call that sets them is to fail, not Prepare or a frame.
    /// - Throws: `Parameter` for a value that x265 refuses.
    static func tryOptions(of session: CompressionAdmission) throws(SessionError) {
        let configuration = session.configuration
        guard !configuration.x265Options.options.isEmpty else { return }
        try configuration.x265Options.checkThreadCounts(processors: sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        _ = try LayeredEncoder.software(configuration)
    }

    /// Names of properties that are set and that no hardware honors.
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

    /// Handles a made-up call while no client waits (`WorkerStartup.rehearsal`).
    static func rehearse() {
        let parameters = CreateCompressionSession.Parameters(
            width: 64, height: 64, pixelFormat: .nv12, timeBase: Rational(1), properties: [.quality: .double(0.5)])
        guard
            let assigned = WorkerStartup.rehearsal(
                CreateCompressionSession.self, parameters, encoders: [X265Library.description].compactMap { $0 }),
            let setup = try? SessionSetup(assigned.start, assigned.parameters, [:])
        else { return }
        _ = try? VarlinkReply.encode(setup.reply(to: assigned.start))
        _ = try? JSON.encode(setup.report)
    }

    /// The reply to the client.
    func reply(to start: WorkerStart) -> CreateCompressionSession.Reply {
        let delay = delay
        var reply = CreateCompressionSession.Reply(
            session: start.session, encoderID: choice.encoder.id, usingHardware: choice.encoder.hardware,
            fallbackReason: choice.fallbackReason, maxFramesInFlight: CompressionAdmission.maxFramesInFlight,
            maxPacketsInFlight: PacketArena.maxPackets, maxFramesHeld: delay?.framesHeld,
            reorderDepth: delay?.reorderDepth)
        reply.priorityReason = start.realTime?.refusal
        return reply
    }

    /// What the encoder holds back; nil where its settings cannot be determined before it opens.
    private var delay: (framesHeld: Int, reorderDepth: Int)? {
        if let hardware {
            let mode = OutputSampler.Mode(session, session.configuration)
            return (hardware.framesHeld + (mode?.maxHeld ?? 0), hardware.reorderDepth)
        }
        let configuration = session.configuration
        guard
            let delay = try? X265Delay(
                configuration.alpha == nil ? configuration : configuration.baseLayer(AlphaEncoder.layerFormat),
                leadsAlpha: configuration.alpha != nil)
        else { return nil }
        return (delay.framesHeld, delay.reorderDepth)
    }

    /// The report to the broker.
    var report: WorkerReport {
        .created(
            codecID: choice.encoder.id, usingHardware: choice.encoder.hardware,
            fallbackReason: choice.fallbackReason)
    }
}
