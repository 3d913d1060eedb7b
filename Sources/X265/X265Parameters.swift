// SPDX-License-Identifier: GPL-2.0-or-later
internal import CX265
internal import Model
internal import Sessions

/// x265's parameters, filled from a configuration; owns the memory.
final class X265Parameters {
    let pointer: UnsafeMutablePointer<x265_param>
    private let api: UnsafePointer<x265_api>

    init(api: UnsafePointer<x265_api>, _ configuration: EncoderConfiguration) throws(SessionError) {
        guard let pointer = api.pointee.param_alloc() else {
            throw SessionError(.allocationFailed, "no memory for x265's parameters")
        }
        self.pointer = pointer
        self.api = api
        // zerolatency: no B pictures, no look-ahead, one frame at a time (x265's documentation of --tune).
        let tune = configuration.realTime ? "zerolatency" : nil
        guard api.pointee.param_default_preset(pointer, configuration.x265Preset, tune) == 0 else {
            throw SessionError(.parameter, "x265 has no preset \(configuration.x265Preset)")
        }
        try Self.checkSize(configuration.request)
        fitCodingTreeUnits(configuration.request)
        setFormat(configuration)
        setStructure(configuration)
        setRate(configuration.rateControl)
        try pass(configuration.x265Options)
        guard api.pointee.param_apply_profile(pointer, configuration.profile == .main ? "main" : "main10") == 0
        else {
            throw SessionError(.parameter, "x265 cannot write \(configuration.profile.rawValue) with these options")
        }
    }

    deinit { api.pointee.param_free(pointer) }

    /// What libx265 3.5 takes: its smallest coding tree unit is 16x16, and 4:2:0 has no odd sizes.
    private static func checkSize(_ request: CompressionRequest) throws(SessionError) {
        guard request.width >= 16, request.height >= 16 else {
            throw SessionError(
                .parameter, "x265 needs at least 16x16 samples, the frames have \(request.width)x\(request.height)")
        }
        guard request.width % 2 == 0, request.height % 2 == 0 else {
            throw SessionError(
                .parameter, "4:2:0 frames of \(request.width)x\(request.height) are not supported: odd size")
        }
    }

    /// Presets choose coding tree units of 64x64 or 32x32, and libx265 3.5 opens for no picture smaller than one.
    private func fitCodingTreeUnits(_ request: CompressionRequest) {
        while pointer.pointee.maxCUSize > 16, Int(pointer.pointee.maxCUSize) > min(request.width, request.height) {
            pointer.pointee.maxCUSize /= 2
        }
        pointer.pointee.maxTUSize = min(pointer.pointee.maxTUSize, pointer.pointee.maxCUSize)
    }

    private func setFormat(_ configuration: EncoderConfiguration) {
        let request = configuration.request
        pointer.pointee.sourceWidth = Int32(request.width)
        pointer.pointee.sourceHeight = Int32(request.height)
        pointer.pointee.internalCsp = X265_CSP_I420
        pointer.pointee.sourceBitDepth = Int32(request.pixelFormat == .p010 ? 16 : request.pixelFormat.bitDepth)
        pointer.pointee.fpsNum = UInt32(configuration.frameRate.numerator)
        pointer.pointee.fpsDenom = UInt32(configuration.frameRate.denominator)

        let color = configuration.color
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
        pointer.pointee.bOpenGOP = configuration.allowOpenGOP ? 1 : 0
        // The session's own framing: lengths instead of start codes, parameter sets in the format description.
        pointer.pointee.bAnnexB = 0
        pointer.pointee.bRepeatHeaders = 0
        pointer.pointee.bEnableAccessUnitDelimiters = 0
        pointer.pointee.logLevel = X265_LOG_ERROR
    }

    private func setRate(_ rateControl: RateControl) {
        switch rateControl {
        case .quality(let quality):
            pointer.pointee.rc.rateControlMode = Int32(X265_RC_CRF.rawValue)
            pointer.pointee.rc.rfConstant = 40 - 38 * quality
        case .averageBitRate(let bitRate):
            pointer.pointee.rc.rateControlMode = Int32(X265_RC_ABR.rawValue)
            pointer.pointee.rc.bitrate = Int32(max(1, (bitRate + 500) / 1000))
        case .constantQP(let qp):
            pointer.pointee.rc.rateControlMode = Int32(X265_RC_CQP.rawValue)
            pointer.pointee.rc.qp = Int32(qp)
        }
    }

    private func pass(_ options: X265Options) throws(SessionError) {
        for option in options.options {
            switch api.pointee.param_parse(pointer, option.name, option.value) {
            case 0: continue
            case X265_PARAM_BAD_NAME:
                throw SessionError(.parameter, "X265Params: this x265 has no option \(option.name)")
            default:
                throw SessionError(
                    .parameter, "X265Params: \(option.name) does not take \(option.value ?? "being a bare switch")")
            }
        }
    }
}
