// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAV
internal import HWDModel
internal import HWDSessions
internal import HWDWire

/// What a Create call turns into: the session's rules, a decoder, and what the client and the broker are told.
struct SessionSetup {
    let session: DecompressionSession
    let choice: DecoderPolicy.Choice
    /// What was asked for, to choose again when the decoder fails.
    let wanted: DecoderPolicy.Request
    /// The RGB that pictures become; nil where they stay Y'CbCr.
    let requested: (color: OutputColorRequest, format: PixelFormat)?

    /// Decodes and checks the call and chooses the decoder.
    ///
    /// - Throws: the session's error the client gets as the reply.
    init(_ start: WorkerStart, failures: [CodecFailure] = []) throws(SessionError) {
        let call = try VarlinkCall(decoding: Array(start.call.utf8))
        let parameters = try call.parameters(CreateDecompressionSession.Parameters.self)
        guard let description = Hexadecimal.bytes(parameters.formatDescription) else {
            throw SessionError(.parameter, "format_description is not in hexadecimal")
        }
        let request = try DecompressionRequest(
            codec: parameters.codec, formatDescription: description, timeBase: parameters.timeBase,
            pixelFormat: parameters.pixelFormat)
        wanted = try DecoderPolicy.Request(
            specification: parameters.decoderSpecification ?? [:], bitDepth: request.format.bitDepth,
            size: request.format.size)
        choice = try DecoderPolicy.choose(wanted, snapshot: start.snapshot, failures: failures)

        var properties = PropertyStore(backend: choice.decoder.isHardware ? .vaapiDecoder : .libavcodec)
        properties.publish(.decoderID, .string(choice.decoder.id))
        properties.publish(.usingHardwareDecoder, .bool(choice.decoder.isHardware))
        properties.publish(.usingGPURegistryID, choice.decoder.gpu.map(PropertyValue.string))
        properties.publish(.fallbackReason, choice.fallbackReason.map(PropertyValue.string))
        properties.publish(
            .pixelFormatOfFrames,
            .string(Self.pixelFormat(request, isHardware: choice.decoder.isHardware).rawValue))
        let alpha = request.format.alpha
        properties.publish(.containsAlphaChannel, .bool(alpha != nil))
        properties.publish(.alphaChannelMode, alpha.map { .string($0.mode.rawValue) })
        properties.publish(.outputBitDepth, .int(Int64(request.format.bitDepth)))
        var session = DecompressionSession(
            request: request, properties: properties, maxPoolBytes: start.limits.maxPoolBytes)
        try session.setProperties(parameters.properties ?? [:])
        self.session = session
        if request.isConverted, let format = request.pixelFormat {
            requested = (try OutputColorRequest(session, format), format)
        } else {
            requested = nil
        }
    }

    /// The pictures' layout: what was asked for, else what the decoder gives.
    static func pixelFormat(_ request: DecompressionRequest, isHardware: Bool) -> PixelFormat {
        request.pixelFormat
            ?? (isHardware ? request.format.semiPlanarFormat : request.format.planarFormat)
    }

    /// Opens the decoder that was chosen.
    func openDecoder(
        _ decoder: DecoderDescription, memory: any PictureMemory, session: DecompressionSession
    ) throws(SessionError) -> any PictureDecoder {
        var options = HEVCDecoder.Options()
        (options.isRealTime, options.threads) = session.options
        options.device = decoder.device
        options.target = session.request.decodedFormat
        // What Create told stays, whoever decodes later.
        options.isSemiPlanar = choice.decoder.isHardware
        // A GPU that converts may read them where they are.
        options.keepsSurfaces = requested != nil && !session.request.readsAlpha
        if session.request.readsAlpha {
            return try AlphaHEVCDecoder(session.request.format, options, memory: memory)
        }
        return try HEVCDecoder(session.request.format, options, memory: memory)
    }

    /// Goes from a call to its reply once, with a made-up call that is refused late.
    ///
    /// What only the first pass costs (lazy tables, the JSON coder's metadata, page faults) is then paid while no
    /// client waits.
    static func rehearse() {
        let parameters = CreateDecompressionSession.Parameters(
            formatDescription: [1], timeBase: Rational(1), properties: [.realTime: .bool(false)])
        guard
            let call = try? VarlinkCall.encode(
                method: CreateDecompressionSession.method, parameters: parameters, upgrade: true),
            let packet = try? JSON.encode(
                WorkerStart(
                    session: "", call: String(decoding: call, as: UTF8.self),
                    snapshot: ProbeSnapshot(encoders: [], nodes: []), limits: WorkerLimits())),
            let start = try? JSON.decode(WorkerStart.self, from: packet)
        else { return }
        _ = try? SessionSetup(start)
    }

    /// What the client is answered.
    func reply(to start: WorkerStart) -> CreateDecompressionSession.Reply {
        let request = session.request
        return CreateDecompressionSession.Reply(
            session: start.session, decoderID: choice.decoder.id, usingHardware: choice.decoder.isHardware,
            fallbackReason: choice.fallbackReason, width: request.format.width, height: request.format.height,
            pixelFormat: Self.pixelFormat(request, isHardware: choice.decoder.isHardware).rawValue,
            maxPacketsInFlight: DecompressionSession.maxPacketsInFlight,
            maxFramesInFlight: DecompressionSession.maxFramesInFlight)
    }

    /// What the broker is told.
    var report: WorkerReport {
        .created(
            encoderID: choice.decoder.id, usingHardware: choice.decoder.isHardware,
            fallbackReason: choice.fallbackReason)
    }
}
