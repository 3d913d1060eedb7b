// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDHEVC
internal import HWDModel
internal import HWDSessions

/// The quirks' numbers and switches, by kind.
struct Adjustments {
    let values: [String: PropertyValue]

    func number(_ name: String) -> Int? {
        guard case .int(let value)? = values[name], 0...65535 ~= value else { return nil }
        return Int(value)
    }

    func isSet(_ name: String) -> Bool? {
        guard case .bool(let value)? = values[name] else { return nil }
        return value
    }

    func names(_ name: String) -> [String]? {
        guard case .array(let list)? = values[name] else { return nil }
        return list.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    func numbers(_ name: String) -> [Int]? {
        guard case .array(let list)? = values[name] else { return nil }
        return list.compactMap { $0.number.map { Int($0) } }
    }
}

/// Everything an encoder is opened with: a session's wishes, brought to what driver and quirks allow.
struct EncoderSettings {
    let request: CompressionRequest
    let frameRate: Rational
    let size: CodedSize
    let structure: PictureStructure
    let tools: CodingTools
    let rate: RateSettings
    let syntax: StreamSyntax
    /// Its VPS, SPS and PPS as NAL units.
    let parameterSets: [[UInt8]]
    /// The `VA_ENC_PACKED_HEADER_…` bits that are used.
    let packedHeaders: UInt32
    /// One of `VA_RT_FORMAT_…`.
    let rtFormat: UInt32
    /// Of the surfaces: NV12 or P010.
    let fourcc: UInt32
    /// Whether frames may be written to surfaces in place.
    let mayDeriveImages: Bool
    /// The driver's level of quality; nil leaves it to the driver.
    let qualityLevel: Int?
    /// What is not exactly as asked for, a sentence each.
    let notes: [String]

    /// - Throws: what the driver cannot do; never transient.
    init(
        _ configuration: EncoderConfiguration, path: HardwarePath, attributes: ConfigAttributes,
        sizes: SurfaceSizes?
    ) throws(VAAPIFailure) {
        let adjustments = Adjustments(values: path.adjustments)
        var notes: [String] = []
        request = configuration.request
        frameRate = configuration.frameRate
        let isDeep = configuration.profile.bitDepth > 8
        guard attributes.hasRTFormat(path.vaRTFormat), let format = ConfigAttributes.rtFormat(path.vaRTFormat)
        else {
            throw Self.cannot("the driver has no \(path.vaRTFormat) surfaces for \(path.vaProfile)")
        }
        rtFormat = format
        fourcc = isDeep ? hwd_va_fourcc_p010() : hwd_va_fourcc_nv12()

        var headers = attributes.packedHeaders
        if let names = adjustments.names("packed_headers") { headers &= ConfigAttributes.packedHeaders(names) }
        packedHeaders = headers & UInt32(Self.usefulHeaders)

        var mask = attributes.rateControl
        if let names = adjustments.names("exclude_rate_control") { mask &= ~ConfigAttributes.rateControls(names) }
        rate = try RateSettings(configuration, mask: mask, notes: &notes)

        let takesSliceHeaders = headers & UInt32(VA_ENC_PACKED_HEADER_SLICE) != 0
        tools = CodingTools(
            attributes.encoding, adjustments, usesCUQPDelta: !rate.isConstantQP, isHeaderless: !takesSliceHeaders)
        size = Self.size(configuration.request, tools, adjustments, sizes)
        let most = (
            width: min(attributes.maxWidth ?? .max, sizes?.maximum.width ?? .max),
            height: min(attributes.maxHeight ?? .max, sizes?.maximum.height ?? .max)
        )
        guard size.width <= most.width, size.height <= most.height else {
            throw Self.cannot(
                "the driver codes at most \(most.width)x\(most.height), not \(size.width)x\(size.height)")
        }

        var limits = ReferenceLimits(attributes.encoding, adjustments)
        if !path.features.contains(.bFrames) { limits.allowsFuture = false }
        if !takesSliceHeaders {
            // The driver writes slice headers, and with them reference picture sets, of its own: the picture before.
            limits.list0 = min(limits.list0, 1)
            limits.allowsFuture = false
        }
        structure = PictureStructure(configuration, limits: limits)
        try Self.checkLevels(configuration, path, structure, limits, takesSliceHeaders: takesSliceHeaders)
        if configuration.maxKeyFrameInterval != 1, structure.keyFrameInterval == 1 {
            notes.append("the driver codes without references: every picture is a key frame")
        }
        syntax = StreamSyntax(
            configuration, size: size, structure: structure, tools: tools, initialQP: rate.initialQP,
            bitRate: rate.bitsPerSecond > 0 ? Int64(rate.bitsPerSecond) : nil)
        do throws(BitstreamError) {
            parameterSets = try syntax.parameterSets()
        } catch { throw Self.cannot("parameter sets that cannot be written: \(error.reason)") }
        mayDeriveImages = adjustments.isSet("derive_image") ?? true
        qualityLevel = Self.qualityLevel(configuration, attributes.encoding, adjustments)
        self.notes = notes
    }

