// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import Glibc
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy

/// x265's parameters, filled from a configuration; owns the memory.
final class X265Parameters {
    let pointer: UnsafeMutablePointer<x265_param>
    private let api: UnsafePointer<x265_api>
    private(set) var groups = GroupChoice.own

    /// - Parameter build: X265_BUILD of the libx265 that codes; nil for x265's own groups.
    init(
        api: UnsafePointer<x265_api>, _ configuration: EncoderConfiguration, role: X265Role = .alone,
        build: Int? = X265Library.build
    ) throws(SessionError) {
        guard let pointer = api.pointee.param_alloc() else {
            throw SessionError(.allocationFailed, "no memory for x265's parameters")
        }
        self.pointer = pointer
        self.api = api
        // zerolatency: no B pictures, no look-ahead, one frame at a time (x265's documentation of --tune).
        let tune = configuration.realTime ? "zerolatency" : nil
        let preset = role.preset(for: configuration.x265Preset)
        guard api.pointee.param_default_preset(pointer, preset, tune) == 0 else {
            throw SessionError(.parameter, "x265 has no preset \(preset)")
        }
        setFormat(configuration)
        setStructure(configuration)
        setLatency(configuration)
        setRate(configuration)
        setTools(configuration)
        try setHDR(configuration)
        try pass(role.options(configuration.x265Options))
        if configuration.baseLevelFraction != nil { enableQuantOffsets() }
        if let count = configuration.referenceCount { setReferences(Int32(count)) }
        role.apply(to: pointer)
        disableCUTreeForSmallPictures()
        guard api.pointee.param_apply_profile(pointer, configuration.profile == .main ? "main" : "main10") == 0
        else {
            throw SessionError(.parameter, "x265 cannot write \(configuration.profile.rawValue) with these options")
        }
        guard let build else { return }
        groups = GroupChoice.of(configuration, role, pointer.pointee, build: build)
        if let structure = groups.structure {
            enableQuantOffsets()
            structure.apply(to: pointer)
        }
    }

    deinit { api.pointee.param_free(pointer) }

    /// Makes the encoder write or read the statistics of two passes.
    func use(_ statistics: X265Statistics, in pass: CodingPass) throws(SessionError) {
        try set("pass", pass == .first ? "1" : "2")
        try set("stats", statistics.name)
    }

    private func set(_ name: String, _ value: String) throws(SessionError) {
        guard api.pointee.param_parse(pointer, name, value) == 0 else {
            throw SessionError(.videoEncoderMalfunction, "this libx265 does not take \(name)=\(value)")
        }
    }

    /// Opens an encoder; x265 returns no reason when it does not: its checks refuse the parameters, or memory ran out.
    func openEncoder(_ configuration: EncoderConfiguration) throws(SessionError) -> OpaquePointer {
        errno = 0
        if let encoder = api.pointee.encoder_open(pointer) { return encoder }
        guard errno != ENOMEM else { throw SessionError(.allocationFailed, "x265 does not open") }
        throw SessionError(
            .parameter,
            "x265 does not open for \(configuration.request.width)x\(configuration.request.height) "
                + "\(configuration.profile.rawValue); its own message is in the daemon's log")
    }

    private func setFormat(_ configuration: EncoderConfiguration) {
        let request = configuration.request
        let size = PaddedSize(request)
        pointer.pointee.sourceWidth = Int32(size.width)
        pointer.pointee.sourceHeight = Int32(size.height)
        // x265 refuses pictures smaller than one coding tree unit, whose size the preset sets.
        while pointer.pointee.maxCUSize > PaddedSize.minimum,
            Int(pointer.pointee.maxCUSize) > min(size.width, size.height)
        {
            pointer.pointee.maxCUSize /= 2
        }
        pointer.pointee.internalCsp = X265_CSP_I420
        pointer.pointee.sourceBitDepth = Int32(request.pixelFormat == .p010 ? 16 : request.pixelFormat.bitDepth)
        pointer.pointee.fpsNum = UInt32(configuration.frameRate.numerator)
        pointer.pointee.fpsDenom = UInt32(configuration.frameRate.denominator)

        if let level = configuration.level { pointer.pointee.levelIdc = Int32(level.number) }
        if let aspect = configuration.pixelAspectRatio {
            // EXTENDED_SAR (H.265 table E.1): width and height follow.
            pointer.pointee.vui.aspectRatioIdc = X265_EXTENDED_SAR
            pointer.pointee.vui.sarWidth = aspect.numerator
            pointer.pointee.vui.sarHeight = aspect.denominator
        }

        // Written into the pic_timing messages that x265 adds with HRD parameters.
        if let detail = configuration.fieldDetail { pointer.pointee.pictureStructure = Int32(detail.picStruct) }
        setColor(configuration.color)
    }

