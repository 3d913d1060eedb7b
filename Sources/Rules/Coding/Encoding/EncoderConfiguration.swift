// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
public import HWDPolicy

/// How the encoder chooses the bits or the quantization of a picture.
public enum RateControl: Hashable, Sendable {
    /// Constant quality, 0…1.
    case quality(Double)
    /// Long-term average in bits per second.
    case averageBitRate(Int64)
    /// Bits in every second.
    case constantBitRate(Int64)
    /// One quantization parameter.
    case constantQP(Int)

    /// The peak of an average bit rate, where no limit is set, as a multiple of it: enough for key frames, and no more
    /// than players buffer.
    public static let peakFactor: Int64 = 2

    /// x265's rate factor (CRF) for a quality.
    public static func rateFactor(_ quality: Double) -> Double { 40 - 38 * quality }

    /// The target quality of hardware for a quality, on the scale of x265's rate factor: 1, the best, to 51.
    public static func hardwareLevel(_ quality: Double) -> Int {
        min(max(Int(rateFactor(quality).rounded()), 1), 51)
    }
}

/// Everything that opening an encoder requires, resolved from the request and the properties.
public struct EncoderConfiguration: Hashable, Sendable {
    /// Size, time base, and the pixel format that the encoder gets.
    public var request: CompressionRequest
    /// How frames are converted to the request's format and size; nil for frames that are coded without conversion.
    public var conversion: FrameConversionSettings?
    public var profile: Profile
    /// Nil for a stream without alpha.
    public var alpha: AlphaSettings?
    /// Nil for the lowest level that holds the stream.
    public var level: Level?
    public var rateControl: RateControl
    /// A hard limit in addition to `rateControl`.
    public var dataRateLimit: DataRateLimit?
    /// The pass over the frames; nil where they are coded once.
    public var pass: CodingPass?
    /// Whether an average bit rate has a peak even if the encoder could do without one.
    public var limitsPeak = false
    /// Lowest quantization parameter; nil sets no bound.
    public var minQP: Int?
    /// Highest quantization parameter; nil sets no bound.
    public var maxQP: Int?
    /// Maximum frames from a key frame to the next; nil for the encoder's default.
    public var maxKeyFrameInterval: Int?
    /// Whether B pictures may be used.
    public var allowFrameReordering: Bool
    /// Whether key frames may be CRA pictures.
    public var allowOpenGOP: Bool
    /// Whether latency takes precedence over compression.
    public var realTime: Bool
    /// Whether speed takes precedence over compression.
    public var prioritizesSpeed: Bool
    /// Whether compression is preferred to speed: the property was set to false.
    public var prioritizesCompression: Bool
    /// Maximum frames that the encoder may hold; nil sets no bound.
    public var maxFrameDelay: Int?
    /// Frames of look-ahead; nil for the encoder's default.
    public var lookAhead: Int?
    /// Frames per second.
    public var frameRate: Rational
    /// With more than one level, `maxKeyFrameInterval` is set to a multiple of the levels' group.
    public var temporalLevels: TemporalLevels
    /// Maximum reference pictures of a picture; nil for the encoder's default.
    public var referenceCount: Int?
    /// Whether the encoder may adapt the quantization of blocks to their content.
    public var adaptsQPSpatially: Bool
    /// Whether coded pictures come with their mean squared error.
    public var measuresError: Bool
    /// The share of bits for temporal level 0; nil for the encoder's default.
    public var baseLevelFraction: Double?
    /// Written to the VUI.
    public var color: ColorDescription
    /// Written to the VUI; nil leaves it out.
    public var pixelAspectRatio: Rational?
    /// Whether frames hold the alternating lines of two fields.
    public var isInterlaced: Bool
    /// The order of the fields; nil where it is not known.
    public var fieldDetail: FieldDetail?
    /// Payload of SEI 137; nil writes none.
    public var masteringDisplay: [UInt8]?
    /// Payload of SEI 144; nil writes none.
    public var contentLight: [UInt8]?
    /// Payload of SEI 148; nil writes none.
    public var ambientViewing: [UInt8]?
    /// Which HDR metadata of frames are written.
    public var frameMetadata: FrameMetadataRules
    public var x265Preset: String
    /// Options passed to x265 as they are.
    public var x265Options: X265Options

