// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import HWDSessions

/// What an encoder is to another.
enum X265Role {
    /// Nothing: the stream has one layer.
    case alone
    /// The base layer's: an alpha layer makes the same pictures.
    case leader
    /// The alpha layer's: every frame comes with what its picture must become.
    case follower(X265Structure)

    /// x265's preset.
    ///
    /// Masks are simple pictures and get their quality by CRF: what slower presets would save of them is not worth their time.
    func preset(for wanted: String) -> String {
        guard case .follower = self, let index = PropertyTable.x265Presets.firstIndex(of: wanted),
            let most = PropertyTable.x265Presets.firstIndex(of: Self.slowestAlphaPreset)
        else { return wanted }
        return PropertyTable.x265Presets[min(index, most)]
    }

    private static let slowestAlphaPreset = "veryfast"

    /// The client's options that count: for an alpha layer only where its encoder runs.
    func options(_ options: X265Options) -> [X265Options.Option] {
        guard case .follower = self else { return options.options }
        return options.options.filter { ["asm", "pools"].contains($0.name) }
    }

    /// Settles what the structure of both layers depends on.
    func apply(to parameters: UnsafeMutablePointer<x265_param>) {
        switch self {
        case .alone: return
        case .leader:
            // Every intra picture is a key frame, as it will be in the other layer, which cannot tell them apart.
            parameters.pointee.keyframeMin = 1
        case .follower(let structure): structure.apply(to: parameters)
        }
    }
}

/// What the pictures of an open encoder are like, as far as another must have it to make the same of each frame.
struct X265Structure {
    private let leader: x265_param

    init(_ leader: x265_param) { self.leader = leader }

    func apply(to parameters: UnsafeMutablePointer<x265_param>) {
        // What a picture becomes is told: nothing is to be found out, and no key frame comes by itself.
        parameters.pointee.bFrameAdaptive = 0
        parameters.pointee.scenecutThreshold = 0
        parameters.pointee.keyframeMax = -1
        parameters.pointee.keyframeMin = 1
        parameters.pointee.bframes = leader.bframes
        parameters.pointee.bBPyramid = leader.bBPyramid
        parameters.pointee.maxNumReferences = leader.maxNumReferences
        parameters.pointee.bOpenGOP = leader.bOpenGOP
        parameters.pointee.radl = leader.radl
        // As few frames as x265 takes: more than B pictures in a row.
        parameters.pointee.lookaheadDepth = leader.bframes > 0 ? leader.bframes + 1 : 0

        // The layers' sizes are multiples of the smallest block, and slices and wavefronts are the client's wish.
        parameters.pointee.maxCUSize = leader.maxCUSize
        parameters.pointee.minCUSize = leader.minCUSize
        parameters.pointee.maxTUSize = min(parameters.pointee.maxTUSize, leader.maxTUSize)
        parameters.pointee.bEnableWavefront = leader.bEnableWavefront
        parameters.pointee.maxSlices = leader.maxSlices
        parameters.pointee.frameNumThreads = leader.frameNumThreads

        // A mask's values count as they are: no bits are moved to where an eye would look, and flat parts stay flat.
        parameters.pointee.rc.aqMode = Int32(X265_AQ_NONE)
        parameters.pointee.rc.cuTree = 0
        parameters.pointee.psyRd = 0
        parameters.pointee.psyRdoq = 0
        parameters.pointee.rc.vbvMaxBitrate = 0
        parameters.pointee.rc.vbvBufferSize = 0
        parameters.pointee.bEmitInfoSEI = 0
        parameters.pointee.vui.bEnableVideoSignalTypePresentFlag = 1
        parameters.pointee.vui.bEnableVideoFullRangeFlag = 1
    }
}

extension PictureKind {
    /// x265's number for it.
    var x265Type: Int32 {
        switch self {
        case .idr: X265_TYPE_IDR
        case .intra: X265_TYPE_I
        case .predicted: X265_TYPE_P
        case .bidirectionalReference: X265_TYPE_BREF
        case .bidirectional: X265_TYPE_B
        }
    }

    /// From x265's number; nil for one that is no picture's.
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