    private func setColor(_ color: ColorDescription) {
        if color.isSpecified || color.isFullRange {
            pointer.pointee.vui.bEnableVideoSignalTypePresentFlag = 1
            pointer.pointee.vui.bEnableVideoFullRangeFlag = color.isFullRange ? 1 : 0
            pointer.pointee.vui.bEnableColorDescriptionPresentFlag = color.isSpecified ? 1 : 0
            pointer.pointee.vui.colorPrimaries = Int32(color.primaries)
            pointer.pointee.vui.transferCharacteristics = Int32(color.transfer)
            pointer.pointee.vui.matrixCoeffs = Int32(color.matrix)
        }
        if let location = color.chromaLocation {
            pointer.pointee.vui.bEnableChromaLocInfoPresentFlag = 1
            pointer.pointee.vui.chromaSampleLocTypeTopField = Int32(location)
            pointer.pointee.vui.chromaSampleLocTypeBottomField = Int32(location)
        }
    }

    private func setStructure(_ configuration: EncoderConfiguration) {
        if let interval = configuration.maxKeyFrameInterval { pointer.pointee.keyframeMax = Int32(interval) }
        if !configuration.allowFrameReordering { pointer.pointee.bframes = 0 }
        if configuration.request.maxReorder == 1 { pointer.pointee.bBPyramid = 0 }
        pointer.pointee.bOpenGOP = configuration.allowOpenGOP ? 1 : 0
        setLevels(configuration)
        // NAL units have lengths instead of start codes; the parameter sets are in the format description.
        pointer.pointee.bAnnexB = 0
        pointer.pointee.bRepeatHeaders = 0
        pointer.pointee.bEnableAccessUnitDelimiters = 0
        pointer.pointee.logLevel = X265_LOG_ERROR
    }

    private func setTools(_ configuration: EncoderConfiguration) {
        if !configuration.adaptsQPSpatially { pointer.pointee.rc.aqMode = Int32(X265_AQ_NONE) }
        if configuration.measuresError {
            pointer.pointee.bEnablePsnr = 1
            // x265 (3.5, Encoder::configure) measures nothing that its log level does not let it print.
            pointer.pointee.logLevel = X265_LOG_INFO
        }
    }

    /// NumPocTotalCurr is at most 8 (H.265 7.4.7.2), which x265 compares with the references and the reordered pictures.
    private func setReferences(_ count: Int32) {
        let bFrames = pointer.pointee.bframes
        let reordered: Int32 = bFrames > 1 && pointer.pointee.bBPyramid != 0 ? 2 : min(bFrames, 1)
        pointer.pointee.maxNumReferences = min(count, 8 - reordered)
    }

