// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// How many bits a picture gets.
public enum RateControl: Hashable, Sendable {
    /// 0…1.
    case quality(Double)
    /// Bits a second, in the long term.
    case averageBitRate(Int64)
    /// Bits a second, over every second.
    case constantBitRate(Int64)
    /// One quantisation parameter.
    case constantQP(Int)
}

/// Everything an encoder needs to know to open, resolved from the request and the properties.
public struct EncoderConfiguration: Hashable, Sendable {
    /// Size, time base, and the format that the encoder takes.
    public var request: CompressionRequest
    /// What frames in RGB are, and how they are converted to that format; nil where frames are coded as they come.
    public var conversion: FrameConversionSettings?
    /// The profile.
    public var profile: Profile
    /// What becomes of alpha; nil for a stream without.
    public var alpha: AlphaSettings?
    /// The level; nil leaves it to the stream.
    public var level: Level?
    /// How many bits.
    public var rateControl: RateControl
    /// A hard limit on top.
    public var dataRateLimit: DataRateLimit?
    /// Lowest quantisation parameter; nil sets no bound.
    public var minQP: Int?
    /// Highest quantisation parameter; nil sets no bound.
    public var maxQP: Int?
    /// Most frames from a key frame to the next; nil leaves it to the encoder.
    public var maxKeyFrameInterval: Int?
    /// Whether B pictures may be used.
    public var allowFrameReordering: Bool
    /// Whether key frames may be CRA pictures.
    public var allowOpenGOP: Bool
    /// Whether latency counts more than anything.
    public var realTime: Bool
    /// Whether speed counts more than compression.
    public var prioritizesSpeed: Bool
    /// Most frames the encoder may hold; nil sets no bound.
    public var maxFrameDelay: Int?
    /// Frames to look ahead; nil leaves it to the encoder.
    public var lookAhead: Int?
    /// Frames a second.
    public var frameRate: Rational
    /// Its temporal levels; with more than one `maxKeyFrameInterval` is set, to a multiple of their group.
    public var temporalLevels: TemporalLevels
    /// The part of the bits that level 0 of several gets; nil leaves it to the encoder.
    public var baseLevelFraction: Double?
    /// For the VUI.
    public var color: ColorDescription
    /// For the VUI; nil says nothing.
    public var pixelAspectRatio: Rational?
    /// Payload of SEI 137; nil writes none.
    public var masteringDisplay: [UInt8]?
    /// Payload of SEI 144; nil writes none.
    public var contentLight: [UInt8]?
    /// x265's preset.
    public var x265Preset: String
    /// x265's options, passed through.
    public var x265Options: X265Options