    /// Resolves the properties.
    ///
    /// - Throws: `Parameter` when properties contradict each other or the request; the reason names them.
    public init(request: CompressionRequest, properties: PropertyStore) throws(SessionError) {
        try PropertyValidation.check(request: request, properties: properties)
        let requested = properties.string(.profileLevel).flatMap(ProfileLevel.init(name:))
        profile = requested?.profile ?? Profile(holding: request.bitDepth)
        alpha = request.hasAlpha ? AlphaSettings(properties) : nil
        level = requested?.level
        frameRate = properties.value(.expectedFrameRate).flatMap(PropertyText.frameRate) ?? Rational(30)
        let coded = PaddedSize(request)
        try level?.validate(width: coded.width, height: coded.height, frameRate: frameRate)

        rateControl = RateControl(properties)
        pass = properties.string(.multiPassStorage).flatMap(CodingPass.init)
        dataRateLimit = properties.value(.dataRateLimits).flatMap(PropertyText.dataRateLimits)
        minQP = properties.integer(.minAllowedFrameQP).map(Int.init)
        maxQP = properties.integer(.maxAllowedFrameQP).map(Int.init)

        realTime = properties.bool(.realTime) ?? false
        allowOpenGOP = properties.bool(.allowOpenGOP) ?? true
        maxFrameDelay = properties.integer(.maxFrameDelayCount).map(Int.init)
        lookAhead = properties.integer(.suggestedLookAheadFrameCount).map(Int.init)
        maxKeyFrameInterval = Self.keyFrameInterval(properties)
        allowFrameReordering = properties.bool(.allowFrameReordering) ?? true
        if realTime || maxKeyFrameInterval == 1 || request.maxReorder == 0 { allowFrameReordering = false }
        temporalLevels = try Self.temporalLevels(properties, frameRate)
        baseLevelFraction = properties.number(.baseLayerBitRateFraction)
        referenceCount = properties.integer(.referenceBufferCount).map(Int.init)
        adaptsQPSpatially = properties.integer(.spatialAdaptiveQPLevel) != 0
        measuresError = properties.bool(.calculateMeanSquaredError) ?? false

        self.request = request
        color = Self.color(request, properties)
        conversion = FrameConversionSettings(request, properties, coded: color)
        if request.pixelFormat.isRGB {
            self.request.pixelFormat = request.hasAlpha ? .yuva : profile.bitDepth > 8 ? .p010 : .nv12
        }
        pixelAspectRatio = properties.string(.pixelAspectRatio).flatMap(PropertyText.aspectRatio)
        fieldDetail = properties.string(.fieldDetail).flatMap(FieldDetail.init)
        isInterlaced = fieldDetail != nil || properties.integer(.fieldCount) == 2
        if properties.string(.hdrMetadataInsertionMode) != "None" {
            masteringDisplay = properties.string(.masteringDisplayColorVolume).flatMap(Hexadecimal.bytes)
            contentLight = properties.string(.contentLightLevelInfo).flatMap(Hexadecimal.bytes)
            ambientViewing = properties.string(.ambientViewingEnvironment).flatMap(Hexadecimal.bytes)
        }
        frameMetadata = FrameMetadataRules(properties)
        let speed = properties.isSet(.prioritizeSpeed) ? properties.bool(.prioritizeSpeed) : nil
        (prioritizesSpeed, prioritizesCompression) = (speed == true, speed == false)
        x265Preset = Self.x265Preset(properties, prioritizesSpeed: speed)
        x265Options = try X265Options(parsing: properties.string(.x265Params) ?? "")
        try alignKeyFrames(request, properties)
    }

    /// The preset that is set, or the one for the priority, which is nil where none is set.
    private static func x265Preset(_ properties: PropertyStore, prioritizesSpeed: Bool?) -> String {
        if prioritizesSpeed == true { return "veryfast" }
        let standard = properties.string(.x265Preset) ?? "medium"
        return prioritizesSpeed == false && !properties.isSet(.x265Preset) ? "slow" : standard
    }

