// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC
internal import HWDModel

/// The parameter sets and slice headers of a stream whose syntax is ours: those of hardware encoders.
public struct StreamSyntax: Sendable {
    /// The VPS.
    public let vps: VideoParameterSet
    /// The SPS.
    public let sps: SequenceParameterSet
    /// The PPS.
    public let pps: PictureParameterSet
    /// How pictures depend on each other.
    public let structure: PictureStructure
    /// Blocks and tools.
    public let tools: CodingTools
    private let sets: ParameterSets

    /// Writes parameter sets for a session.
    ///
    /// - Parameters:
    ///   - initialQP: what slice_qp_delta counts from, 0…51.
    ///   - bitRate: bits a second at most, for the level and tier; nil where nothing bounds them.
    public init(
        _ configuration: EncoderConfiguration, size: CodedSize, structure: PictureStructure, tools: CodingTools,
        initialQP: Int = 26, bitRate: Int64? = nil
    ) {
        self.structure = structure
        self.tools = tools
        var tier = ProfileTierLevel()
        let level =
            configuration.level
            ?? Level.needed(
                width: size.width, height: size.height, frameRate: configuration.frameRate, bitRate: bitRate)
        tier.generalLevelIdc = 3 * level.number
        var profile = ProfileTier()
        // A.3.2, A.3.3: a Main stream is a Main 10 stream too.
        profile.profileIdc = configuration.profile == .main ? 1 : 2
        profile.profileCompatibilityFlags = configuration.profile == .main ? 3 << 29 : 1 << 29
        profile.progressiveSourceFlag = true
        profile.frameOnlyConstraintFlag = true
        profile.tierFlag = level.needsHighTier(bitRate)
        tier.general = profile
        let ordering = SubLayerOrderingInfo(subLayers: structure.subLayers)
        if structure.temporalLevels > 1 {
            let levels = configuration.temporalLevels.levelIdcs(
                general: tier.generalLevelIdc, width: size.width, height: size.height, bitRate: bitRate)
            tier.subLayers = levels.map { SubLayerProfileTierLevel(levelIdc: $0) }
        }

        var vps = VideoParameterSet()
        vps.vpsMaxSubLayersMinus1 = structure.temporalLevels - 1
        vps.profileTierLevel = tier
        vps.orderingInfo = ordering
        self.vps = vps

        var sps = SequenceParameterSet()
        sps.spsMaxSubLayersMinus1 = structure.temporalLevels - 1
        sps.spsTemporalIdNestingFlag = true
        sps.profileTierLevel = tier
        sps.orderingInfo = ordering
        sps.picWidthInLumaSamples = size.width
        sps.picHeightInLumaSamples = size.height
        if size.width != size.shownWidth || size.height != size.shownHeight {
            sps.conformanceWindow = WindowOffsets(
                right: (size.width - size.shownWidth) / 2, bottom: (size.height - size.shownHeight) / 2)
        }
        sps.bitDepthLumaMinus8 = configuration.profile.bitDepth - 8
        sps.bitDepthChromaMinus8 = configuration.profile.bitDepth - 8
        // 8 bits: POC differences stay far below 128.
        sps.log2MaxPicOrderCntLsbMinus4 = 4
        sps.log2MinLumaCodingBlockSizeMinus3 = tools.log2MinCBSize - 3
        sps.log2DiffMaxMinLumaCodingBlockSize = tools.log2CTBSize - tools.log2MinCBSize
        sps.log2MinLumaTransformBlockSizeMinus2 = tools.log2MinTBSize - 2
        sps.log2DiffMaxMinLumaTransformBlockSize = tools.log2MaxTBSize - tools.log2MinTBSize
        sps.maxTransformHierarchyDepthInter = tools.transformDepthInter
        sps.maxTransformHierarchyDepthIntra = tools.transformDepthIntra
        sps.ampEnabledFlag = tools.usesAMP
        sps.sampleAdaptiveOffsetEnabledFlag = tools.usesSAO
        sps.spsTemporalMvpEnabledFlag = tools.usesTemporalMVP
        sps.strongIntraSmoothingEnabledFlag = tools.usesStrongIntraSmoothing
        sps.vuiParameters = VUIParameters(configuration)
        self.sps = sps

        var pps = PictureParameterSet()
        pps.initQpMinus26 = initialQP - 26
        pps.signDataHidingEnabledFlag = tools.usesSignDataHiding
        pps.transformSkipEnabledFlag = tools.usesTransformSkip
        pps.constrainedIntraPredFlag = tools.usesConstrainedIntra
        if tools.usesCUQPDelta { pps.diffCuQpDeltaDepth = tools.log2CTBSize - tools.log2MinCBSize }
        pps.ppsLoopFilterAcrossSlicesEnabledFlag = true
        self.pps = pps

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

    /// A slice header as the start of its NAL unit: without start code, with emulation prevention, up to and with
    /// `byte_alignment()`.
    public func nalUnitStart(_ header: SliceSegmentHeader) throws(BitstreamError) -> [UInt8] {
        try SliceSegment(sliceHeader: header, data: []).nalUnit(parameterSets: sets)
    }
}

extension VUIParameters {
    /// Colour, sample aspect ratio and frame timing of a session.
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