    /// Resolves the properties.
    ///
    /// - Throws: `Parameter` when properties contradict each other or the request; the reason names them.
    public init(request: CompressionRequest, properties: PropertyStore) throws(SessionError) {
        try PropertyValidation.check(request: request, properties: properties)
        self.request = request

        let asked = properties.string(.profileLevel).flatMap(ProfileLevel.init(name:))
        profile = asked?.profile ?? Profile(holding: request.bitDepth)
        alpha = request.hasAlpha ? AlphaSettings(properties) : nil
        level = asked?.level
        frameRate = properties.value(.expectedFrameRate).flatMap(PropertyText.frameRate) ?? Rational(30)
        let coded = PaddedSize(request)
        try level?.validate(width: coded.width, height: coded.height, frameRate: frameRate)

        x265Options = try X265Options(parsing: properties.string(.x265Params) ?? "")
        rateControl =
            if let bitRate = properties.integer(.averageBitRate) {
                .averageBitRate(bitRate)
            } else if let bitRate = properties.integer(.constantBitRate) {
                .constantBitRate(bitRate)
            } else if let qp = properties.integer(.qp) {
                .constantQP(Int(qp))
            } else {
                .quality(properties.number(.quality) ?? 0.5)
            }
        dataRateLimit = properties.value(.dataRateLimits).flatMap(PropertyText.dataRateLimits)
        minQP = properties.integer(.minAllowedFrameQP).map(Int.init)
        maxQP = properties.integer(.maxAllowedFrameQP).map(Int.init)

        let interval = properties.integer(.maxKeyFrameInterval) ?? 0
        maxKeyFrameInterval = interval > 0 ? Int(interval) : nil
        if properties.bool(.allowTemporalCompression) == false { maxKeyFrameInterval = 1 }
        realTime = properties.bool(.realTime) ?? false
        allowFrameReordering = properties.bool(.allowFrameReordering) ?? true
        if realTime || maxKeyFrameInterval == 1 { allowFrameReordering = false }
        allowOpenGOP = properties.bool(.allowOpenGOP) ?? true
        maxFrameDelay = properties.integer(.maxFrameDelayCount).map(Int.init)
        lookAhead = properties.integer(.suggestedLookAheadFrameCount).map(Int.init)
        temporalLevels = try Self.temporalLevels(properties, frameRate)
        baseLevelFraction = properties.number(.baseLayerBitRateFraction)
        if baseLevelFraction != nil { try PropertyValidation.checkShare(temporalLevels, properties) }
        if temporalLevels.count > 1 {
            let most = maxKeyFrameInterval ?? PictureStructure.defaultKeyFrameInterval
            try PropertyValidation.check(temporalLevels, keyFrameInterval: most, request, properties)
            maxKeyFrameInterval = most - most % temporalLevels.groupSize
        }

        color = ColorDescription(
            primaries: properties.codePoint(.colorPrimaries, ColorNames.primaries),
            transfer: properties.codePoint(.transferFunction, ColorNames.transfer),
            matrix: properties.codePoint(.yCbCrMatrix, ColorNames.matrix),
            isFullRange: properties.bool(.fullRangeVideo) ?? false,
            chromaLocation: properties.integer(.chromaLocation).map(UInt8.init(truncatingIfNeeded:)))
        if !request.pixelFormat.isYCbCr {
            // What is not told is BT.709's, and the stream says so.
            let unspecified = ColorDescription.unspecified
            if color.primaries == unspecified { color.primaries = 1 }
            if color.transfer == unspecified { color.transfer = 1 }
            if color.matrix == unspecified { color.matrix = color.primaries == 9 ? 9 : 1 }
            conversion = FrameConversionSettings(format: request.pixelFormat, properties)
            self.request.pixelFormat = request.hasAlpha ? .yuva : profile.bitDepth > 8 ? .p010 : .nv12
        }
        pixelAspectRatio = properties.string(.pixelAspectRatio).flatMap(PropertyText.aspectRatio)
        let insertsHDR = properties.string(.hdrMetadataInsertionMode) != "None"
        masteringDisplay =
            insertsHDR ? properties.string(.masteringDisplayColorVolume).flatMap(Hexadecimal.bytes) : nil
        contentLight = insertsHDR ? properties.string(.contentLightLevelInfo).flatMap(Hexadecimal.bytes) : nil

        prioritizesSpeed = properties.bool(.prioritizeSpeed) ?? false
        x265Preset = prioritizesSpeed ? "veryfast" : properties.string(.x265Preset) ?? "medium"
    }

    private static func temporalLevels(
        _ properties: PropertyStore, _ frameRate: Rational
    ) throws(SessionError) -> TemporalLevels {
        guard let base = properties.value(.baseLayerFrameRate).flatMap(PropertyText.frameRate) else {
            return TemporalLevels(frameRate: frameRate)
        }
        guard properties.isSet(.expectedFrameRate) else {
            throw SessionError(
                .parameter, "BaseLayerFrameRate is a part of ExpectedFrameRate: set that too, before or with it")
        }
        return try TemporalLevels(base: base, full: frameRate)
    }

    /// Bits a second that the stream never or only for a while exceeds; nil where nothing bounds it.
    public var bitRate: Int64? {
        if let limit = dataRateLimit { return Int64(Double(limit.bytes) * 8 / limit.seconds) }
        switch rateControl {
        case .averageBitRate(let bitRate), .constantBitRate(let bitRate): return bitRate
        case .quality, .constantQP: return nil
        }
    }
}
