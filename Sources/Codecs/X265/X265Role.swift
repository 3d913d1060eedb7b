// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import HWDCoding
internal import HWDPolicy

/// The relation of an encoder to the encoder of another layer.
enum X265Role {
    /// The stream has one layer.
    case alone
    /// Codes the base layer, whose structure an alpha layer follows.
    case leader
    /// Codes the alpha layer; every frame declares the kind of its picture.
    case follower(X265Structure)

    /// x265's preset.
    ///
    /// Masks are simple, and a constant quantizer sets their quality, so presets slower than the fastest only cost time.
    func preset(for requested: String) -> String {
        guard case .follower = self else { return requested }
        return "ultrafast"
    }

    /// The quantizer of an alpha layer for `TargetQualityForAlpha`, 0…1.
    ///
    /// It needs no look-ahead and keeps the quality of noisy masks, which a constant rate factor reduces. Masks with soft edges
    /// have at least about 51 dB at 0.1, 61 dB at 0.5, 65 dB at 0.75 and 71 dB at 1 (docs/performance.md).
    static func alphaQP(quality: Double) -> Int {
        Int((quality < 0.75 ? 36 - 40 * quality : 24 - 24 * quality).rounded())
    }

    /// The client's options that apply; for an alpha layer only those about the CPU.
    func options(_ options: X265Options) -> [X265Options.Option] {
        guard case .follower = self else { return options.options }
        return options.options.filter { ["asm", "pools"].contains($0.name) }
    }

    /// Sets the parameters that the structure of both layers depends on.
    func apply(to parameters: UnsafeMutablePointer<x265_param>) {
        switch self {
        case .alone: return
        case .leader:
            // Every intra picture must be a key frame, because the follower codes all of them as key frames.
            parameters.pointee.keyframeMin = 1
        case .follower(let structure): structure.apply(to: parameters)
        }
    }
}

/// The parameters of an open encoder that another must share to code the same structure.
struct X265Structure {
    private let leader: x265_param

    init(_ leader: x265_param) { self.leader = leader }

    func apply(to parameters: UnsafeMutablePointer<x265_param>) {
        // The kind of every frame is specified, so x265 must not choose any, and must insert no key frames.
        parameters.pointee.bFrameAdaptive = 0
        parameters.pointee.scenecutThreshold = 0
        parameters.pointee.keyframeMax = -1
        parameters.pointee.keyframeMin = 1
        parameters.pointee.bframes = leader.bframes
        parameters.pointee.bBPyramid = leader.bBPyramid
        parameters.pointee.maxNumReferences = leader.maxNumReferences
        parameters.pointee.bOpenGOP = leader.bOpenGOP
        parameters.pointee.radl = leader.radl
        // The least that x265 accepts: one more than consecutive B pictures.
        parameters.pointee.lookaheadDepth = leader.bframes > 0 ? leader.bframes + 1 : 0
        parameters.pointee.lookaheadSlices = 0

        // Both layers' sizes are multiples of the smallest block; slices and wavefronts are the client's choice. Large
        // blocks suit masks, which are mostly flat.
        parameters.pointee.minCUSize = leader.minCUSize
        parameters.pointee.maxCUSize = Self.largestBlock(parameters.pointee)
        parameters.pointee.maxTUSize = min(parameters.pointee.maxTUSize, parameters.pointee.maxCUSize)
        // Stops evaluating splits of an intra block once they cost more than the unsplit block. On four kinds of masks this
        // adds no bits and halves the time of key frames.
        parameters.pointee.bEnableSplitRdSkip = 1
        parameters.pointee.bEnableWavefront = leader.bEnableWavefront
        parameters.pointee.maxSlices = leader.maxSlices
        parameters.pointee.frameNumThreads = leader.frameNumThreads

        // Alpha itself is not displayed: psychovisual tools would spend bits in the wrong places and disturb flat
        // areas.
        parameters.pointee.bEnableLoopFilter = 0
        parameters.pointee.rc.aqMode = Int32(X265_AQ_NONE)
        parameters.pointee.rc.cuTree = 0
        parameters.pointee.psyRd = 0
        parameters.pointee.psyRdoq = 0
        parameters.pointee.rc.ipFactor = 1.4
        parameters.pointee.rc.vbvMaxBitrate = 0
        parameters.pointee.rc.vbvBufferSize = 0
        parameters.pointee.bEmitInfoSEI = 0
        parameters.pointee.vui.bEnableVideoSignalTypePresentFlag = 1
        parameters.pointee.vui.bEnableVideoFullRangeFlag = 1
    }

    /// The largest coding tree block, of at most 64 samples, that is no larger than the picture.
    private static func largestBlock(_ parameters: x265_param) -> UInt32 {
        let side = UInt32(min(parameters.sourceWidth, parameters.sourceHeight))
        return [64, 32].first { $0 <= side } ?? 16
    }
}

extension PictureKind {
    /// x265's value (`X265_TYPE_…`).
    var x265Type: Int32 {
        switch self {
        case .idr: X265_TYPE_IDR
        case .intra: X265_TYPE_I
        case .predicted: X265_TYPE_P
        case .bidirectionalReference: X265_TYPE_BREF
        case .bidirectional: X265_TYPE_B
        }
    }

    /// The kind for x265's value; nil for values that describe no coded picture.
    init?(x265Type: Int32) {
        switch x265Type {
        case X265_TYPE_IDR: self = .idr
        case X265_TYPE_I: self = .intra
        case X265_TYPE_P: self = .predicted
        case X265_TYPE_BREF: self = .bidirectionalReference
        case X265_TYPE_B: self = .bidirectional
        default: return nil
        }
    }
}
