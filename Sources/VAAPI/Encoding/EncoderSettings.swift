// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel
internal import HWDPolicy

/// Everything that an encoder is opened with: a session's configuration within the limits of driver and quirks.
struct EncoderSettings {
    let request: CompressionRequest
    private(set) var frameRate: Rational
    let size: CodedSize
    private(set) var structure: PictureStructure
    let tools: CodingTools
    private(set) var rate: RateSettings
    let syntax: StreamSyntax
    /// VPS, SPS and PPS as NAL units.
    let parameterSets: [[UInt8]]
    /// The `VA_ENC_PACKED_HEADER_…` bits that are used.
    let packedHeaders: UInt32
    /// One of `VA_RT_FORMAT_…`.
    let rtFormat: UInt32
    /// The format of surfaces: NV12 or P010.
    let fourcc: UInt32
    /// Whether frames may be written to surfaces in place.
    let mayDeriveImages: Bool
    /// The driver's quality level; nil where it has none.
    let qualityLevel: Int?
    /// Whether a coded segment's status is set by the driver.
    let hasCodedStatus: Bool
    /// Whether the decoder's buffer must precede rate control, and not follow it.
    let sendsBufferFirst: Bool
    /// A sentence for each deviation from the request.
    private(set) var notes: [String]
    /// Why a frame's BaseFrameQP has no effect; nil where it has.
    let frameQPNotice: String?

    /// - Throws: a limitation of the driver; never transient.
    init(_ configuration: EncoderConfiguration, _ driver: DriverLimits) throws(VAAPIFailure) {
        let (path, attributes, sizes) = (driver.path, driver.attributes, driver.sizes)
        let adjustments = Adjustments(values: path.adjustments)
        var notes: [String] = []
        request = configuration.request
        frameRate = configuration.frameRate
        guard attributes.hasRTFormat(path.vaRTFormat), let format = ConfigAttributes.rtFormat(path.vaRTFormat)
        else {
            throw Self.cannot("the driver has no \(path.vaRTFormat) surfaces for \(path.vaProfile)")
        }
        rtFormat = format
        fourcc = configuration.profile.bitDepth > 8 ? hwd_va_fourcc_p010() : hwd_va_fourcc_nv12()

        let headers = Self.headers(attributes, adjustments)
        packedHeaders = headers & UInt32(Self.usefulHeaders)
        let takesSliceHeaders = headers & UInt32(VA_ENC_PACKED_HEADER_SLICE) != 0
        rate = try RateSettings(
            configuration, mask: Self.rateControls(attributes, adjustments), notes: &notes)
        frameQPNotice = Self.frameQPNotice(rate, adjustments)
        rate.sharesQP = rate.isConstantQP && frameQPNotice != nil
        tools = CodingTools(
            attributes.encoding, adjustments, usesCUQPDelta: !rate.isConstantQP, isHeaderless: !takesSliceHeaders)
        size = Self.size(configuration.request, tools, adjustments, sizes)
        try Self.checkSize(size, attributes, sizes)

        let limits = Self.limits(path, attributes, adjustments, takesSliceHeaders: takesSliceHeaders)
        structure = PictureStructure(configuration, limits: limits)
        try Self.checkLevels(configuration, path, structure, limits, takesSliceHeaders: takesSliceHeaders)
        notes += Self.notes(configuration, structure, rate) + Self.boundNotes(configuration, rate, adjustments)
        syntax = StreamSyntax(
            configuration, size: size, structure: structure, tools: tools, initialQP: rate.initialQP,
            bitRate: rate.bitsPerSecond > 0 ? Int64(rate.bitsPerSecond) : nil)
        do throws(BitstreamError) {
            parameterSets = try syntax.parameterSets()
        } catch { throw Self.cannot("the parameter sets cannot be written: \(error.reason)") }
        mayDeriveImages = adjustments.isSet("derive_image") ?? true
        hasCodedStatus = adjustments.isSet("coded_status") ?? true
        sendsBufferFirst = adjustments.isSet("hrd_first") ?? false
        qualityLevel = Self.qualityLevel(configuration, attributes.encoding, adjustments)
        self.notes = notes
    }

    /// The requests that the structure and the driver do not honor.
    private static func notes(
        _ configuration: EncoderConfiguration, _ structure: PictureStructure, _ rate: RateSettings
    ) -> [String] {
        var notes: [String] = []
        if configuration.maxKeyFrameInterval != 1, structure.keyFrameInterval == 1 {
            notes.append("the driver codes without references: every picture is a key frame")
        } else if let count = configuration.referenceCount, structure.keyFrameInterval > 1,
            structure.maxReferences < count
        {
            notes.append(
                "ReferenceBufferCount \(count): pictures have at most \(structure.maxReferences) references")
        }
        if rate.sharesQP, structure.keyFrameInterval > 1 {
            let name = if case .constantQP = configuration.rateControl { "QP" } else { "Quality" }
            notes.append("\(name): the driver codes key frames and other pictures with the same QP, \(rate.baseQP)")
        }
        // With a constant QP the stream has no cu_qp_delta.
        if !configuration.adaptsQPSpatially, !rate.isConstantQP {
            notes.append("SpatialAdaptiveQPLevel: the driver chooses the quantization of blocks")
        }
        if configuration.measuresError { notes.append("CalculateMeanSquaredError: the driver does not measure it") }
        return notes
    }