    /// Rounds the key frame interval down to a multiple of the temporal levels' anchor distance, after checking the properties
    /// that several levels exclude.
    private mutating func alignKeyFrames(
        _ request: CompressionRequest, _ properties: PropertyStore
    ) throws(SessionError) {
        if baseLevelFraction != nil { try PropertyValidation.checkShare(temporalLevels, properties) }
        guard temporalLevels.count > 1 else { return }
        let interval = maxKeyFrameInterval ?? PictureStructure.defaultKeyFrameInterval
        try PropertyValidation.check(temporalLevels, keyFrameInterval: interval, request, properties)
        // Each layer's encoder has half of the delay; `PictureStructure` bounds that of hardware.
        let maxDelay = properties.backend == .x265 ? maxFrameDelay.map { request.hasAlpha ? $0 / 2 : $0 } : nil
        // Longer groups reorder more than a stream may that was begun with shorter ones.
        if request.maxReorder ?? 2 > 1 {
            temporalLevels.lengthenGroups(keyFrameInterval: interval, maxDelay: maxDelay)
        }
        maxKeyFrameInterval = interval - interval % temporalLevels.anchorDistance
    }

    /// Frames from a key frame to the next.
    public var keyFrameInterval: Int { maxKeyFrameInterval ?? PictureStructure.defaultKeyFrameInterval }

    private static func keyFrameInterval(_ properties: PropertyStore) -> Int? {
        if properties.bool(.allowTemporalCompression) == false { return 1 }
        let interval = properties.integer(.maxKeyFrameInterval) ?? 0
        return interval > 0 ? Int(interval) : nil
    }

    private static func temporalLevels(
        _ properties: PropertyStore, _ frameRate: Rational
    ) throws(SessionError) -> TemporalLevels {
        guard let base = properties.value(.baseLayerFrameRate).flatMap(PropertyText.frameRate) else {
            return TemporalLevels(frameRate: frameRate)
        }
        guard properties.isSet(.expectedFrameRate) else {
            throw SessionError(
                .parameter, "BaseLayerFrameRate requires ExpectedFrameRate: set that before it or with it")
        }
        return try TemporalLevels(base: base, full: frameRate)
    }

    private static func color(_ request: CompressionRequest, _ properties: PropertyStore) -> ColorDescription {
        var color = ColorDescription(
            primaries: properties.codePoint(.colorPrimaries, ColorNames.primaries),
            transfer: properties.codePoint(.transferFunction, ColorNames.transfer),
            matrix: properties.codePoint(.yCbCrMatrix, ColorNames.matrix),
            isFullRange: properties.bool(.fullRangeVideo) ?? false,
            chromaLocation: properties.integer(.chromaLocation).map(UInt8.init(truncatingIfNeeded:)))
        guard !request.pixelFormat.isYCbCr else { return color }
        // RGB is converted to a known color space, BT.709 by default, and the stream signals it.
        let unspecified = ColorDescription.unspecified
        if color.primaries == unspecified { color.primaries = 1 }
        if color.transfer == unspecified { color.transfer = 1 }
        if color.matrix == unspecified { color.matrix = color.primaries == 9 ? 9 : 1 }
        return color
    }

    /// The bit rate in bits per second that the stream exceeds at most for a while; nil without a limit.
    public var bitRate: Int64? {
        if let limit = dataRateLimit { return Int64(Double(limit.bytes) * 8 / limit.seconds) }
        switch rateControl {
        case .averageBitRate(let bitRate): return limitsPeak ? RateControl.peakFactor * bitRate : bitRate
        case .constantBitRate(let bitRate): return bitRate
        case .quality, .constantQP: return nil
        }
    }
}

extension RateControl {
    /// The rate property that is set; `PropertyValidation` ensures that there is at most one.
    fileprivate init(_ properties: PropertyStore) {
        self =
            if let bitRate = properties.integer(.averageBitRate) {
                .averageBitRate(bitRate)
            } else if let bitRate = properties.integer(.constantBitRate) {
                .constantBitRate(bitRate)
            } else if let qp = properties.integer(.qp) {
                .constantQP(Int(qp))
            } else {
                .quality(properties.number(.quality) ?? PropertyTable.defaultQuality)
            }
    }
}