    /// Makes all groups of pictures alike, as temporal levels require.
    ///
    /// With more than one reference a picture of level 0 would refer to earlier B pictures, which is right only where those
    /// that are references are of level 0 too. `LevelPlanner` handles groups that end early.
    private func setLevels(_ configuration: EncoderConfiguration) {
        let levels = configuration.temporalLevels
        guard levels.count > 1 else { return }
        let interval = Int32(configuration.maxKeyFrameInterval ?? 0)
        pointer.pointee.keyframeMax = interval
        pointer.pointee.keyframeMin = interval
        pointer.pointee.bframes = Int32(levels.anchorDistance - 1)
        pointer.pointee.bFrameAdaptive = X265_B_ADAPT_NONE
        pointer.pointee.bBPyramid = 1
        pointer.pointee.scenecutThreshold = 0
        pointer.pointee.bHistBasedSceneCut = 0
        // Even without a threshold x265's look-ahead (3.5, Lookahead::scenecutInternal) ends a group at a cut, where
        // inter prediction costs at least (1 − bias) times as much as intra; comparisons with NaN are false. Forcing types
        // would work too, but disables cu-tree's look-ahead.
        pointer.pointee.scenecutBias = .nan
        if levels.depthOfBase == 0 { pointer.pointee.maxNumReferences = 1 }
        // A longer look-ahead lets cu-tree see more than two groups. With it, x265's buffer control lets the seconds of a
        // constant rate differ by a third (measured).
        if case .constantBitRate = configuration.rateControl { return }
        pointer.pointee.lookaheadDepth = max(pointer.pointee.lookaheadDepth, Self.levelledLookAhead)
    }

    /// The least look-ahead with temporal levels, where neither the client nor its delay limits it.
    private static let levelledLookAhead: Int32 = 40

    /// Makes x265 apply the pictures' quantization offsets, which it does only with adaptive quantization: where that
    /// is off, it is enabled with a negligible strength.
    private func enableQuantOffsets() {
        guard pointer.pointee.rc.aqMode == X265_AQ_NONE || pointer.pointee.rc.aqStrength == 0 else { return }
        pointer.pointee.rc.aqMode = Int32(X265_AQ_VARIANCE)
        pointer.pointee.rc.aqStrength = 0.001
    }

    /// Avoids a buffer overflow in x265.
    ///
    /// The cu-tree of x265 up to 3.5 processes rows of a half-size picture in steps of four 8x8 blocks, in a buffer that is as
    /// long as a row, and writes past its end where a row has fewer blocks. glibc's `MALLOC_CHECK_=3` shows this, with
    /// x265's own program too, at every width up to 48 and at none above. Such pictures gain little from cu-tree.
    private func disableCUTreeForSmallPictures() {
        if pointer.pointee.sourceWidth <= 48 { pointer.pointee.rc.cuTree = 0 }
    }

    /// Bounds the number of frames that x265 delays.
    ///
    /// With one frame thread x265 3.5 delays as many frames as it looks ahead, plus its consecutive B pictures, plus 3, and
    /// one more on a busy machine where its look-ahead falls behind (measured; hence 5). Without look-ahead it delays none.
    /// `PropertyEffectTests` checks this.
    private func setLatency(_ configuration: EncoderConfiguration) {
        let levels = configuration.temporalLevels
        // A group must be ordered at once; EncoderConfiguration has checked that it fits into the delay.
        let least = levels.count > 1 ? levels.anchorDistance : 0
        if let lookAhead = configuration.lookAhead { pointer.pointee.lookaheadDepth = Int32(max(least, lookAhead)) }
        if let delay = configuration.maxFrameDelay {
            let budget = Int32(max(0, delay - 5 - levels.framesHeld))
            pointer.pointee.bframes = min(pointer.pointee.bframes, max(0, budget - 1) / 2)
            pointer.pointee.lookaheadDepth = min(pointer.pointee.lookaheadDepth, budget - pointer.pointee.bframes)
            pointer.pointee.frameNumThreads = 1
        }
        guard configuration.lookAhead != nil || configuration.maxFrameDelay != nil else { return }
        // x265 needs a look-ahead longer than its consecutive B pictures, and some look-ahead for adaptive B and cu-tree.
        let depth = pointer.pointee.lookaheadDepth
        pointer.pointee.bframes = min(pointer.pointee.bframes, max(0, depth - 1))
        if depth == 0 {
            pointer.pointee.bFrameAdaptive = 0
            pointer.pointee.scenecutThreshold = 0
            pointer.pointee.rc.cuTree = 0
        }
    }

