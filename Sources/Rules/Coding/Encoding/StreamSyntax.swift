// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC
internal import HWDModel
internal import HWDPolicy

/// The parameter sets and slice headers that the session writes itself, as it does for hardware encoders.
public struct StreamSyntax: Sendable {
    public let vps: VideoParameterSet
    public let sps: SequenceParameterSet
    public let pps: PictureParameterSet
    public let structure: PictureStructure
    public let tools: CodingTools
    private let sets: ParameterSets

    /// Makes the parameter sets of a session.
    ///
    /// - Parameters:
    ///   - initialQP: the base of slice_qp_delta, 0…51.
    ///   - bitRate: the limit in bits per second, which determines level and tier; nil without a limit.
    public init(
        _ configuration: EncoderConfiguration, size: CodedSize, structure: PictureStructure, tools: CodingTools,
        initialQP: Int = 26, bitRate: Int64? = nil
    ) {
        self.structure = structure
        self.tools = tools
        let tier = ProfileTierLevel(configuration, size: size, structure: structure, bitRate: bitRate)
        vps = VideoParameterSet(structure: structure, tier: tier)
        sps = SequenceParameterSet(configuration, size: size, structure: structure, tools: tools, tier: tier)
        pps = PictureParameterSet(tools: tools, initialQP: initialQP)
        var sets = ParameterSets()
        sets.add(vps)
        sets.add(sps)
        sets.add(pps)
        self.sets = sets
    }

    /// The VPS, SPS and PPS as NAL units.
    public func parameterSets() throws(BitstreamError) -> [[UInt8]] {
        [try vps.nalUnit(), try sps.nalUnit(), try pps.nalUnit()]
    }

    /// The header of a picture's only slice.
    ///
    /// - Parameter qp: SliceQpY (H.265 7-54).
    public func sliceHeader(of picture: PlannedPicture, qp: Int) -> SliceSegmentHeader {
        var header = SliceSegmentHeader(
            NALUnitHeader(picture.nalUnitType, nuhTemporalIDPlus1: picture.temporalID + 1))
        header.sliceType = picture.sliceType
        header.slicePicOrderCntLsb = picture.poc & (sps.maxPicOrderCntLsb - 1)
        if picture.kind != .idr {
            var references = SliceReferences()
            references.shortTermRefPicSet = picture.referencePictureSet
            header.references = references
            header.sliceTemporalMvpEnabledFlag = tools.usesTemporalMVP && !picture.isIntra
        }
        header.sliceSaoLumaFlag = tools.usesSAO
        header.sliceSaoChromaFlag = tools.usesSAO
        if !picture.isIntra {
            header.numRefIdxL0ActiveMinus1 = picture.list0.count - 1
            header.numRefIdxL1ActiveMinus1 = max(0, picture.list1.count - 1)
            header.numRefIdxActiveOverrideFlag =
                header.numRefIdxL0ActiveMinus1 != pps.numRefIdxL0DefaultActiveMinus1
                || header.numRefIdxL1ActiveMinus1 != pps.numRefIdxL1DefaultActiveMinus1
        }
        header.sliceQpDelta = qp - 26 - pps.initQpMinus26
        header.sliceLoopFilterAcrossSlicesEnabledFlag = true
        return header
    }

    /// The first bytes of a slice's NAL unit: the header up to and including `byte_alignment()`, with emulation
    /// prevention, without a start code.
    public func nalUnitStart(_ header: SliceSegmentHeader) throws(BitstreamError) -> [UInt8] {
        try SliceSegment(sliceHeader: header, data: []).nalUnit(parameterSets: sets)
    }
}

extension ProfileTierLevel {
    /// The session's profile, and the configured level or the lowest that holds the stream.
    fileprivate init(
        _ configuration: EncoderConfiguration, size: CodedSize, structure: PictureStructure, bitRate: Int64?
    ) {
        self.init()
        let level =
            configuration.level
            ?? Level.needed(
                width: size.width, height: size.height, frameRate: configuration.frameRate, bitRate: bitRate)
        generalLevelIdc = 3 * level.number
        var profile = ProfileTier()
        // A.3.2, A.3.3: a Main stream conforms to Main 10, too.
        profile.profileIdc = configuration.profile == .main ? 1 : 2
        profile.profileCompatibilityFlags = configuration.profile == .main ? 3 << 29 : 1 << 29
        profile.progressiveSourceFlag = true
        profile.frameOnlyConstraintFlag = true
        profile.tierFlag = level.needsHighTier(bitRate)
        general = profile
        if structure.temporalLevels > 1 {
            let levels = configuration.temporalLevels.levelIdcs(
                general: generalLevelIdc, width: size.width, height: size.height, bitRate: bitRate)
            subLayers = levels.map { SubLayerProfileTierLevel(levelIdc: $0) }
        }
    }
}

