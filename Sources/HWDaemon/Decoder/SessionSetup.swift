// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDLibAV
internal import HWDModel
internal import HWDPolicy
internal import HWDWire
internal import HWDWorker

/// The state built from a Create call: the session's rules, its decoder, and the answers to client and broker.
struct SessionSetup {
    let session: DecompressionAdmission
    /// The number of pictures to decode; nil where it is unknown.
    let pictures: Int?
    let choice: DecoderPolicy.Choice
    /// The requirements on the decoder, for a second choice when one fails.
    let requirements: DecoderPolicy.Request
    /// Whether chroma is interleaved where the call names no pixel format: as the client's session began.
    private let isSemiPlanar: Bool
    /// The RGB that pictures are converted to; nil where they stay Y'CbCr.
    let output: (color: OutputColorRequest, format: PixelFormat)?

    /// Checks the call and chooses the decoder.
    ///
    /// - Throws: the session's error, which is the reply to the client.
    init(
        _ start: WorkerStart, _ parameters: CreateDecompressionSession.Parameters, failures: [CodecFailure] = []
    ) throws(SessionError) {
        pictures = parameters.frames
        guard let description = Hexadecimal.bytes(parameters.formatDescription) else {
            throw SessionError(.parameter, "format_description is not in hexadecimal")
        }
        let request = try DecompressionRequest(
            codec: parameters.codec, formatDescription: description, timeBase: parameters.timeBase,
            pixelFormat: parameters.pixelFormat)
        var requirements = try DecoderPolicy.Request(
            specification: parameters.decoderSpecification ?? [:], bitDepth: request.format.bitDepth,
            size: request.format.size)
        (requirements.loads, requirements.previousID) = (start.loads, start.firstCodecID)
        self.requirements = requirements
        choice = try DecoderPolicy.choose(requirements, snapshot: start.snapshot, failures: failures)
        isSemiPlanar = start.firstCodecID.map { $0 != DecoderDescription.software.id } ?? choice.decoder.hardware

        var properties = PropertyStore(backend: choice.decoder.hardware ? .vaapiDecoder : .libavcodec)
        properties.publish(.decoderID, .string(choice.decoder.id))
        properties.publish(.usingHardwareDecoder, .bool(choice.decoder.hardware))
        properties.publish(.usingGPURegistryID, choice.decoder.gpu.map(PropertyValue.string))
        properties.publish(.fallbackReason, choice.fallbackReason.map(PropertyValue.string))
        let notices = start.notices.joined(separator: "; ")
        properties.publish(.notices, notices.isEmpty ? nil : .string(notices))
        properties.publish(
            .pixelFormatOfFrames,
            .string(Self.pixelFormat(request, isSemiPlanar: isSemiPlanar).rawValue))
        let alpha = request.format.alpha
        properties.publish(.containsAlphaChannel, .bool(alpha != nil))
        properties.publish(.alphaChannelMode, alpha.map { .string($0.mode.rawValue) })
        properties.publish(.outputBitDepth, .int(Int64(request.format.bitDepth)))
        var session = DecompressionAdmission(request: request, properties: properties)
        try session.setProperties(parameters.properties ?? [:])
        self.session = session
        if request.isConverted, let format = request.pixelFormat {
            output = (try OutputColorRequest(session, format), format)
        } else {
            output = nil
        }
    }

    /// The pictures' format: the requested one, else the decoder's own.
    private static func pixelFormat(_ request: DecompressionRequest, isSemiPlanar: Bool) -> PixelFormat {
        request.pixelFormat
            ?? (isSemiPlanar ? request.format.semiPlanarFormat : request.format.planarFormat)
    }

    /// Opens the decoder that was chosen.
    func openDecoder(
        _ decoder: DecoderDescription, memory: any PictureMemory, session: DecompressionAdmission
    ) throws(SessionError) -> any PictureDecoder {
        var options = HEVCDecoder.Options()
        (options.isRealTime, options.threads) = session.options
        options.device = decoder.device
        options.target = session.request.decodedFormat
        // The reply to the first Create named the format: it stays the same when software takes over.
        options.isSemiPlanar = isSemiPlanar
        // A GPU that converts may read surfaces in place.
        options.keepsSurfaces = output != nil && !session.request.readsAlpha
        if session.request.readsAlpha {
            return try AlphaHEVCDecoder(session.request.format, options, memory: memory)
        }
        return try HEVCDecoder(session.request.format, options, memory: memory)
    }

    /// Handles a made-up call, which is refused late, while no client waits (`WorkerStartup.rehearsal`).
    static func rehearse() {
        let parameters = CreateDecompressionSession.Parameters(
            formatDescription: [1], timeBase: Rational(1), properties: [.realTime: .bool(false)])
        guard let assigned = WorkerStartup.rehearsal(CreateDecompressionSession.self, parameters) else { return }
        _ = try? SessionSetup(assigned.start, assigned.parameters)
    }

    /// The reply to the client.
    func reply(to start: WorkerStart) -> CreateDecompressionSession.Reply {
        let request = session.request
        var reply = CreateDecompressionSession.Reply(
            session: start.session, decoderID: choice.decoder.id, usingHardware: choice.decoder.hardware,
            width: request.format.width, height: request.format.height,
            pixelFormat: Self.pixelFormat(request, isSemiPlanar: isSemiPlanar).rawValue,
            maxPacketsInFlight: DecompressionAdmission.maxPacketsInFlight,
            maxFramesInFlight: DecompressionAdmission.maxFramesInFlight)
        (reply.fallbackReason, reply.priorityReason) = (choice.fallbackReason, start.realTime?.refusal)
        return reply
    }

    /// The report to the broker.
    var report: WorkerReport {
        .created(
            codecID: choice.decoder.id, usingHardware: choice.decoder.hardware,
            fallbackReason: choice.fallbackReason,
            pixelFormat: Self.pixelFormat(session.request, isSemiPlanar: isSemiPlanar).rawValue)
    }
}