    /// These settings with the rate, the frame rate and the key frame interval of others, which an open encoder can change
    /// between two pictures; nil if the others differ in anything else or need another level.
    func changed(to other: EncoderSettings) -> EncoderSettings? {
        var next = self
        next.structure.keyFrameInterval = other.structure.keyFrameInterval
        guard next.structure == other.structure,
            (structure.keyFrameInterval > 1) == (other.structure.keyFrameInterval > 1),
            rate.mode == other.rate.mode, takesQP(of: other), (rate.bufferBits > 0) == (other.rate.bufferBits > 0),
            tools == other.tools, size == other.size, qualityLevel == other.qualityLevel,
            syntax.sps.profileTierLevel.covers(other.syntax.sps.profileTierLevel)
        else { return nil }
        // The parameter sets stay: their initial QP is only what slice QPs are relative to.
        (next.rate, next.frameRate, next.notes) = (other.rate, other.frameRate, other.notes)
        return next
    }

    /// Whether the driver takes the QP or its bounds from the open encoder's next picture: one that ignores those of a single
    /// picture reads them with another bit rate only.
    private func takesQP(of other: EncoderSettings) -> Bool {
        guard frameQPNotice != nil, rate.targetBitsPerSecond == other.rate.targetBitsPerSecond else { return true }
        return !rate.isConstantQP && (rate.minQP, rate.maxQP) == (other.rate.minQP, other.rate.maxQP)
            || rate.isConstantQP && (!rate.sharesQP || rate.baseQP == other.rate.baseQP)
    }

    /// The packed headers that driver and quirks allow.
    private static func headers(_ attributes: ConfigAttributes, _ adjustments: Adjustments) -> UInt32 {
        let allowed = adjustments.names("packed_headers").map(ConfigAttributes.packedHeaders) ?? .max
        return attributes.packedHeaders & allowed
    }

    /// The `VA_RC_…` bits that driver and quirks allow.
    private static func rateControls(_ attributes: ConfigAttributes, _ adjustments: Adjustments) -> UInt32 {
        let excluded = adjustments.names("exclude_rate_control").map(ConfigAttributes.rateControls) ?? 0
        return attributes.rateControl & ~excluded
    }

    private static func limits(
        _ path: HardwarePath, _ attributes: ConfigAttributes, _ adjustments: Adjustments, takesSliceHeaders: Bool
    ) -> ReferenceLimits {
        var limits = ReferenceLimits(attributes.encoding, adjustments)
        if !path.features.contains(.bFrames) { limits.allowsFuture = false }
        if !takesSliceHeaders {
            // The driver writes the slice headers, and their reference picture sets contain the previous picture alone.
            limits.list0 = min(limits.list0, 1)
            limits.allowsFuture = false
        }
        return limits
    }

    private static func checkSize(
        _ size: CodedSize, _ attributes: ConfigAttributes, _ sizes: SurfaceSizes?
    ) throws(VAAPIFailure) {
        let maxWidth = min(attributes.maxWidth ?? .max, sizes?.maximum.width ?? .max)
        let maxHeight = min(attributes.maxHeight ?? .max, sizes?.maximum.height ?? .max)
        guard size.width <= maxWidth, size.height <= maxHeight else {
            throw cannot("the driver codes at most \(maxWidth)x\(maxHeight), not \(size.width)x\(size.height)")
        }
    }

    /// Throws where the session's temporal levels are not possible: a driver that writes slice headers chooses the
    /// references itself, and one with few references cannot keep those of every level.
    private static func checkLevels(
        _ configuration: EncoderConfiguration, _ path: HardwarePath, _ structure: PictureStructure,
        _ limits: ReferenceLimits, takesSliceHeaders: Bool
    ) throws(VAAPIFailure) {
        let count = configuration.temporalLevels.count
        guard count > 1 else { return }
        guard path.features.contains(.temporalLayers), takesSliceHeaders else {
            throw cannot("no temporal levels: the driver writes the slice headers")
        }
        guard structure.temporalLevels == count else {
            throw cannot("no \(count) temporal levels: the driver keeps too few references, \(limits.total)")
        }
    }

    private static let usefulHeaders =
        VA_ENC_PACKED_HEADER_SEQUENCE | VA_ENC_PACKED_HEADER_PICTURE | VA_ENC_PACKED_HEADER_SLICE

    /// The least side in luma samples, where drivers do not report one.
    private static let minSide = 16

    /// The coded size: whole coding blocks, aligned and bounded as driver and quirks require.
    private static func size(
        _ request: CompressionRequest, _ tools: CodingTools, _ adjustments: Adjustments, _ sizes: SurfaceSizes?
    ) -> CodedSize {
        let block = 1 << tools.log2MinCBSize
        let least = sizes?.minimum ?? (width: 1, height: 1)
        return CodedSize(
            request,
            alignment: (
                max(block, adjustments.number("align_width") ?? 0),
                max(block, adjustments.number("align_height") ?? 0)
            ),
            minimum: (
                max(minSide, least.width, adjustments.number("min_width") ?? 0),
                max(minSide, least.height, adjustments.number("min_height") ?? 0)
            ))
    }

    private static func cannot(_ reason: String) -> VAAPIFailure {
        VAAPIFailure(SessionError(.couldNotFindVideoEncoder, reason))
    }
}