    /// Throws where the session's temporal levels cannot be had: a driver that writes slice headers of its own keeps what
    /// it wants, and one with few references cannot keep a level's.
    private static func checkLevels(
        _ configuration: EncoderConfiguration, _ path: HardwarePath, _ structure: PictureStructure,
        _ limits: ReferenceLimits, takesSliceHeaders: Bool
    ) throws(VAAPIFailure) {
        let count = configuration.temporalLevels.count
        guard count > 1 else { return }
        guard path.features.contains(.temporalLayers), takesSliceHeaders else {
            throw cannot("no temporal levels: the driver writes slice headers of its own")
        }
        guard structure.temporalLevels == count else {
            throw cannot("no \(count) temporal levels: the driver keeps too few references, \(limits.total)")
        }
    }

    private static let usefulHeaders =
        VA_ENC_PACKED_HEADER_SEQUENCE | VA_ENC_PACKED_HEADER_PICTURE | VA_ENC_PACKED_HEADER_SLICE

    /// The size to code: whole coding blocks, and what the driver and its quirks want.
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
                max(16, least.width, adjustments.number("min_width") ?? 0),
                max(16, least.height, adjustments.number("min_height") ?? 0)
            ))
    }

    /// The driver's own choice, or its fastest where speed counts more.
    private static func qualityLevel(
        _ configuration: EncoderConfiguration, _ attributes: EncodingAttributes, _ adjustments: Adjustments
    ) -> Int? {
        guard configuration.prioritizesSpeed, let levels = attributes.qualityLevels, levels > 1 else { return nil }
        return adjustments.numbers("quality_levels")?.filter { $0 <= levels }.max() ?? levels
    }

    private static func cannot(_ reason: String) -> VAAPIFailure {
        VAAPIFailure(SessionError(.couldNotFindVideoEncoder, reason))
    }
}

extension ReferenceLimits {
    /// What the driver tells, less what quirks take away; one reference where it does not tell.
    init(_ attributes: EncodingAttributes, _ adjustments: Adjustments) {
        let list0 = min(attributes.list0 ?? 1, adjustments.number("max_references_l0") ?? 15)
        let list1 = min(attributes.list1 ?? 0, adjustments.number("max_references_l1") ?? 15)
        let requiresBoth =
            attributes.requiresBothLists || (adjustments.isSet("low_delay_b") ?? false && list1 > 0)
        self.init(
            list0: list0, list1: list1,
            total: min(
                requiresBoth ? max(list0, list1) : list0 + list1, adjustments.number("max_references") ?? 15),
            allowsFuture: attributes.allowsFuture ?? (list1 > 0), requiresLowDelayB: requiresBoth)
    }
}

extension CodingTools {
    /// What the driver offers and insists on; where it does not tell, what the first HEVC encoders of Intel took and
    /// every later driver still does.
    ///
    /// - Parameter isHeaderless: the driver writes all slice headers. Those are Mesa's, for AMD's blocks of 64.
    init(
        _ attributes: EncodingAttributes, _ adjustments: Adjustments, usesCUQPDelta wantsDelta: Bool,
        isHeaderless: Bool
    ) {
        self.init()
        log2CTBSize = isHeaderless ? 6 : 5
        if let sizes = attributes.blockSizes { log2CTBSize = min(max(sizes.log2CTBSizes.upperBound, 4), 6) }
        if let size = adjustments.number("ctb_size"), [16, 32, 64].contains(size) {
            log2CTBSize = size.trailingZeroBitCount
        }
        log2MaxTBSize = min(log2CTBSize, 5)
        if let sizes = attributes.blockSizes {
            log2MinCBSize = min(sizes.log2MinCBSize, log2CTBSize)
            log2MaxTBSize = min(sizes.log2TBSizes.upperBound, log2MaxTBSize)
            log2MinTBSize = min(sizes.log2TBSizes.lowerBound, log2MinCBSize - 1, log2MaxTBSize)
            transformDepthInter = min(sizes.depthsInter.upperBound, log2CTBSize - log2MinTBSize)
            transformDepthIntra = min(sizes.depthsIntra.upperBound, log2CTBSize - log2MinTBSize)
        }
        guard let features = attributes.features else {
            usesAMP = adjustments.isSet("amp") ?? true
            usesSAO = true
            usesCUQPDelta = wantsDelta || adjustments.isSet("cu_qp_delta") ?? false
            return
        }
        usesAMP = features.amp != .none || adjustments.isSet("amp") ?? false
        usesSAO = features.sao != .none
        usesTemporalMVP = features.temporalMVP != .none
        usesStrongIntraSmoothing = features.strongIntraSmoothing != .none
        usesSignDataHiding = features.signDataHiding != .none
        usesTransformSkip = features.transformSkip == .required
        usesConstrainedIntra = features.constrainedIntra == .required
        usesCUQPDelta =
            features.cuQPDelta == .required || (features.cuQPDelta == .optional && wantsDelta)
            || adjustments.isSet("cu_qp_delta") ?? false
    }
}