    private func setRate(_ configuration: EncoderConfiguration) {
        switch configuration.rateControl {
        case .quality(let quality):
            pointer.pointee.rc.rateControlMode = Int32(X265_RC_CRF.rawValue)
            pointer.pointee.rc.rfConstant = RateControl.rateFactor(quality)
        case .averageBitRate(let bitRate):
            pointer.pointee.rc.rateControlMode = Int32(X265_RC_ABR.rawValue)
            pointer.pointee.rc.bitrate = Self.kilobits(bitRate)
            if configuration.limitsPeak { limitPeak(of: bitRate) }
        case .constantBitRate(let bitRate):
            pointer.pointee.rc.rateControlMode = Int32(X265_RC_ABR.rawValue)
            pointer.pointee.rc.bitrate = Self.kilobits(bitRate)
            pointer.pointee.rc.vbvMaxBitrate = Self.kilobits(bitRate)
            pointer.pointee.rc.vbvBufferSize = Self.kilobits(bitRate)
            pointer.pointee.rc.bStrictCbr = 1
        case .constantQP(let qp):
            pointer.pointee.rc.rateControlMode = Int32(X265_RC_CQP.rawValue)
            pointer.pointee.rc.qp = Int32(qp)
            if configuration.maxKeyFrameInterval == 1, configuration.temporalLevels.count == 1 { setStills() }
        }
        if let limit = configuration.dataRateLimit {
            pointer.pointee.rc.vbvMaxBitrate = Self.kilobits(Int64(Double(limit.bytes) * 8 / limit.seconds))
            pointer.pointee.rc.vbvBufferSize = Self.kilobits(limit.bytes * 8)
        }
        if let qp = configuration.minQP { pointer.pointee.rc.qpMin = Int32(qp) }
        if let qp = configuration.maxQP { pointer.pointee.rc.qpMax = Int32(qp) }
    }

    /// Makes key frames alone cost what they need, with the quantizer that was requested.
    ///
    /// x265 looks ahead for references that no picture has, and codes key frames with a QP that is 3 lower (ipratio).
    private func setStills() {
        pointer.pointee.rc.ipFactor = 1
        pointer.pointee.rc.cuTree = 0
        pointer.pointee.bframes = 0
        pointer.pointee.bFrameAdaptive = 0
        pointer.pointee.scenecutThreshold = 0
        pointer.pointee.lookaheadDepth = 0
    }

    /// Keeps the first second of a new encoder from exceeding the rate.
    ///
    /// x265's average rate control (3.5) learns the rate of the content from the first pictures and takes seconds to
    /// compensate for what they cost: on film grain, the first second has three times the rate. A buffer of half a second
    /// prevents that.
    private func limitPeak(of bitRate: Int64) {
        pointer.pointee.rc.vbvMaxBitrate = Self.kilobits(RateControl.peakFactor * bitRate)
        pointer.pointee.rc.vbvBufferSize = Self.kilobits(bitRate / 2)
    }

    /// Thousands of bits, x265's unit, at least 1.
    private static func kilobits(_ bits: Int64) -> Int32 { Int32(clamping: max(1, (bits + 500) / 1000)) }

    /// Static HDR metadata, converted from SEI payloads to x265's option texts.
    private func setHDR(_ configuration: EncoderConfiguration) throws(SessionError) {
        if let payload = configuration.masteringDisplay {
            try pass("master-display", HDRText.masteringDisplay(payload))
        }
        if let payload = configuration.contentLight { try pass("max-cll", HDRText.contentLight(payload)) }
    }

    private func pass(_ options: [X265Options.Option]) throws(SessionError) {
        for option in options { try pass(option.name, option.value) }
    }

    private func pass(_ name: String, _ value: String?) throws(SessionError) {
        switch api.pointee.param_parse(pointer, name, value) {
        case 0: return
        case X265_PARAM_BAD_NAME:
            throw SessionError(.parameter, "X265Params: this x265 has no option \(name)")
        default:
            throw SessionError(.parameter, "X265Params: \(name) does not take \(value ?? "an empty value")")
        }
    }
}