extension VideoParameterSet {
    fileprivate init(structure: PictureStructure, tier: ProfileTierLevel) {
        self.init()
        vpsMaxSubLayersMinus1 = structure.temporalLevels - 1
        profileTierLevel = tier
        orderingInfo = SubLayerOrderingInfo(subLayers: structure.subLayers)
    }
}

extension SequenceParameterSet {
    fileprivate init(
        _ configuration: EncoderConfiguration, size: CodedSize, structure: PictureStructure, tools: CodingTools,
        tier: ProfileTierLevel
    ) {
        self.init()
        spsMaxSubLayersMinus1 = structure.temporalLevels - 1
        spsTemporalIdNestingFlag = true
        profileTierLevel = tier
        orderingInfo = SubLayerOrderingInfo(subLayers: structure.subLayers)
        picWidthInLumaSamples = size.width
        picHeightInLumaSamples = size.height
        if size.width != size.shownWidth || size.height != size.shownHeight {
            conformanceWindow = WindowOffsets(
                right: (size.width - size.shownWidth) / 2, bottom: (size.height - size.shownHeight) / 2)
        }
        bitDepthLumaMinus8 = configuration.profile.bitDepth - 8
        bitDepthChromaMinus8 = configuration.profile.bitDepth - 8
        // 8 bits: POC differences stay far below 128.
        log2MaxPicOrderCntLsbMinus4 = 4
        apply(tools)
        vuiParameters = VUIParameters(configuration)
    }

    private mutating func apply(_ tools: CodingTools) {
        log2MinLumaCodingBlockSizeMinus3 = tools.log2MinCBSize - 3
        log2DiffMaxMinLumaCodingBlockSize = tools.log2CTBSize - tools.log2MinCBSize
        log2MinLumaTransformBlockSizeMinus2 = tools.log2MinTBSize - 2
        log2DiffMaxMinLumaTransformBlockSize = tools.log2MaxTBSize - tools.log2MinTBSize
        maxTransformHierarchyDepthInter = tools.transformDepthInter
        maxTransformHierarchyDepthIntra = tools.transformDepthIntra
        ampEnabledFlag = tools.usesAMP
        sampleAdaptiveOffsetEnabledFlag = tools.usesSAO
        spsTemporalMvpEnabledFlag = tools.usesTemporalMVP
        strongIntraSmoothingEnabledFlag = tools.usesStrongIntraSmoothing
    }
}

extension PictureParameterSet {
    fileprivate init(tools: CodingTools, initialQP: Int) {
        self.init()
        initQpMinus26 = initialQP - 26
        signDataHidingEnabledFlag = tools.usesSignDataHiding
        transformSkipEnabledFlag = tools.usesTransformSkip
        constrainedIntraPredFlag = tools.usesConstrainedIntra
        if tools.usesCUQPDelta { diffCuQpDeltaDepth = tools.log2CTBSize - tools.log2MinCBSize }
        ppsLoopFilterAcrossSlicesEnabledFlag = true
    }
}

extension VUIParameters {
    /// Color, sample aspect ratio and frame timing of a session.
    public init(_ configuration: EncoderConfiguration) {
        self.init()
        if let aspect = configuration.pixelAspectRatio {
            // EXTENDED_SAR (H.265 table E.1): the ratio itself.
            aspectRatioIdc = 255
            sampleAspectRatio = SampleAspectRatio(width: Int(aspect.numerator), height: Int(aspect.denominator))
        }
        let color = configuration.color
        if color.isSpecified || color.isFullRange {
            var type = VideoSignalType()
            type.videoFullRangeFlag = color.isFullRange
            if color.isSpecified {
                type.colourDescription = VUIColorDescription(
                    colourPrimaries: Int(color.primaries), transferCharacteristics: Int(color.transfer),
                    matrixCoeffs: Int(color.matrix))
            }
            videoSignalType = type
        }
        if let location = color.chromaLocation {
            chromaSampleLocation = ChromaSampleLocation(topField: Int(location), bottomField: Int(location))
        }
        timingInfo = TimingInfo(
            numUnitsInTick: Int(configuration.frameRate.denominator),
            timeScale: Int(configuration.frameRate.numerator))
    }
}
